// The gRPC services: each method is one line through the door in rpc.h.
#pragma once

#include "mansard/v1/calibration_service.grpc.pb.h"
#include "mansard/v1/catalog_service.grpc.pb.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/planning_service.grpc.pb.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
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
  grpc::ServerUnaryReactor* CreateModelGraph(
      grpc::CallbackServerContext* context,
      const v1::CreateModelGraphRequest* request,
      v1::ModelGraph* response) override;
  grpc::ServerUnaryReactor* UpdateModelGraph(
      grpc::CallbackServerContext* context,
      const v1::UpdateModelGraphRequest* request,
      v1::ModelGraph* response) override;
  grpc::ServerUnaryReactor* DeleteModelGraph(
      grpc::CallbackServerContext* context,
      const v1::DeleteModelGraphRequest* request,
      google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* CreateHardwareProfile(
      grpc::CallbackServerContext* context,
      const v1::CreateHardwareProfileRequest* request,
      v1::HardwareProfile* response) override;
  grpc::ServerUnaryReactor* UpdateHardwareProfile(
      grpc::CallbackServerContext* context,
      const v1::UpdateHardwareProfileRequest* request,
      v1::HardwareProfile* response) override;
  grpc::ServerUnaryReactor* DeleteHardwareProfile(
      grpc::CallbackServerContext* context,
      const v1::DeleteHardwareProfileRequest* request,
      google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* ListHardwareProfileRevisions(
      grpc::CallbackServerContext* context,
      const v1::ListHardwareProfileRevisionsRequest* request,
      v1::ListHardwareProfileRevisionsResponse* response) override;
  grpc::ServerUnaryReactor* GetEngine(grpc::CallbackServerContext* context,
                                      const v1::GetEngineRequest* request,
                                      v1::Engine* response) override;
  grpc::ServerUnaryReactor* ListEngines(
      grpc::CallbackServerContext* context,
      const v1::ListEnginesRequest* request,
      v1::ListEnginesResponse* response) override;
  grpc::ServerUnaryReactor* CreateEngine(grpc::CallbackServerContext* context,
                                         const v1::CreateEngineRequest* request,
                                         v1::Engine* response) override;
  grpc::ServerUnaryReactor* UpdateEngine(grpc::CallbackServerContext* context,
                                         const v1::UpdateEngineRequest* request,
                                         v1::Engine* response) override;
  grpc::ServerUnaryReactor* DeleteEngine(
      grpc::CallbackServerContext* context,
      const v1::DeleteEngineRequest* request,
      google::protobuf::Empty* response) override;

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
  ArenaMessages<v1::CreateModelGraphRequest, v1::ModelGraph>
      create_model_graph_messages_;
  ArenaMessages<v1::UpdateModelGraphRequest, v1::ModelGraph>
      update_model_graph_messages_;
  ArenaMessages<v1::DeleteModelGraphRequest, google::protobuf::Empty>
      delete_model_graph_messages_;
  ArenaMessages<v1::CreateHardwareProfileRequest, v1::HardwareProfile>
      create_hardware_profile_messages_;
  ArenaMessages<v1::UpdateHardwareProfileRequest, v1::HardwareProfile>
      update_hardware_profile_messages_;
  ArenaMessages<v1::DeleteHardwareProfileRequest, google::protobuf::Empty>
      delete_hardware_profile_messages_;
  ArenaMessages<v1::ListHardwareProfileRevisionsRequest,
                v1::ListHardwareProfileRevisionsResponse>
      list_hardware_profile_revisions_messages_;
  ArenaMessages<v1::GetEngineRequest, v1::Engine> get_engine_messages_;
  ArenaMessages<v1::ListEnginesRequest, v1::ListEnginesResponse>
      list_engines_messages_;
  ArenaMessages<v1::CreateEngineRequest, v1::Engine> create_engine_messages_;
  ArenaMessages<v1::UpdateEngineRequest, v1::Engine> update_engine_messages_;
  ArenaMessages<v1::DeleteEngineRequest, google::protobuf::Empty>
      delete_engine_messages_;
};

class CalibrationServiceImpl final
    : public v1::CalibrationService::CallbackService {
 public:
  explicit CalibrationServiceImpl(ServerEnv& env);

  grpc::ServerUnaryReactor* CreateCalibration(
      grpc::CallbackServerContext* context,
      const v1::CreateCalibrationRequest* request,
      v1::Calibration* response) override;
  grpc::ServerUnaryReactor* GetCalibration(
      grpc::CallbackServerContext* context,
      const v1::GetCalibrationRequest* request,
      v1::Calibration* response) override;
  grpc::ServerUnaryReactor* ListCalibrations(
      grpc::CallbackServerContext* context,
      const v1::ListCalibrationsRequest* request,
      v1::ListCalibrationsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteCalibration(
      grpc::CallbackServerContext* context,
      const v1::DeleteCalibrationRequest* request,
      google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* ApplyCalibration(
      grpc::CallbackServerContext* context,
      const v1::ApplyCalibrationRequest* request,
      v1::HardwareProfile* response) override;
  grpc::ServerUnaryReactor* ReportObservations(
      grpc::CallbackServerContext* context,
      const v1::ReportObservationsRequest* request,
      v1::ReportObservationsResponse* response) override;

 private:
  ServerEnv& env_;
  ArenaMessages<v1::CreateCalibrationRequest, v1::Calibration>
      create_calibration_messages_;
  ArenaMessages<v1::GetCalibrationRequest, v1::Calibration>
      get_calibration_messages_;
  ArenaMessages<v1::ListCalibrationsRequest, v1::ListCalibrationsResponse>
      list_calibrations_messages_;
  ArenaMessages<v1::DeleteCalibrationRequest, google::protobuf::Empty>
      delete_calibration_messages_;
  ArenaMessages<v1::ApplyCalibrationRequest, v1::HardwareProfile>
      apply_calibration_messages_;
  ArenaMessages<v1::ReportObservationsRequest, v1::ReportObservationsResponse>
      report_observations_messages_;
};

class SchedulingServiceImpl final
    : public v1::SchedulingService::CallbackService {
 public:
  explicit SchedulingServiceImpl(ServerEnv& env);

  grpc::ServerUnaryReactor* RecommendBatchSize(
      grpc::CallbackServerContext* context,
      const v1::RecommendBatchSizeRequest* request,
      v1::RecommendBatchSizeResponse* response) override;
  grpc::ServerUnaryReactor* PredictLatencies(
      grpc::CallbackServerContext* context,
      const v1::PredictLatenciesRequest* request,
      v1::PredictLatenciesResponse* response) override;
  grpc::ServerUnaryReactor* PredictSteps(
      grpc::CallbackServerContext* context,
      const v1::PredictStepsRequest* request,
      v1::PredictStepsResponse* response) override;
  grpc::ServerUnaryReactor* FindEngineCapacity(
      grpc::CallbackServerContext* context,
      const v1::FindEngineCapacityRequest* request,
      v1::FindEngineCapacityResponse* response) override;
  grpc::ServerUnaryReactor* EstimateServedLoad(
      grpc::CallbackServerContext* context,
      const v1::EstimateServedLoadRequest* request,
      v1::EstimateServedLoadResponse* response) override;
  grpc::ServerUnaryReactor* FitLatencyModel(
      grpc::CallbackServerContext* context,
      const v1::FitLatencyModelRequest* request,
      v1::FitLatencyModelResponse* response) override;
  grpc::ServerBidiReactor<v1::StreamPredictionsRequest,
                          v1::StreamPredictionsResponse>*
  StreamPredictions(grpc::CallbackServerContext* context) override;

 private:
  ServerEnv& env_;
  ArenaMessages<v1::RecommendBatchSizeRequest, v1::RecommendBatchSizeResponse>
      recommend_batch_size_messages_;
  ArenaMessages<v1::PredictLatenciesRequest, v1::PredictLatenciesResponse>
      predict_latencies_messages_;
  ArenaMessages<v1::PredictStepsRequest, v1::PredictStepsResponse>
      predict_steps_messages_;
  ArenaMessages<v1::EstimateServedLoadRequest, v1::EstimateServedLoadResponse>
      estimate_served_load_messages_;
  ArenaMessages<v1::FindEngineCapacityRequest, v1::FindEngineCapacityResponse>
      find_engine_capacity_messages_;
  ArenaMessages<v1::FitLatencyModelRequest, v1::FitLatencyModelResponse>
      fit_latency_model_messages_;
};

}  // namespace mansard::server
