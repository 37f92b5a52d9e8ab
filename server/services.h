// The gRPC services: each method is one line through the door in rpc.h.
#pragma once

#include "mansard/v1/catalog_service.grpc.pb.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/planning_service.grpc.pb.h"
#include "server/arena_messages.h"
#include "server/env.h"

namespace mansard::server {

class EstimationServiceImpl final
    : public v1::EstimationService::CallbackService {
 public:
  explicit EstimationServiceImpl(ServerEnv& env);

  grpc::ServerUnaryReactor* Estimate(grpc::CallbackServerContext* context,
                                     const v1::EstimateRequest* request,
                                     v1::EstimateResponse* response) override;
  grpc::ServerUnaryReactor* BatchEstimate(
      grpc::CallbackServerContext* context,
      const v1::BatchEstimateRequest* request,
      v1::BatchEstimateResponse* response) override;
  grpc::ServerUnaryReactor* EstimateKernel(
      grpc::CallbackServerContext* context,
      const v1::EstimateKernelRequest* request,
      v1::EstimateKernelResponse* response) override;
  grpc::ServerUnaryReactor* ExplainRoofline(
      grpc::CallbackServerContext* context,
      const v1::ExplainRooflineRequest* request,
      v1::ExplainRooflineResponse* response) override;

 private:
  ServerEnv& env_;
  ArenaMessages<v1::EstimateRequest, v1::EstimateResponse> estimate_messages_;
  ArenaMessages<v1::BatchEstimateRequest, v1::BatchEstimateResponse>
      batch_estimate_messages_;
  ArenaMessages<v1::EstimateKernelRequest, v1::EstimateKernelResponse>
      estimate_kernel_messages_;
  ArenaMessages<v1::ExplainRooflineRequest, v1::ExplainRooflineResponse>
      explain_roofline_messages_;
};

class PlanningServiceImpl final : public v1::PlanningService::CallbackService {
 public:
  explicit PlanningServiceImpl(ServerEnv& env);

  grpc::ServerUnaryReactor* PlanKvTransfer(
      grpc::CallbackServerContext* context,
      const v1::PlanKvTransferRequest* request,
      v1::PlanKvTransferResponse* response) override;

 private:
  ServerEnv& env_;
  ArenaMessages<v1::PlanKvTransferRequest, v1::PlanKvTransferResponse>
      plan_kv_transfer_messages_;
};

class CatalogServiceImpl final : public v1::CatalogService::CallbackService {
 public:
  explicit CatalogServiceImpl(ServerEnv& env);

  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const v1::GetServerInfoRequest* request,
      v1::ServerInfo* response) override;
  grpc::ServerUnaryReactor* GetModelGraph(
      grpc::CallbackServerContext* context,
      const v1::GetModelGraphRequest* request,
      v1::ModelGraph* response) override;
  grpc::ServerUnaryReactor* ListModelGraphs(
      grpc::CallbackServerContext* context,
      const v1::ListModelGraphsRequest* request,
      v1::ListModelGraphsResponse* response) override;
  grpc::ServerUnaryReactor* ImportHuggingFaceConfig(
      grpc::CallbackServerContext* context,
      const v1::ImportHuggingFaceConfigRequest* request,
      v1::ImportHuggingFaceConfigResponse* response) override;
  grpc::ServerUnaryReactor* GetHardwareProfile(
      grpc::CallbackServerContext* context,
      const v1::GetHardwareProfileRequest* request,
      v1::HardwareProfile* response) override;
  grpc::ServerUnaryReactor* ListHardwareProfiles(
      grpc::CallbackServerContext* context,
      const v1::ListHardwareProfilesRequest* request,
      v1::ListHardwareProfilesResponse* response) override;

 private:
  ServerEnv& env_;
  ArenaMessages<v1::GetServerInfoRequest, v1::ServerInfo>
      get_server_info_messages_;
  ArenaMessages<v1::GetModelGraphRequest, v1::ModelGraph>
      get_model_graph_messages_;
  ArenaMessages<v1::ListModelGraphsRequest, v1::ListModelGraphsResponse>
      list_model_graphs_messages_;
  ArenaMessages<v1::ImportHuggingFaceConfigRequest,
                v1::ImportHuggingFaceConfigResponse>
      import_hugging_face_config_messages_;
  ArenaMessages<v1::GetHardwareProfileRequest, v1::HardwareProfile>
      get_hardware_profile_messages_;
  ArenaMessages<v1::ListHardwareProfilesRequest,
                v1::ListHardwareProfilesResponse>
      list_hardware_profiles_messages_;
};

}  // namespace mansard::server
