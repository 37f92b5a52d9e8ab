// How long scheduling calls take: processor time of the handlers alone, and
// latencies that a client sees at half of the load that it can have, with idle
// and with busy threads for heavy calls. Counters are microseconds.
#include <grpcpp/grpcpp.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
#include "server/arena_messages.h"
#include "server/handlers/scheduling.h"
#include "server/rpc.h"
#include "tests/load/bench_env.h"
#include "tests/load/bench_servers.h"
#include "tests/load/scheduling_requests.h"

namespace mansard::load {
namespace {

using Clock = std::chrono::steady_clock;

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Microseconds below which that share of the times lies.
double Quantile(std::vector<double> seconds, double share) {
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  const auto at =
      static_cast<size_t>(share * static_cast<double>(seconds.size()));
  return seconds[std::min(at, seconds.size() - 1)] * 1e6;
}

// Processor time of one hot call's handler, its messages in an arena.
template <class Request, class Response>
void HandlerTime(benchmark::State& state,
                 server::Handler<Request, Response> handler,
                 const Request& request) {
  if (server::ClassOf(request, *TheEnv().catalog->state()) !=
      server::CallClass::kHot) {
    Fail("the call is heavy: its time does not matter");
  }
  const std::string bytes = request.SerializeAsString();
  server::ArenaMessages<Request, Response> messages;
  std::vector<double> times;
  for (auto _ : state) {
    auto* const holder = messages.AllocateMessages();
    if (!holder->request()->ParseFromString(bytes)) Fail("does not parse");
    grpc::CallbackServerContext context;
    const double start = ThreadSeconds();
    const absl::Status status = server::RunHandler(
        TheEnv(), context, handler, *holder->request(), *holder->response());
    const double seconds = ThreadSeconds() - start;
    if (!status.ok()) Fail(status.ToString());
    holder->Release();
    times.push_back(seconds);
    state.SetIterationTime(seconds);
  }
  state.counters["p50"] = Quantile(times, .5);
  state.counters["p99"] = Quantile(times, .99);
  state.counters["p99.9"] = Quantile(times, .999);
}

#define MANSARD_HANDLER_TIME(name, method, request)         \
  void name(benchmark::State& state) {                      \
    HandlerTime<v1::method##Request, v1::method##Response>( \
        state, &server::method, request);                   \
  }                                                         \
  BENCHMARK(name)->UseManualTime()->Unit(benchmark::kMicrosecond)

MANSARD_HANDLER_TIME(HandlerOfRecommend, RecommendBatchSize,
                     RecommendRequest());
MANSARD_HANDLER_TIME(HandlerOfFullRecommend, RecommendBatchSize,
                     FullRecommendRequest(1));
MANSARD_HANDLER_TIME(HandlerOf8Contexts, RecommendBatchSize,
                     FullRecommendRequest(8));
MANSARD_HANDLER_TIME(HandlerOf32Contexts, RecommendBatchSize,
                     FullRecommendRequest(32));
MANSARD_HANDLER_TIME(HandlerOfOneLatency, PredictLatencies,
                     LatenciesRequest(1));
// The most rows that are hot.
MANSARD_HANDLER_TIME(HandlerOf512Latencies, PredictLatencies,
                     LatenciesRequest(512));
MANSARD_HANDLER_TIME(HandlerOf3000Steps, PredictSteps, StepsRequest(3000));
MANSARD_HANDLER_TIME(HandlerOfCapacity, FindEngineCapacity, CapacityRequest());

#undef MANSARD_HANDLER_TIME

void HandlerOfMessage(benchmark::State& state) {
  const v1::StreamPredictionsRequest request =
      StepMessage(static_cast<int>(state.range(0)));
  v1::StreamPredictionsResponse response;
  server::StepStream stream;
  std::vector<double> times;
  for (auto _ : state) {
    const grpc::CallbackServerContext context;
    const double start = ThreadSeconds();
    server::CallContext call(TheEnv(), context);
    server::PredictStep(call, stream, request, response);
    const double seconds = ThreadSeconds() - start;
    if (response.has_error()) Fail(response.error().message());
    times.push_back(seconds);
    state.SetIterationTime(seconds);
  }
  state.counters["p50"] = Quantile(times, .5);
  state.counters["p99.9"] = Quantile(times, .999);
}
BENCHMARK(HandlerOfMessage)
    ->ArgName("groups")
    ->Arg(2)
    ->Arg(900)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// Calls of a scheduler, one after the other.
class Scheduler {
 public:
  Scheduler()
      : stub_(v1::SchedulingService::NewStub(TheServers().RealChannel(false))) {
  }

  // Of both kinds of calls in turn. With `pause` seconds from one to the next.
  void Run(int calls, double pause, std::vector<double>& times) {
    for (int i = 0; i < calls; ++i) {
      const auto start = Clock::now();
      grpc::ClientContext context;
      grpc::Status status;
      if (i % 2 == 0) {
        v1::RecommendBatchSizeResponse response;
        status = stub_->RecommendBatchSize(&context, recommend_, &response);
      } else {
        v1::PredictLatenciesResponse response;
        status = stub_->PredictLatencies(&context, latencies_, &response);
      }
      if (!status.ok()) Fail(status.error_message());
      times.push_back(SecondsSince(start));
      if (pause > 0) {
        std::this_thread::sleep_until(
            start + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(pause)));
      }
    }
  }

 private:
  std::unique_ptr<v1::SchedulingService::Stub> stub_;
  const v1::RecommendBatchSizeRequest recommend_ = RecommendRequest();
  const v1::PredictLatenciesRequest latencies_ = LatenciesRequest(8);
};

// Keeps all threads for heavy calls at work, and a queue behind them.
class HeavyCallers {
 public:
  HeavyCallers() {
    const int count = 2 * server::DefaultHeavyThreads() + 1;
    for (int i = 0; i < count; ++i) {
      callers_.emplace_back([this] {
        const auto stub =
            v1::EstimationService::NewStub(TheServers().RealChannel(false));
        v1::BatchEstimateRequest batch = BatchRequest(4);
        for (v1::EstimateRequest& one : *batch.mutable_requests()) {
          while (one.forward_pass().groups_size() < 1000) {
            *one.mutable_forward_pass()->add_groups() =
                one.forward_pass().groups(0);
          }
        }
        while (!stop_.load()) {
          v1::BatchEstimateResponse response;
          const grpc::Status status = SendOne(*stub, batch, response);
          if (!status.ok()) Fail(status.error_message());
        }
      });
    }
  }
  ~HeavyCallers() {
    stop_.store(true);
    for (std::thread& caller : callers_) caller.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> callers_;
};

// `ratio`: p99 with busy threads over that with idle ones, in turn.
void LatencyBesideHeavyCalls(benchmark::State& state) {
  Scheduler scheduler;
  std::vector<double> idle;
  std::vector<double> busy;
  for (auto _ : state) {
    const auto start = Clock::now();
    scheduler.Run(2000, 0, idle);
    state.SetIterationTime(SecondsSince(start));
    const HeavyCallers heavy;
    std::vector<double> before;
    scheduler.Run(100, 0, before);  // Until all of them are at work.
    scheduler.Run(2000, 0, busy);
  }
  state.counters["idle_p50"] = Quantile(idle, .5);
  state.counters["idle_p99"] = Quantile(idle, .99);
  state.counters["busy_p50"] = Quantile(busy, .5);
  state.counters["busy_p99"] = Quantile(busy, .99);
  state.counters["ratio"] = Quantile(busy, .99) / Quantile(idle, .99);
}
BENCHMARK(LatencyBesideHeavyCalls)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Clients at once, each with so much time from call to call; returns calls a
// second.
double RunClients(double pause, std::vector<double>& times) {
  constexpr int kClients = 4;
  constexpr int kCalls = 1000;
  std::vector<std::vector<double>> own(kClients);
  std::vector<std::thread> clients;
  const auto start = Clock::now();
  for (std::vector<double>& mine : own) {
    clients.emplace_back(
        [&mine, pause] { Scheduler().Run(kCalls, pause * kClients, mine); });
  }
  for (std::thread& client : clients) client.join();
  const double seconds = SecondsSince(start);
  for (const std::vector<double>& mine : own) {
    times.insert(times.end(), mine.begin(), mine.end());
  }
  return kClients * kCalls / seconds;
}

// Half of the calls a second that the same clients have without pauses.
void LatencyAtHalfLoad(benchmark::State& state) {
  std::vector<double> full;
  const double rate = RunClients(0, full);
  std::vector<double> half;
  double half_rate = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    half_rate = RunClients(2 / rate, half);
    state.SetIterationTime(SecondsSince(start));
  }
  state.counters["full_rpcs"] = rate;
  state.counters["rpcs"] = half_rate;
  state.counters["p50"] = Quantile(half, .5);
  state.counters["p99"] = Quantile(half, .99);
  state.counters["p99.9"] = Quantile(half, .999);
}
BENCHMARK(LatencyAtHalfLoad)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mansard::load
