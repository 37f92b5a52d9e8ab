#include "server/services.h"

#include "server/call_class.h"
#include "server/handlers/catalog.h"
#include "server/handlers/estimation.h"
#include "server/handlers/kernel.h"
#include "server/handlers/kv_transfer.h"
#include "server/handlers/roofline.h"
#include "server/rpc.h"

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
  return RunUnary(env_, Method::kEstimate, ClassOf(*request), &server::Estimate,
                  context, request, response);
}

Reactor* EstimationServiceImpl::BatchEstimate(
    Context* context, const v1::BatchEstimateRequest* request,
    v1::BatchEstimateResponse* response) {
  return RunUnary(env_, Method::kBatchEstimate, ClassOf(*request),
                  &server::BatchEstimate, context, request, response);
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
  return RunUnary(env_, Method::kGetModelGraph, CallClass::kHot,
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
  return RunUnary(env_, Method::kGetHardwareProfile, CallClass::kHot,
                  &server::GetHardwareProfile, context, request, response);
}

Reactor* CatalogServiceImpl::ListHardwareProfiles(
    Context* context, const v1::ListHardwareProfilesRequest* request,
    v1::ListHardwareProfilesResponse* response) {
  return RunUnary(env_, Method::kListHardwareProfiles, ClassOf(*request),
                  &server::ListHardwareProfiles, context, request, response);
}

}  // namespace mansard::server
