// Clients that send a mix of calls at the same time, and what they saw.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/load/cases.h"

namespace mansard::load {

// How often each kind is sent, relative to the others.
struct Mix {
  std::array<int, kCaseKindCount> weights{};
};
// "estimate=60,bad=10": what is not named is not sent. INVALID_ARGUMENT with
// what is allowed.
absl::StatusOr<Mix> ParseMix(const std::string& text);
inline constexpr char kDefaultMix[] =
    "estimate=50,kernel=12,batch=2,roofline=1,catalog=10,import=2,"
    "scheduling=10,bad=13";

struct LoadOptions {
  // A thread and a connection each.
  int clients = 64;
  // Of each client.
  int requests = 100;
  Mix mix;
  // Compare every answer with the one taken alone beforehand.
  bool verify = false;
};

struct MethodResult {
  int64_t calls = 0;
  int64_t errors = 0;  // Not OK; a mix has requests that are refused.
  std::vector<float> seconds;
};

struct LoadResult {
  double wall_seconds = 0;
  int64_t calls = 0;
  int64_t mismatches = 0;
  // Of them, one, in words. Empty: none.
  std::string first_mismatch;
  // Answered TOO_MANY_HEAVY_CALLS: not compared.
  int64_t busy = 0;
  // UNAVAILABLE and DEADLINE_EXCEEDED: the server was not there or too slow.
  int64_t lost = 0;
  std::map<std::string, MethodResult> methods;
};

// `connect` makes a channel that shares no connection with another. The engine
// that cases are about is made beforehand.
LoadResult RunLoad(
    const LoadOptions& options,
    const std::function<std::shared_ptr<grpc::Channel>()>& connect);

// A channel of its own connection to `address`.
std::shared_ptr<grpc::Channel> OwnConnection(const std::string& address);

// Throughput, and latencies by method, as a table.
void Print(const LoadResult& result, std::ostream& out);

}  // namespace mansard::load
