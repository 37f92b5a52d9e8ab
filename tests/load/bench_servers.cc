#include "tests/load/bench_servers.h"

#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "mansard/v1/catalog_service.grpc.pb.h"
#include "server/arena_messages.h"
#include "tests/load/scheduling_requests.h"

namespace mansard::load {
namespace {

std::shared_ptr<grpc::Channel> Loopback(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                   grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

void Fail(const std::string& message) {
  std::cerr << "rpc_bench: " << message << "\n";
  std::exit(1);
}

v1::EstimateRequest DecodeRequest(int requests) {
  v1::EstimateRequest request;
  if (!google::protobuf::TextFormat::ParseFromString(
          absl::StrCat(
              "target { model_graph: 'modelGraphs/llama-3.1-70b' "
              "hardware_profile: 'hardwareProfiles/h100-sxm' parallelism { "
              "tensor_size: 8 } } forward_pass { groups { role: ROLE_DECODE "
              "new_token_count: 1 prior_token_count: 4095 request_count: ",
              requests, " } }"),
          &request)) {
    Fail("the request does not parse");
  }
  return request;
}

v1::BatchEstimateRequest BatchRequest(int size) {
  v1::BatchEstimateRequest batch;
  for (int i = 1; i <= size; ++i) *batch.add_requests() = DecodeRequest(i);
  return batch;
}

grpc::Status SendOne(v1::EstimationService::Stub& stub,
                     const v1::EstimateRequest& request,
                     v1::EstimateResponse& response) {
  grpc::ClientContext context;
  return stub.Estimate(&context, request, &response);
}
grpc::Status SendOne(v1::EstimationService::Stub& stub,
                     const v1::BatchEstimateRequest& request,
                     v1::BatchEstimateResponse& response) {
  grpc::ClientContext context;
  return stub.BatchEstimate(&context, request, &response);
}

namespace {

template <class Response>
grpc::ServerUnaryReactor* Copy(grpc::CallbackServerContext* context,
                               const Response& answer, Response* response) {
  response->CopyFrom(answer);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

// Answers each message with the same.
class EmptyStream final
    : public grpc::ServerBidiReactor<v1::StreamPredictionsRequest,
                                     v1::StreamPredictionsResponse> {
 public:
  explicit EmptyStream(const v1::StreamPredictionsResponse& answer)
      : answer_(answer) {
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    response_.CopyFrom(answer_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool /*ok*/) override { StartRead(&request_); }
  void OnDone() override { delete this; }

 private:
  const v1::StreamPredictionsResponse& answer_;
  v1::StreamPredictionsRequest request_;
  v1::StreamPredictionsResponse response_;
};

}  // namespace

class BenchServers::EmptyEstimation final
    : public v1::EstimationService::CallbackService {
 public:
  EmptyEstimation() {
    SetMessageAllocatorFor_Estimate(&estimate_messages_);
    SetMessageAllocatorFor_BatchEstimate(&batch_messages_);
  }

  grpc::ServerUnaryReactor* Estimate(grpc::CallbackServerContext* context,
                                     const v1::EstimateRequest* /*request*/,
                                     v1::EstimateResponse* response) override {
    return Copy(context, estimate, response);
  }
  grpc::ServerUnaryReactor* BatchEstimate(
      grpc::CallbackServerContext* context,
      const v1::BatchEstimateRequest* /*request*/,
      v1::BatchEstimateResponse* response) override {
    return Copy(context, batch, response);
  }

  // Set before the first call.
  v1::EstimateResponse estimate;
  v1::BatchEstimateResponse batch;

 private:
  server::ArenaMessages<v1::EstimateRequest, v1::EstimateResponse>
      estimate_messages_;
  server::ArenaMessages<v1::BatchEstimateRequest, v1::BatchEstimateResponse>
      batch_messages_;
};

class BenchServers::EmptyScheduling final
    : public v1::SchedulingService::CallbackService {
 public:
  EmptyScheduling() {
    SetMessageAllocatorFor_RecommendBatchSize(&recommend_messages_);
    SetMessageAllocatorFor_PredictLatencies(&latencies_messages_);
    SetMessageAllocatorFor_PredictSteps(&steps_messages_);
    SetMessageAllocatorFor_FindEngineCapacity(&capacity_messages_);
  }

  grpc::ServerUnaryReactor* RecommendBatchSize(
      grpc::CallbackServerContext* context,
      const v1::RecommendBatchSizeRequest* /*request*/,
      v1::RecommendBatchSizeResponse* response) override {
    return Copy(context, recommend, response);
  }
  grpc::ServerUnaryReactor* PredictLatencies(
      grpc::CallbackServerContext* context,
      const v1::PredictLatenciesRequest* /*request*/,
      v1::PredictLatenciesResponse* response) override {
    return Copy(context, latencies, response);
  }
  grpc::ServerUnaryReactor* PredictSteps(
      grpc::CallbackServerContext* context,
      const v1::PredictStepsRequest* /*request*/,
      v1::PredictStepsResponse* response) override {
    return Copy(context, steps, response);
  }
  grpc::ServerUnaryReactor* FindEngineCapacity(
      grpc::CallbackServerContext* context,
      const v1::FindEngineCapacityRequest* /*request*/,
      v1::FindEngineCapacityResponse* response) override {
    return Copy(context, capacity, response);
  }
  grpc::ServerBidiReactor<v1::StreamPredictionsRequest,
                          v1::StreamPredictionsResponse>*
  StreamPredictions(grpc::CallbackServerContext* /*context*/) override {
    return new EmptyStream(step);
  }

  // Set before the first call.
  v1::RecommendBatchSizeResponse recommend;
  v1::PredictLatenciesResponse latencies;
  v1::PredictStepsResponse steps;
  v1::FindEngineCapacityResponse capacity;
  v1::StreamPredictionsResponse step;

 private:
  server::ArenaMessages<v1::RecommendBatchSizeRequest,
                        v1::RecommendBatchSizeResponse>
      recommend_messages_;
  server::ArenaMessages<v1::PredictLatenciesRequest,
                        v1::PredictLatenciesResponse>
      latencies_messages_;
  server::ArenaMessages<v1::PredictStepsRequest, v1::PredictStepsResponse>
      steps_messages_;
  server::ArenaMessages<v1::FindEngineCapacityRequest,
                        v1::FindEngineCapacityResponse>
      capacity_messages_;
};

BenchServers::BenchServers()
    : empty_estimation_(new EmptyEstimation),
      empty_scheduling_(new EmptyScheduling) {
  // As mansardd does.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  server::ServerOptions options;
  options.listen_address = "127.0.0.1:0";
  options.log_level = server::LogLevel::kOff;
  options.heavy_queue = 1000;
  auto created = server::Server::Create(options);
  if (!created.ok()) Fail(created.status().ToString());
  real_ = *std::move(created);
  grpc::ServerBuilder builder;
  builder.RegisterService(empty_estimation_.get());
  builder.RegisterService(empty_scheduling_.get());
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &empty_port_);
  empty_ = builder.BuildAndStart();
  if (empty_ == nullptr) Fail("no empty server");
  CreateEngine();
}

void BenchServers::CreateEngine() {
  const auto stub = v1::CatalogService::NewStub(RealChannel(true));
  grpc::ClientContext context;
  v1::Engine engine;
  const grpc::Status status =
      stub->CreateEngine(&context, CreateBenchEngine(), &engine);
  if (!status.ok()) Fail(status.error_message());
}

BenchServers::~BenchServers() = default;

std::shared_ptr<grpc::Channel> BenchServers::RealChannel(bool in_process) {
  return in_process ? real_->InProcessChannel() : Loopback(real_->port());
}

std::shared_ptr<grpc::Channel> BenchServers::EmptyChannel(bool in_process) {
  return in_process ? empty_->InProcessChannel({}) : Loopback(empty_port_);
}

void BenchServers::SetAnswer(const v1::EstimateResponse& answer) {
  empty_estimation_->estimate = answer;
}

void BenchServers::SetAnswer(const v1::BatchEstimateResponse& answer) {
  empty_estimation_->batch = answer;
}

void BenchServers::SetAnswer(const v1::RecommendBatchSizeResponse& answer) {
  empty_scheduling_->recommend = answer;
}

void BenchServers::SetAnswer(const v1::PredictLatenciesResponse& answer) {
  empty_scheduling_->latencies = answer;
}

void BenchServers::SetAnswer(const v1::PredictStepsResponse& answer) {
  empty_scheduling_->steps = answer;
}

void BenchServers::SetAnswer(const v1::FindEngineCapacityResponse& answer) {
  empty_scheduling_->capacity = answer;
}

void BenchServers::SetAnswer(const v1::StreamPredictionsResponse& answer) {
  empty_scheduling_->step = answer;
}

BenchServers& TheServers() {
  static BenchServers* const kServers = new BenchServers;
  return *kServers;
}

}  // namespace mansard::load
