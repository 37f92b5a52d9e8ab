#include "server/method.h"

namespace mansard::server {
namespace {

constexpr char kEstimation[] = "mansard.v1.EstimationService";
constexpr char kCatalog[] = "mansard.v1.CatalogService";
constexpr char kCalibration[] = "mansard.v1.CalibrationService";
constexpr char kPlanning[] = "mansard.v1.PlanningService";
constexpr char kScheduling[] = "mansard.v1.SchedulingService";

}  // namespace

MethodNames NamesOf(Method method) {
  switch (method) {
    case Method::kEstimate:
      return {kEstimation, "Estimate"};
    case Method::kBatchEstimate:
      return {kEstimation, "BatchEstimate"};
    case Method::kEstimateKernel:
      return {kEstimation, "EstimateKernel"};
    case Method::kExplainRoofline:
      return {kEstimation, "ExplainRoofline"};
    case Method::kGetServerInfo:
      return {kCatalog, "GetServerInfo"};
    case Method::kGetModelGraph:
      return {kCatalog, "GetModelGraph"};
    case Method::kListModelGraphs:
      return {kCatalog, "ListModelGraphs"};
    case Method::kImportHuggingFaceConfig:
      return {kCatalog, "ImportHuggingFaceConfig"};
    case Method::kGetHardwareProfile:
      return {kCatalog, "GetHardwareProfile"};
    case Method::kListHardwareProfiles:
      return {kCatalog, "ListHardwareProfiles"};
    case Method::kPlanKvTransfer:
      return {kPlanning, "PlanKvTransfer"};
    case Method::kRecommendBatchSize:
      return {kScheduling, "RecommendBatchSize"};
    case Method::kPredictLatencies:
      return {kScheduling, "PredictLatencies"};
    case Method::kStreamPredictions:
      return {kScheduling, "StreamPredictions"};
    case Method::kPredictSteps:
      return {kScheduling, "PredictSteps"};
    case Method::kFindEngineCapacity:
      return {kScheduling, "FindEngineCapacity"};
    case Method::kEstimateServedLoad:
      return {kScheduling, "EstimateServedLoad"};
    case Method::kFitLatencyModel:
      return {kScheduling, "FitLatencyModel"};
    case Method::kCreateModelGraph:
      return {kCatalog, "CreateModelGraph"};
    case Method::kUpdateModelGraph:
      return {kCatalog, "UpdateModelGraph"};
    case Method::kDeleteModelGraph:
      return {kCatalog, "DeleteModelGraph"};
    case Method::kCreateHardwareProfile:
      return {kCatalog, "CreateHardwareProfile"};
    case Method::kUpdateHardwareProfile:
      return {kCatalog, "UpdateHardwareProfile"};
    case Method::kDeleteHardwareProfile:
      return {kCatalog, "DeleteHardwareProfile"};
    case Method::kListHardwareProfileRevisions:
      return {kCatalog, "ListHardwareProfileRevisions"};
    case Method::kGetEngine:
      return {kCatalog, "GetEngine"};
    case Method::kListEngines:
      return {kCatalog, "ListEngines"};
    case Method::kCreateEngine:
      return {kCatalog, "CreateEngine"};
    case Method::kUpdateEngine:
      return {kCatalog, "UpdateEngine"};
    case Method::kDeleteEngine:
      return {kCatalog, "DeleteEngine"};
    case Method::kCreateCalibration:
      return {kCalibration, "CreateCalibration"};
    case Method::kGetCalibration:
      return {kCalibration, "GetCalibration"};
    case Method::kListCalibrations:
      return {kCalibration, "ListCalibrations"};
    case Method::kDeleteCalibration:
      return {kCalibration, "DeleteCalibration"};
    case Method::kApplyCalibration:
      return {kCalibration, "ApplyCalibration"};
    case Method::kReportObservations:
      return {kCalibration, "ReportObservations"};
  }
  return {"", ""};
}

bool IsStream(Method method) { return method == Method::kStreamPredictions; }

}  // namespace mansard::server
