#include "tests/load/bench_servers.h"

#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/arena_messages.h"

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

class BenchServers::EmptyService final
    : public v1::EstimationService::CallbackService {
 public:
  EmptyService() {
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
  template <class Response>
  static grpc::ServerUnaryReactor* Copy(grpc::CallbackServerContext* context,
                                        const Response& answer,
                                        Response* response) {
    response->CopyFrom(answer);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  server::ArenaMessages<v1::EstimateRequest, v1::EstimateResponse>
      estimate_messages_;
  server::ArenaMessages<v1::BatchEstimateRequest, v1::BatchEstimateResponse>
      batch_messages_;
};

BenchServers::BenchServers() : empty_service_(new EmptyService) {
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
  builder.RegisterService(empty_service_.get());
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &empty_port_);
  empty_ = builder.BuildAndStart();
  if (empty_ == nullptr) Fail("no empty server");
}

BenchServers::~BenchServers() = default;

std::shared_ptr<grpc::Channel> BenchServers::RealChannel(bool in_process) {
  return in_process ? real_->InProcessChannel() : Loopback(real_->port());
}

std::shared_ptr<grpc::Channel> BenchServers::EmptyChannel(bool in_process) {
  return in_process ? empty_->InProcessChannel({}) : Loopback(empty_port_);
}

void BenchServers::SetAnswer(const v1::EstimateResponse& answer) {
  empty_service_->estimate = answer;
}

void BenchServers::SetAnswer(const v1::BatchEstimateResponse& answer) {
  empty_service_->batch = answer;
}

BenchServers& TheServers() {
  static BenchServers* const kServers = new BenchServers;
  return *kServers;
}

}  // namespace mansard::load
