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
  kRecommendBatchSize,
  kPredictLatencies,
  kStreamPredictions,
  kPredictSteps,
  kFindEngineCapacity,
  kEstimateServedLoad,
  kFitLatencyModel,
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
  kReportObservations,
};
inline constexpr int kMethodCount = 36;

struct MethodNames {
  const char* service;
  const char* method;
};
MethodNames NamesOf(Method method);
// Messages go both ways as long as the caller likes; all others are one request
// and one answer.
bool IsStream(Method method);

}  // namespace mansard::server
