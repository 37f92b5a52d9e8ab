#include "server/method.h"

namespace mansard::server {
namespace {

constexpr char kEstimation[] = "mansard.v1.EstimationService";
constexpr char kCatalog[] = "mansard.v1.CatalogService";
constexpr char kPlanning[] = "mansard.v1.PlanningService";

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
  }
  return {"", ""};
}

}  // namespace mansard::server
