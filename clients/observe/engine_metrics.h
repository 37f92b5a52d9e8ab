// What inference engines show of themselves, as one observed run: the metrics
// of vLLM and SGLang between two looks at them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/observe/prometheus_text.h"

namespace mansard::observe {

enum class Program { kVllm, kSglang };
const char* ProgramName(Program program);

// Of a histogram, or of two counters.
struct Total {
  double sum = 0;
  double count = 0;
};

// Since the engine started, over all its models and ranks.
struct EngineTotals {
  Program program = Program::kVllm;
  Total input_tokens;                 // Of requests.
  Total output_tokens;                // Of requests.
  Total latency;                      // Seconds from arrival to the last token.
  std::optional<Total> first_token;   // Seconds from arrival.
  std::optional<Total> output_token;  // Seconds, after the first one.
  std::optional<Total> cached_tokens;  // Of the input tokens.
};

// INVALID_ARGUMENT: the samples are of no program that is known, of several, or
// without what a run needs, which is named.
absl::StatusOr<EngineTotals> TotalsOf(const std::vector<Sample>& samples);

// Means over the requests between two looks.
struct ObservedRun {
  double request_count = 0;
  double input_tokens = 0;
  double output_tokens = 0;
  double prefix_cache_hit_ratio = 0;
  // In the engine, waiting ones too: latencies that ended, over the time.
  double concurrency = 0;
  double requests_per_second = 0;
  std::optional<absl::Duration> time_to_first_token;
  std::optional<absl::Duration> time_per_output_token;
};

// Fewer say more of chance than of the engine.
inline constexpr double kFewestRequests = 10;

// ABORTED: the engine has started anew between the looks. FAILED_PRECONDITION:
// too few requests have ended. Precondition: `elapsed` is above 0.
absl::StatusOr<ObservedRun> RunBetween(const EngineTotals& before,
                                       const EngineTotals& after,
                                       absl::Duration elapsed);

}  // namespace mansard::observe
