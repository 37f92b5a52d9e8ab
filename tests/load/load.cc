#include "tests/load/load.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace mansard::load {
namespace {

constexpr int kMaxWeight = 1'000'000;

// Cases by kind, and a kind by weight.
class Picker {
 public:
  Picker(const std::vector<Case>& cases, const Mix& mix)
      : kind_(mix.weights.begin(), mix.weights.end()) {
    for (size_t i = 0; i < cases.size(); ++i) {
      by_kind_[static_cast<size_t>(cases[i].kind)].push_back(i);
    }
  }

  size_t Next(std::minstd_rand& random) {
    const std::vector<size_t>& some = by_kind_[kind_(random)];
    return some[std::uniform_int_distribution<size_t>(0,
                                                      some.size() - 1)(random)];
  }

 private:
  std::discrete_distribution<size_t> kind_;
  std::array<std::vector<size_t>, kCaseKindCount> by_kind_;
};

std::string Describe(const Case& one, const Answer& expected,
                     const Answer& got) {
  return absl::StrCat(one.method, " (", CaseKindName(one.kind),
                      "): alone code ", expected.code, ", ",
                      expected.text.size(), " bytes; under load code ",
                      got.code, ", ", got.text.size(),
                      " bytes: ", got.code == 0 ? "" : got.text.substr(0, 200));
}

void Record(const Case& one, const Answer& answer, const Answer* expected,
            double seconds, LoadResult& result) {
  ++result.calls;
  MethodResult& method = result.methods[one.method];
  ++method.calls;
  method.seconds.push_back(static_cast<float>(seconds));
  if (answer.code != grpc::StatusCode::OK) ++method.errors;
  if (answer.busy) {
    ++result.busy;
    return;
  }
  if (answer.code == grpc::StatusCode::UNAVAILABLE ||
      answer.code == grpc::StatusCode::DEADLINE_EXCEEDED) {
    ++result.lost;
  }
  if (expected == nullptr ||
      (answer.code == expected->code && answer.text == expected->text)) {
    return;
  }
  ++result.mismatches;
  if (result.first_mismatch.empty()) {
    result.first_mismatch = Describe(one, *expected, answer);
  }
}

void Merge(LoadResult&& from, LoadResult& to) {
  to.calls += from.calls;
  to.mismatches += from.mismatches;
  if (to.first_mismatch.empty()) to.first_mismatch = from.first_mismatch;
  to.busy += from.busy;
  to.lost += from.lost;
  for (auto& [name, method] : from.methods) {
    MethodResult& sum = to.methods[name];
    sum.calls += method.calls;
    sum.errors += method.errors;
    sum.seconds.insert(sum.seconds.end(), method.seconds.begin(),
                       method.seconds.end());
  }
}

double Quantile(const std::vector<float>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at =
      static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return static_cast<double>(sorted[std::min(at, sorted.size() - 1)]);
}

}  // namespace

absl::StatusOr<Mix> ParseMix(const std::string& text) {
  Mix mix;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> words = absl::StrSplit(part, '=');
    int weight = 0;
    bool known = false;
    if (words.size() == 2 && absl::SimpleAtoi(words[1], &weight) &&
        weight >= 0 && weight <= kMaxWeight) {
      for (int i = 0; i < kCaseKindCount; ++i) {
        if (words[0] != CaseKindName(static_cast<CaseKind>(i))) continue;
        mix.weights[static_cast<size_t>(i)] = weight;
        known = true;
      }
    }
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--mix has \"", part,
                       "\"; allowed: kind=weight, with estimate, kernel, "
                       "batch, roofline, catalog, import, scheduling, "
                       "bad and 0 to ",
                       kMaxWeight));
    }
  }
  if (std::accumulate(mix.weights.begin(), mix.weights.end(), 0) == 0) {
    return absl::InvalidArgumentError("--mix has no weight above 0");
  }
  return mix;
}

LoadResult RunLoad(
    const LoadOptions& options,
    const std::function<std::shared_ptr<grpc::Channel>()>& connect) {
  const std::vector<Case> cases = AllCases();
  std::vector<Answer> expected;
  Stubs alone(connect());
  LoadResult all;
  if (!CreateEngine(alone)) {
    all.mismatches = 1;
    all.first_mismatch = "the engine of the cases could not be created";
    return all;
  }
  if (options.verify) {
    double ignored = 0;
    for (const Case& one : cases) expected.push_back(one.call(alone, ignored));
  }
  std::mutex mutex;
  std::latch ready(options.clients + 1);
  std::vector<std::thread> clients;
  for (int client = 0; client < options.clients; ++client) {
    clients.emplace_back([&, client] {
      Stubs stubs(connect());
      Picker picker(cases, options.mix);
      std::minstd_rand random(static_cast<unsigned>(client) + 1);
      LoadResult own;
      ready.arrive_and_wait();
      for (int i = 0; i < options.requests; ++i) {
        const size_t at = picker.Next(random);
        double seconds = 0;
        const Answer answer = cases[at].call(stubs, seconds);
        Record(cases[at], answer, options.verify ? &expected[at] : nullptr,
               seconds, own);
      }
      const std::lock_guard lock(mutex);
      Merge(std::move(own), all);
    });
  }
  ready.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  for (std::thread& client : clients) client.join();
  all.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return all;
}

std::shared_ptr<grpc::Channel> OwnConnection(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

void Print(const LoadResult& result, std::ostream& out) {
  out << absl::StreamFormat(
      "%d calls in %.2f s: %.0f calls/s; %d mismatches, %d busy, %d lost\n",
      result.calls, result.wall_seconds,
      static_cast<double>(result.calls) / result.wall_seconds,
      result.mismatches, result.busy, result.lost);
  if (!result.first_mismatch.empty()) {
    out << "first mismatch: " << result.first_mismatch << "\n";
  }
  out << absl::StreamFormat("%-24s %9s %9s %9s %9s %9s %9s\n", "method",
                            "calls", "not OK", "p50 us", "p90 us", "p99 us",
                            "max us");
  for (const auto& [name, method] : result.methods) {
    std::vector<float> sorted = method.seconds;
    std::sort(sorted.begin(), sorted.end());
    out << absl::StreamFormat("%-24s %9d %9d", name, method.calls,
                              method.errors);
    for (double share : {0.5, 0.9, 0.99, 1.0}) {
      out << absl::StreamFormat(" %9.0f", Quantile(sorted, share) * 1e6);
    }
    out << "\n";
  }
}

}  // namespace mansard::load
