// Scheduling calls beside the RPCs that carry them, as rpc_bench has it for
// estimates: counters rpcs, empty_rpcs and their `ratio`; of streams messages
// count as rpcs; of columns `points` are steps timed per second.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
#include "tests/load/bench_servers.h"
#include "tests/load/chains.h"
#include "tests/load/scheduling_requests.h"

namespace mansard::load {
namespace {

using Stub = v1::SchedulingService::Stub;

// The overload of `async` with a callback.
template <class Request, class Response>
using Method = void (Stub::async::*)(grpc::ClientContext*, const Request*,
                                     Response*, Done);

template <class Request, class Response>
StartCall<Response> Start(Stub& stub, Method<Request, Response> method,
                          const Request& request) {
  auto& async = static_cast<typename Stub::async&>(*stub.async());
  return [&async, method, &request](grpc::ClientContext& context,
                                    Response& response, Done done) {
    (async.*method)(&context, &request, &response, std::move(done));
  };
}

void SetCounters(benchmark::State& state, double calls, double real_seconds,
                 double empty_seconds) {
  state.counters["rpcs"] = calls / real_seconds;
  state.counters["empty_rpcs"] = calls / empty_seconds;
  state.counters["ratio"] = empty_seconds / real_seconds;
}

template <class Request, class Response>
void Compare(benchmark::State& state, Method<Request, Response> method,
             const Request& request, int calls_an_iteration, int points = 0) {
  const bool in_process = state.range(0) != 0;
  const auto chains = static_cast<int>(state.range(1));
  const auto real =
      v1::SchedulingService::NewStub(TheServers().RealChannel(in_process));
  const auto empty =
      v1::SchedulingService::NewStub(TheServers().EmptyChannel(in_process));
  Response answer;
  std::latch answered(1);
  grpc::ClientContext context;
  Start(*real, method, request)(context, answer,
                                [&answered](const grpc::Status& status) {
                                  if (!status.ok())
                                    Fail(status.error_message());
                                  answered.count_down();
                                });
  answered.wait();
  TheServers().SetAnswer(answer);
  double real_seconds = 0;
  double empty_seconds = 0;
  for (auto _ : state) {
    const double seconds = Chains<Response>(Start(*real, method, request),
                                            chains, calls_an_iteration)
                               .Run();
    empty_seconds += Chains<Response>(Start(*empty, method, request), chains,
                                      calls_an_iteration)
                         .Run();
    real_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  const double calls =
      static_cast<double>(state.iterations()) * calls_an_iteration;
  SetCounters(state, calls, real_seconds, empty_seconds);
  if (points > 0) state.counters["points"] = calls * points / real_seconds;
}

void Calls(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"in_process", "calls_at_once"})
      ->ArgsProduct({{0, 1}, {1, 8, 64}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void RecommendBatchSize(benchmark::State& state) {
  Compare<v1::RecommendBatchSizeRequest, v1::RecommendBatchSizeResponse>(
      state, &Stub::async::RecommendBatchSize, RecommendRequest(), 2000);
}
BENCHMARK(RecommendBatchSize)->Apply(Calls);

void PredictLatencies(benchmark::State& state) {
  Compare<v1::PredictLatenciesRequest, v1::PredictLatenciesResponse>(
      state, &Stub::async::PredictLatencies, LatenciesRequest(1), 2000);
}
BENCHMARK(PredictLatencies)->Apply(Calls);

void PredictLatencies64(benchmark::State& state) {
  Compare<v1::PredictLatenciesRequest, v1::PredictLatenciesResponse>(
      state, &Stub::async::PredictLatencies, LatenciesRequest(64), 500);
}
BENCHMARK(PredictLatencies64)->Apply(Calls);

void FindEngineCapacity(benchmark::State& state) {
  Compare<v1::FindEngineCapacityRequest, v1::FindEngineCapacityResponse>(
      state, &Stub::async::FindEngineCapacity, CapacityRequest(), 2000);
}
BENCHMARK(FindEngineCapacity)->Apply(Calls);

void PredictSteps(benchmark::State& state) {
  const auto rows = static_cast<int>(state.range(2));
  Compare<v1::PredictStepsRequest, v1::PredictStepsResponse>(
      state, &Stub::async::PredictSteps, StepsRequest(rows), 200'000 / rows,
      rows);
}
BENCHMARK(PredictSteps)
    ->ArgNames({"in_process", "calls_at_once", "rows"})
    ->ArgsProduct({{0, 1}, {1, 2, 4}, {1000, 3000, 20'000}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// One stream of a client that sends the next message once the last is
// answered.
class Conversation final
    : public grpc::ClientBidiReactor<v1::StreamPredictionsRequest,
                                     v1::StreamPredictionsResponse> {
 public:
  Conversation(Stub& stub, const v1::StreamPredictionsRequest& request,
               int messages, std::latch& ended)
      : request_(request), left_(messages), ended_(ended) {
    stub.async()->StreamPredictions(&context_, this);
    StartWrite(&request_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok) StartRead(&response_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (response_.has_error()) Fail(response_.error().message());
    if (--left_ > 0) {
      StartWrite(&request_);
    } else {
      StartWritesDone();
    }
  }
  void OnDone(const grpc::Status& status) override {
    if (!status.ok()) Fail(status.error_message());
    ended_.count_down();
  }
  const v1::StreamPredictionsResponse& response() const { return response_; }

 private:
  grpc::ClientContext context_;
  const v1::StreamPredictionsRequest request_;
  v1::StreamPredictionsResponse response_;
  int left_;
  std::latch& ended_;
};

// Returns the seconds; `answer` is the last.
double Converse(Stub& stub, int streams, int messages,
                v1::StreamPredictionsResponse& answer) {
  const v1::StreamPredictionsRequest request = StepMessage(1);
  std::latch ended(streams);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Conversation>> all;
  for (int i = 0; i < streams; ++i) {
    all.push_back(
        std::make_unique<Conversation>(stub, request, messages, ended));
  }
  ended.wait();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  answer = all.front()->response();
  return seconds;
}

void StreamPredictions(benchmark::State& state) {
  const bool in_process = state.range(0) != 0;
  const auto streams = static_cast<int>(state.range(1));
  constexpr int kMessages = 4000;
  const auto real =
      v1::SchedulingService::NewStub(TheServers().RealChannel(in_process));
  const auto empty =
      v1::SchedulingService::NewStub(TheServers().EmptyChannel(in_process));
  v1::StreamPredictionsResponse answer;
  Converse(*real, 1, 1, answer);
  TheServers().SetAnswer(answer);
  double real_seconds = 0;
  double empty_seconds = 0;
  for (auto _ : state) {
    const double seconds =
        Converse(*real, streams, kMessages / streams, answer);
    empty_seconds += Converse(*empty, streams, kMessages / streams, answer);
    real_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  SetCounters(state, static_cast<double>(state.iterations()) * kMessages,
              real_seconds, empty_seconds);
}
BENCHMARK(StreamPredictions)->Apply(Calls);

}  // namespace
}  // namespace mansard::load
