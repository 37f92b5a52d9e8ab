#include "server/services.h"

#include "server/call_class.h"
#include "server/handlers/calibrations.h"
#include "server/handlers/catalog.h"
#include "server/handlers/catalog_writes.h"
#include "server/handlers/engines.h"
#include "server/handlers/estimation.h"
#include "server/handlers/kernel.h"
#include "server/handlers/kv_transfer.h"
#include "server/handlers/observations.h"
#include "server/handlers/roofline.h"
#include "server/handlers/scheduling.h"
#include "server/rpc.h"
#include "server/step_stream.h"

namespace mansard::server {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

EstimationServiceImpl::EstimationServiceImpl(ServerEnv& env) : env_(env) {
  SetMessageAllocatorFor_Estimate(&estimate_messages_);
  SetMessageAllocatorFor_BatchEstimate(&batch_estimate_messages_);
  SetMessageAllocatorFor_EstimateKernel(&estimate_kernel_messages_);
  SetMessageAllocatorFor_ExplainRoofline(&explain_roofline_messages_);
}

Reactor* EstimationServiceImpl::Estimate(Context* context,
                                         const v1::EstimateRequest* request,
                                         v1::EstimateResponse* response) {
  return RunUnary(env_, Method::kEstimate,
                  ClassOf(*request, env_.catalog.get()), &server::Estimate,
                  context, request, response);
}

Reactor* EstimationServiceImpl::BatchEstimate(
    Context* context, const v1::BatchEstimateRequest* request,
    v1::BatchEstimateResponse* response) {
  return RunUnary(env_, Method::kBatchEstimate,
                  ClassOf(*request, env_.catalog.get()), &server::BatchEstimate,
                  context, request, response);
}

Reactor* EstimationServiceImpl::EstimateKernel(
    Context* context, const v1::EstimateKernelRequest* request,
    v1::EstimateKernelResponse* response) {
  return RunUnary(env_, Method::kEstimateKernel, ClassOf(*request),
                  &server::EstimateKernel, context, request, response);
}

Reactor* EstimationServiceImpl::ExplainRoofline(
    Context* context, const v1::ExplainRooflineRequest* request,
    v1::ExplainRooflineResponse* response) {
  return RunUnary(env_, Method::kExplainRoofline, CallClass::kHeavy,
                  &server::ExplainRoofline, context, request, response);
}

PlanningServiceImpl::PlanningServiceImpl(ServerEnv& env) : env_(env) {
  SetMessageAllocatorFor_PlanKvTransfer(&plan_kv_transfer_messages_);
}

Reactor* PlanningServiceImpl::PlanKvTransfer(
    Context* context, const v1::PlanKvTransferRequest* request,
    v1::PlanKvTransferResponse* response) {
  return RunUnary(env_, Method::kPlanKvTransfer, CallClass::kHeavy,
                  &server::PlanKvTransfer, context, request, response);
}

CatalogServiceImpl::CatalogServiceImpl(ServerEnv& env) : env_(env) {
  SetMessageAllocatorFor_GetServerInfo(&get_server_info_messages_);
  SetMessageAllocatorFor_GetModelGraph(&get_model_graph_messages_);
  SetMessageAllocatorFor_ListModelGraphs(&list_model_graphs_messages_);
  SetMessageAllocatorFor_ImportHuggingFaceConfig(
      &import_hugging_face_config_messages_);
  SetMessageAllocatorFor_GetHardwareProfile(&get_hardware_profile_messages_);
  SetMessageAllocatorFor_ListHardwareProfiles(
      &list_hardware_profiles_messages_);
  SetMessageAllocatorFor_CreateModelGraph(&create_model_graph_messages_);
  SetMessageAllocatorFor_UpdateModelGraph(&update_model_graph_messages_);
  SetMessageAllocatorFor_DeleteModelGraph(&delete_model_graph_messages_);
  SetMessageAllocatorFor_CreateHardwareProfile(
      &create_hardware_profile_messages_);
  SetMessageAllocatorFor_UpdateHardwareProfile(
      &update_hardware_profile_messages_);
  SetMessageAllocatorFor_DeleteHardwareProfile(
      &delete_hardware_profile_messages_);
  SetMessageAllocatorFor_ListHardwareProfileRevisions(
      &list_hardware_profile_revisions_messages_);
  SetMessageAllocatorFor_GetEngine(&get_engine_messages_);
  SetMessageAllocatorFor_ListEngines(&list_engines_messages_);
  SetMessageAllocatorFor_CreateEngine(&create_engine_messages_);
  SetMessageAllocatorFor_UpdateEngine(&update_engine_messages_);
  SetMessageAllocatorFor_DeleteEngine(&delete_engine_messages_);
}

Reactor* CatalogServiceImpl::GetServerInfo(
    Context* context, const v1::GetServerInfoRequest* request,
    v1::ServerInfo* response) {
  return RunUnary(env_, Method::kGetServerInfo, CallClass::kHot,
                  &server::GetServerInfo, context, request, response);
}

Reactor* CatalogServiceImpl::GetModelGraph(
    Context* context, const v1::GetModelGraphRequest* request,
    v1::ModelGraph* response) {
  return RunUnary(env_, Method::kGetModelGraph, ClassOf(*request),
                  &server::GetModelGraph, context, request, response);
}

Reactor* CatalogServiceImpl::ListModelGraphs(
    Context* context, const v1::ListModelGraphsRequest* request,
    v1::ListModelGraphsResponse* response) {
  return RunUnary(env_, Method::kListModelGraphs, ClassOf(*request),
                  &server::ListModelGraphs, context, request, response);
}

Reactor* CatalogServiceImpl::ImportHuggingFaceConfig(
    Context* context, const v1::ImportHuggingFaceConfigRequest* request,
    v1::ImportHuggingFaceConfigResponse* response) {
  return RunUnary(env_, Method::kImportHuggingFaceConfig, CallClass::kHeavy,
                  &server::ImportHuggingFaceConfig, context, request, response);
}

Reactor* CatalogServiceImpl::GetHardwareProfile(
    Context* context, const v1::GetHardwareProfileRequest* request,
    v1::HardwareProfile* response) {
  return RunUnary(env_, Method::kGetHardwareProfile, ClassOf(*request),
                  &server::GetHardwareProfile, context, request, response);
}

Reactor* CatalogServiceImpl::ListHardwareProfiles(
    Context* context, const v1::ListHardwareProfilesRequest* request,
    v1::ListHardwareProfilesResponse* response) {
  return RunUnary(env_, Method::kListHardwareProfiles, ClassOf(*request),
                  &server::ListHardwareProfiles, context, request, response);
}

Reactor* CatalogServiceImpl::CreateModelGraph(
    Context* context, const v1::CreateModelGraphRequest* request,
    v1::ModelGraph* response) {
  return RunUnary(env_, Method::kCreateModelGraph, CallClass::kHeavy,
                  &server::CreateModelGraph, context, request, response);
}

Reactor* CatalogServiceImpl::UpdateModelGraph(
    Context* context, const v1::UpdateModelGraphRequest* request,
    v1::ModelGraph* response) {
  return RunUnary(env_, Method::kUpdateModelGraph, CallClass::kHeavy,
                  &server::UpdateModelGraph, context, request, response);
}

Reactor* CatalogServiceImpl::DeleteModelGraph(
    Context* context, const v1::DeleteModelGraphRequest* request,
    google::protobuf::Empty* response) {
  return RunUnary(env_, Method::kDeleteModelGraph, CallClass::kHeavy,
                  &server::DeleteModelGraph, context, request, response);
}

Reactor* CatalogServiceImpl::CreateHardwareProfile(
    Context* context, const v1::CreateHardwareProfileRequest* request,
    v1::HardwareProfile* response) {
  return RunUnary(env_, Method::kCreateHardwareProfile, CallClass::kHeavy,
                  &server::CreateHardwareProfile, context, request, response);
}

Reactor* CatalogServiceImpl::UpdateHardwareProfile(
    Context* context, const v1::UpdateHardwareProfileRequest* request,
    v1::HardwareProfile* response) {
  return RunUnary(env_, Method::kUpdateHardwareProfile, CallClass::kHeavy,
                  &server::UpdateHardwareProfile, context, request, response);
}

Reactor* CatalogServiceImpl::DeleteHardwareProfile(
    Context* context, const v1::DeleteHardwareProfileRequest* request,
    google::protobuf::Empty* response) {
  return RunUnary(env_, Method::kDeleteHardwareProfile, CallClass::kHeavy,
                  &server::DeleteHardwareProfile, context, request, response);
}

Reactor* CatalogServiceImpl::ListHardwareProfileRevisions(
    Context* context, const v1::ListHardwareProfileRevisionsRequest* request,
    v1::ListHardwareProfileRevisionsResponse* response) {
  return RunUnary(env_, Method::kListHardwareProfileRevisions,
                  CallClass::kHeavy, &server::ListHardwareProfileRevisions,
                  context, request, response);
}

Reactor* CatalogServiceImpl::GetEngine(Context* context,
                                       const v1::GetEngineRequest* request,
                                       v1::Engine* response) {
  return RunUnary(env_, Method::kGetEngine, CallClass::kHot, &server::GetEngine,
                  context, request, response);
}

Reactor* CatalogServiceImpl::ListEngines(Context* context,
                                         const v1::ListEnginesRequest* request,
                                         v1::ListEnginesResponse* response) {
  return RunUnary(env_, Method::kListEngines, CallClass::kHot,
                  &server::ListEngines, context, request, response);
}

Reactor* CatalogServiceImpl::CreateEngine(
    Context* context, const v1::CreateEngineRequest* request,
    v1::Engine* response) {
  return RunUnary(env_, Method::kCreateEngine, CallClass::kHeavy,
                  &server::CreateEngine, context, request, response);
}

Reactor* CatalogServiceImpl::UpdateEngine(
    Context* context, const v1::UpdateEngineRequest* request,
    v1::Engine* response) {
  return RunUnary(env_, Method::kUpdateEngine, CallClass::kHeavy,
                  &server::UpdateEngine, context, request, response);
}

Reactor* CatalogServiceImpl::DeleteEngine(
    Context* context, const v1::DeleteEngineRequest* request,
    google::protobuf::Empty* response) {
  return RunUnary(env_, Method::kDeleteEngine, CallClass::kHeavy,
                  &server::DeleteEngine, context, request, response);
}

CalibrationServiceImpl::CalibrationServiceImpl(ServerEnv& env) : env_(env) {
  SetMessageAllocatorFor_CreateCalibration(&create_calibration_messages_);
  SetMessageAllocatorFor_GetCalibration(&get_calibration_messages_);
  SetMessageAllocatorFor_ListCalibrations(&list_calibrations_messages_);
  SetMessageAllocatorFor_DeleteCalibration(&delete_calibration_messages_);
  SetMessageAllocatorFor_ApplyCalibration(&apply_calibration_messages_);
  SetMessageAllocatorFor_ReportObservations(&report_observations_messages_);
}

Reactor* CalibrationServiceImpl::CreateCalibration(
    Context* context, const v1::CreateCalibrationRequest* request,
    v1::Calibration* response) {
  return RunUnary(env_, Method::kCreateCalibration, CallClass::kHeavy,
                  &server::CreateCalibration, context, request, response);
}

Reactor* CalibrationServiceImpl::GetCalibration(
    Context* context, const v1::GetCalibrationRequest* request,
    v1::Calibration* response) {
  return RunUnary(env_, Method::kGetCalibration, CallClass::kHeavy,
                  &server::GetCalibration, context, request, response);
}

Reactor* CalibrationServiceImpl::ListCalibrations(
    Context* context, const v1::ListCalibrationsRequest* request,
    v1::ListCalibrationsResponse* response) {
  return RunUnary(env_, Method::kListCalibrations, CallClass::kHeavy,
                  &server::ListCalibrations, context, request, response);
}

Reactor* CalibrationServiceImpl::DeleteCalibration(
    Context* context, const v1::DeleteCalibrationRequest* request,
    google::protobuf::Empty* response) {
  return RunUnary(env_, Method::kDeleteCalibration, CallClass::kHeavy,
                  &server::DeleteCalibration, context, request, response);
}

Reactor* CalibrationServiceImpl::ApplyCalibration(
    Context* context, const v1::ApplyCalibrationRequest* request,
    v1::HardwareProfile* response) {
  return RunUnary(env_, Method::kApplyCalibration, CallClass::kHeavy,
                  &server::ApplyCalibration, context, request, response);
}

Reactor* CalibrationServiceImpl::ReportObservations(
    Context* context, const v1::ReportObservationsRequest* request,
    v1::ReportObservationsResponse* response) {
  return RunUnary(env_, Method::kReportObservations, CallClass::kHeavy,
                  &server::ReportObservations, context, request, response);
}

SchedulingServiceImpl::SchedulingServiceImpl(ServerEnv& env) : env_(env) {
  SetMessageAllocatorFor_RecommendBatchSize(&recommend_batch_size_messages_);
  SetMessageAllocatorFor_PredictLatencies(&predict_latencies_messages_);
  SetMessageAllocatorFor_PredictSteps(&predict_steps_messages_);
  SetMessageAllocatorFor_EstimateServedLoad(&estimate_served_load_messages_);
  SetMessageAllocatorFor_FindEngineCapacity(&find_engine_capacity_messages_);
  SetMessageAllocatorFor_FitLatencyModel(&fit_latency_model_messages_);
}

Reactor* SchedulingServiceImpl::RecommendBatchSize(
    Context* context, const v1::RecommendBatchSizeRequest* request,
    v1::RecommendBatchSizeResponse* response) {
  return RunUnary(env_, Method::kRecommendBatchSize,
                  ClassOf(*request, *env_.catalog->state()),
                  &server::RecommendBatchSize, context, request, response);
}

Reactor* SchedulingServiceImpl::PredictLatencies(
    Context* context, const v1::PredictLatenciesRequest* request,
    v1::PredictLatenciesResponse* response) {
  return RunUnary(env_, Method::kPredictLatencies,
                  ClassOf(*request, *env_.catalog->state()),
                  &server::PredictLatencies, context, request, response);
}

Reactor* SchedulingServiceImpl::PredictSteps(
    Context* context, const v1::PredictStepsRequest* request,
    v1::PredictStepsResponse* response) {
  return RunUnary(env_, Method::kPredictSteps,
                  ClassOf(*request, *env_.catalog->state()),
                  &server::PredictSteps, context, request, response);
}

Reactor* SchedulingServiceImpl::EstimateServedLoad(
    Context* context, const v1::EstimateServedLoadRequest* request,
    v1::EstimateServedLoadResponse* response) {
  return RunUnary(env_, Method::kEstimateServedLoad,
                  ClassOf(*request, *env_.catalog->state()),
                  &server::EstimateServedLoad, context, request, response);
}

Reactor* SchedulingServiceImpl::FindEngineCapacity(
    Context* context, const v1::FindEngineCapacityRequest* request,
    v1::FindEngineCapacityResponse* response) {
  return RunUnary(env_, Method::kFindEngineCapacity,
                  ClassOf(*request, *env_.catalog->state()),
                  &server::FindEngineCapacity, context, request, response);
}

Reactor* SchedulingServiceImpl::FitLatencyModel(
    Context* context, const v1::FitLatencyModelRequest* request,
    v1::FitLatencyModelResponse* response) {
  return RunUnary(env_, Method::kFitLatencyModel, CallClass::kHeavy,
                  &server::FitLatencyModel, context, request, response);
}

grpc::ServerBidiReactor<v1::StreamPredictionsRequest,
                        v1::StreamPredictionsResponse>*
SchedulingServiceImpl::StreamPredictions(Context* context) {
  return new StepStreamReactor(env_, *context);
}

}  // namespace mansard::server
