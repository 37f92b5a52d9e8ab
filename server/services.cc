#include "server/services.h"

#include "server/handlers/catalog.h"
#include "server/handlers/estimation.h"
#include "server/handlers/kernel.h"
#include "server/handlers/roofline.h"
#include "server/rpc.h"

namespace mansard::server {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

Reactor* EstimationServiceImpl::Estimate(Context* context,
                                         const v1::EstimateRequest* request,
                                         v1::EstimateResponse* response) {
  return RunUnary(env_, Method::kEstimate, &server::Estimate, context, request,
                  response);
}

Reactor* EstimationServiceImpl::BatchEstimate(
    Context* context, const v1::BatchEstimateRequest* request,
    v1::BatchEstimateResponse* response) {
  return RunUnary(env_, Method::kBatchEstimate, &server::BatchEstimate, context,
                  request, response);
}

Reactor* EstimationServiceImpl::EstimateKernel(
    Context* context, const v1::EstimateKernelRequest* request,
    v1::EstimateKernelResponse* response) {
  return RunUnary(env_, Method::kEstimateKernel, &server::EstimateKernel,
                  context, request, response);
}

Reactor* EstimationServiceImpl::ExplainRoofline(
    Context* context, const v1::ExplainRooflineRequest* request,
    v1::ExplainRooflineResponse* response) {
  return RunUnary(env_, Method::kExplainRoofline, &server::ExplainRoofline,
                  context, request, response);
}

Reactor* CatalogServiceImpl::GetServerInfo(
    Context* context, const v1::GetServerInfoRequest* request,
    v1::ServerInfo* response) {
  return RunUnary(env_, Method::kGetServerInfo, &server::GetServerInfo, context,
                  request, response);
}

Reactor* CatalogServiceImpl::GetModelGraph(
    Context* context, const v1::GetModelGraphRequest* request,
    v1::ModelGraph* response) {
  return RunUnary(env_, Method::kGetModelGraph, &server::GetModelGraph, context,
                  request, response);
}

Reactor* CatalogServiceImpl::ListModelGraphs(
    Context* context, const v1::ListModelGraphsRequest* request,
    v1::ListModelGraphsResponse* response) {
  return RunUnary(env_, Method::kListModelGraphs, &server::ListModelGraphs,
                  context, request, response);
}

Reactor* CatalogServiceImpl::ImportHuggingFaceConfig(
    Context* context, const v1::ImportHuggingFaceConfigRequest* request,
    v1::ImportHuggingFaceConfigResponse* response) {
  return RunUnary(env_, Method::kImportHuggingFaceConfig,
                  &server::ImportHuggingFaceConfig, context, request, response);
}

Reactor* CatalogServiceImpl::GetHardwareProfile(
    Context* context, const v1::GetHardwareProfileRequest* request,
    v1::HardwareProfile* response) {
  return RunUnary(env_, Method::kGetHardwareProfile,
                  &server::GetHardwareProfile, context, request, response);
}

Reactor* CatalogServiceImpl::ListHardwareProfiles(
    Context* context, const v1::ListHardwareProfilesRequest* request,
    v1::ListHardwareProfilesResponse* response) {
  return RunUnary(env_, Method::kListHardwareProfiles,
                  &server::ListHardwareProfiles, context, request, response);
}

}  // namespace mansard::server
