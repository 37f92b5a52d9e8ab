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
  kCreateModelGraph,
  kUpdateModelGraph,
  kDeleteModelGraph,
  kCreateHardwareProfile,
  kUpdateHardwareProfile,
  kDeleteHardwareProfile,
  kListHardwareProfileRevisions,
  kGetEngine,
  kListEngines,
  kCreateEngine,
  kUpdateEngine,
  kDeleteEngine,
  kCreateCalibration,
  kGetCalibration,
  kListCalibrations,
  kDeleteCalibration,
  kApplyCalibration,
};
inline constexpr int kMethodCount = 28;

struct MethodNames {
  const char* service;
  const char* method;
};
MethodNames NamesOf(Method method);

}  // namespace mansard::server
