// Makes one kind of call many times, so that callgrind can count what the
// server does for it beside gRPC: handler_instructions <call> <calls>. Without
// arguments it lists the calls.
//
// Each call has its messages in an arena of its own, as the server's have. The
// empty calls do what those of rpc_bench do: they copy an answer.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "server/arena_messages.h"
#include "server/env.h"
#include "server/handlers/estimation.h"
#include "server/handlers/scheduling.h"
#include "server/rpc.h"
#include "tests/load/bench_env.h"
#include "tests/load/bench_servers.h"
#include "tests/load/scheduling_requests.h"

// What callgrind collects between: by this name.
extern "C" {
void MansardCountedCalls(const std::function<void()>& call, int64_t calls);
}

[[gnu::noinline]] void MansardCountedCalls(const std::function<void()>& call,
                                           int64_t calls) {
  for (int64_t i = 0; i < calls; ++i) call();
}

namespace mansard::load {
namespace {

using server::Handler;
using server::Method;
using server::ServerEnv;

// One call as the server has it, but for its transport: the request's bytes
// become a message, the handler's answer is dropped.
template <class Request, class Response>
class Calls {
 public:
  Calls(ServerEnv& env, Method method, Handler<Request, Response> handler,
        const Request& request)
      : env_(env),
        method_(method),
        handler_(handler),
        bytes_(request.SerializeAsString()) {}

  void Real() { Run(nullptr); }
  void Empty() { Run(&answer_); }
  // Before Empty.
  void KeepAnswer() { Run(nullptr, &answer_); }

 private:
  void Run(const Response* constant, Response* keep = nullptr) {
    auto* const holder = messages_.AllocateMessages();
    Request& request = *holder->request();
    Response& response = *holder->response();
    if (!request.ParseFromString(bytes_)) Fail("the request does not parse");
    if (constant != nullptr) {
      response.CopyFrom(*constant);
    } else {
      const server::CallRecord record(env_, method_, server::CallClass::kHot,
                                      context_);
      const grpc::Status status = record.Finish(
          server::RunHandler(env_, context_, handler_, request, response));
      if (!status.ok()) Fail(status.error_message());
    }
    if (keep != nullptr) keep->CopyFrom(response);
    holder->Release();
  }

  ServerEnv& env_;
  Method method_;
  Handler<Request, Response> handler_;
  std::string bytes_;
  grpc::CallbackServerContext context_;
  server::ArenaMessages<Request, Response> messages_;
  Response answer_;
};

template <class Request, class Response>
void Count(Calls<Request, Response> calls, bool empty, int64_t count) {
  calls.KeepAnswer();
  MansardCountedCalls([&] { empty ? calls.Empty() : calls.Real(); }, count);
}

void Estimate(ServerEnv& env, bool empty, int64_t count) {
  Count(Calls<v1::EstimateRequest, v1::EstimateResponse>(
            env, Method::kEstimate, server::Estimate, DecodeRequest(64)),
        empty, count);
}

void Batch64(ServerEnv& env, bool empty, int64_t count) {
  Count(
      Calls<v1::BatchEstimateRequest, v1::BatchEstimateResponse>(
          env, Method::kBatchEstimate, server::BatchEstimate, BatchRequest(64)),
      empty, count);
}

void Recommend(ServerEnv& env, bool empty, int64_t count) {
  Count(Calls<v1::RecommendBatchSizeRequest, v1::RecommendBatchSizeResponse>(
            env, Method::kRecommendBatchSize, server::RecommendBatchSize,
            RecommendRequest()),
        empty, count);
}

void Latencies64(ServerEnv& env, bool empty, int64_t count) {
  Count(Calls<v1::PredictLatenciesRequest, v1::PredictLatenciesResponse>(
            env, Method::kPredictLatencies, server::PredictLatencies,
            LatenciesRequest(64)),
        empty, count);
}

void Steps1000(ServerEnv& env, bool empty, int64_t count) {
  Count(
      Calls<v1::PredictStepsRequest, v1::PredictStepsResponse>(
          env, Method::kPredictSteps, server::PredictSteps, StepsRequest(1000)),
      empty, count);
}

struct Call {
  const char* name;
  bool empty;
  void (*run)(ServerEnv& env, bool empty, int64_t count);
};
constexpr Call kCalls[] = {{"estimate", false, Estimate},
                           {"estimate_empty", true, Estimate},
                           {"batch_64", false, Batch64},
                           {"batch_64_empty", true, Batch64},
                           {"recommend", false, Recommend},
                           {"recommend_empty", true, Recommend},
                           {"latencies_64", false, Latencies64},
                           {"latencies_64_empty", true, Latencies64},
                           {"steps_1000", false, Steps1000},
                           {"steps_1000_empty", true, Steps1000}};

int Run(const char* name, int64_t count) {
  for (const Call& call : kCalls) {
    if (std::strcmp(call.name, name) != 0) continue;
    call.run(TheEnv(), call.empty, count);
    return EXIT_SUCCESS;
  }
  Fail("no such call; without arguments the calls are listed");
}

int Main(int count, char** arguments) {
  if (count == 1) {
    for (const Call& call : kCalls) std::printf("%s\n", call.name);
    return EXIT_SUCCESS;
  }
  const int64_t calls = count == 3 ? std::atoll(arguments[2]) : 0;
  if (calls < 1) Fail("usage: handler_instructions <call> <calls>");
  return Run(arguments[1], calls);
}

}  // namespace
}  // namespace mansard::load

int main(int argc, char** argv) { return mansard::load::Main(argc, argv); }
