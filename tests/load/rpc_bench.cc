// What the server's work costs beside the RPC that carries it: each benchmark
// runs the method of a real server in turn with an empty one, whose handler
// copies a constant answer, equal to the real one, for the same request. Both
// use the callback API with the same message arenas. Client and servers share
// this process and its processors.
//
// Counters: rpcs and empty_rpcs per second, and `ratio`, the first over the
// second. Rates vary with the machine; compare ratios.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "tests/load/bench_servers.h"

namespace mansard::load {
namespace {

using Stub = v1::EstimationService::Stub;

template <class Response, class Done>
void Start(Stub& stub, grpc::ClientContext& context,
           const v1::EstimateRequest& request, Response& response, Done done) {
  stub.async()->Estimate(&context, &request, &response, std::move(done));
}
template <class Response, class Done>
void Start(Stub& stub, grpc::ClientContext& context,
           const v1::BatchEstimateRequest& request, Response& response,
           Done done) {
  stub.async()->BatchEstimate(&context, &request, &response, std::move(done));
}

// Keeps `chains` calls running until `total` are done; returns the seconds.
template <class Request, class Response>
class Chains {
 public:
  Chains(Stub& stub, const Request& request, int chains, int total)
      : stub_(stub), request_(request), left_(total), ended_(chains) {
    links_.resize(static_cast<size_t>(chains));
  }

  double Run() {
    const auto start = std::chrono::steady_clock::now();
    for (Link& link : links_) Next(link);
    ended_.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

 private:
  struct Link {
    std::unique_ptr<grpc::ClientContext> context;
    Response response;
  };

  void Next(Link& link) {
    if (left_.fetch_sub(1) <= 0) {
      ended_.count_down();
      return;
    }
    link.context = std::make_unique<grpc::ClientContext>();
    Start(stub_, *link.context, request_, link.response,
          [this, &link](const grpc::Status& status) {
            if (!status.ok()) Fail(status.error_message());
            Next(link);
          });
  }

  Stub& stub_;
  const Request& request_;
  std::vector<Link> links_;
  std::atomic<int> left_;
  std::latch ended_;
};

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
        Chains<Request, Response>(*real, request, chains, calls_an_iteration)
            .Run();
    empty_seconds +=
        Chains<Request, Response>(*empty, request, chains, calls_an_iteration)
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
