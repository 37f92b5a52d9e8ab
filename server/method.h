// The methods of the services.
#pragma once

namespace mansard::server {

enum class Method {
  kEstimate,
  kBatchEstimate,
  kEstimateKernel,
  kExplainRoofline,
  kGetServerInfo,
  kGetModelGraph,
  kListModelGraphs,
  kImportHuggingFaceConfig,
  kGetHardwareProfile,
  kListHardwareProfiles,
  kPlanKvTransfer,
};
inline constexpr int kMethodCount = 11;

struct MethodNames {
  const char* service;
  const char* method;
};
MethodNames NamesOf(Method method);

}  // namespace mansard::server
