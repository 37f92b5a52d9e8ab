// What the server's work costs beside the RPC that carries it: each benchmark
// runs the method of a real server in turn with an empty one, whose handler
// copies a constant answer, equal to the real one, for the same request. Both
// use the callback API with the same message arenas. Client and servers share
// this process and its processors.
//
// Counters: rpcs and empty_rpcs per second, and `ratio`, the first over the
// second. Rates vary with the machine; compare ratios.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "benchmark/benchmark.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "tests/load/bench_servers.h"
#include "tests/load/chains.h"

namespace mansard::load {
namespace {

using Stub = v1::EstimationService::Stub;

StartCall<v1::EstimateResponse> Start(Stub& stub,
                                      const v1::EstimateRequest& request) {
  return [&](grpc::ClientContext& context, v1::EstimateResponse& response,
             Done done) {
    stub.async()->Estimate(&context, &request, &response, std::move(done));
  };
}
StartCall<v1::BatchEstimateResponse> Start(
    Stub& stub, const v1::BatchEstimateRequest& request) {
  return [&](grpc::ClientContext& context, v1::BatchEstimateResponse& response,
             Done done) {
    stub.async()->BatchEstimate(&context, &request, &response, std::move(done));
  };
}

template <class Response, class Request>
void Compare(benchmark::State& state, const Request& request,
             int calls_an_iteration) {
  const bool in_process = state.range(0) != 0;
  const auto chains = static_cast<int>(state.range(1));
  const std::unique_ptr<Stub> real =
      v1::EstimationService::NewStub(TheServers().RealChannel(in_process));
  const std::unique_ptr<Stub> empty =
      v1::EstimationService::NewStub(TheServers().EmptyChannel(in_process));
  Response answer;
  if (const grpc::Status status = SendOne(*real, request, answer);
      !status.ok()) {
    Fail(status.error_message());
  }
  TheServers().SetAnswer(answer);
  double real_seconds = 0;
  double empty_seconds = 0;
  for (auto _ : state) {
    const double seconds =
        Chains<Response>(Start(*real, request), chains, calls_an_iteration)
            .Run();
    empty_seconds +=
        Chains<Response>(Start(*empty, request), chains, calls_an_iteration)
            .Run();
    real_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  const double calls =
      static_cast<double>(state.iterations()) * calls_an_iteration;
  state.counters["rpcs"] = calls / real_seconds;
  state.counters["empty_rpcs"] = calls / empty_seconds;
  state.counters["ratio"] = empty_seconds / real_seconds;
}

void Estimate(benchmark::State& state) {
  Compare<v1::EstimateResponse>(state, DecodeRequest(64), 2000);
}
BENCHMARK(Estimate)
    ->ArgNames({"in_process", "calls_at_once"})
    ->ArgsProduct({{0, 1}, {1, 8, 64}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BatchEstimate64(benchmark::State& state) {
  Compare<v1::BatchEstimateResponse>(state, BatchRequest(64), 100);
}
BENCHMARK(BatchEstimate64)
    ->ArgNames({"in_process", "calls_at_once"})
    ->ArgsProduct({{0, 1}, {1, 8}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mansard::load
