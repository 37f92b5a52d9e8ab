#include "clients/observe/engine_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mansard::observe {
namespace {

using Names = std::vector<std::string>;

// Where a total stands. Of several names the first that the page has; versions
// differ.
struct Source {
  Names sums;
  Names counts;
};

struct Sources {
  const char* prefix;
  Source input_tokens;
  Source output_tokens;
  Source latency;
  Source first_token;
  Source output_token;
  Source cached_tokens;
};

// "x_sum" and "x_count" of each.
Source Histogram(const Names& names) {
  Source source;
  for (const std::string& name : names) {
    source.sums.push_back(name + "_sum");
    source.counts.push_back(name + "_count");
  }
  return source;
}

const Sources& SourcesOf(Program program) {
  static const auto* const kVllm = new Sources{
      "vllm:",
      Histogram({"vllm:request_prompt_tokens"}),
      Histogram({"vllm:request_generation_tokens"}),
      Histogram({"vllm:e2e_request_latency_seconds"}),
      Histogram({"vllm:time_to_first_token_seconds"}),
      Histogram({"vllm:request_time_per_output_token_seconds",
                 "vllm:inter_token_latency_seconds",
                 "vllm:time_per_output_token_seconds"}),
      {{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
       {"vllm:prefix_cache_queries_total",
        "vllm:gpu_prefix_cache_queries_total"}}};
  static const auto* const kSglang = new Sources{
      "sglang:",
      {{"sglang:prompt_tokens_total"}, {"sglang:num_requests_total"}},
      {{"sglang:generation_tokens_total"}, {"sglang:num_requests_total"}},
      Histogram({"sglang:e2e_request_latency_seconds"}),
      Histogram({"sglang:time_to_first_token_seconds"}),
      Histogram({"sglang:inter_token_latency_seconds",
                 "sglang:time_per_output_token_seconds"}),
      {{"sglang:cached_tokens_total"}, {"sglang:prompt_tokens_total"}}};
  switch (program) {
    case Program::kVllm:
      return *kVllm;
    case Program::kSglang:
      return *kSglang;
  }
  return *kVllm;
}

// Sums over all series of a name.
std::map<std::string, double> SumsOf(const std::vector<Sample>& samples) {
  std::map<std::string, double> sums;
  for (const Sample& sample : samples) {
    if (std::isfinite(sample.value)) sums[sample.name] += sample.value;
  }
  return sums;
}

std::optional<Total> Find(const std::map<std::string, double>& sums,
                          const Source& source) {
  for (size_t i = 0; i < source.sums.size(); ++i) {
    const auto sum = sums.find(source.sums[i]);
    const auto count = sums.find(source.counts[i]);
    if (sum != sums.end() && count != sums.end()) {
      return Total{sum->second, count->second};
    }
  }
  return std::nullopt;
}

absl::StatusOr<Program> ProgramOf(const std::vector<Sample>& samples) {
  std::vector<Program> found;
  for (const Program program : {Program::kVllm, Program::kSglang}) {
    const char* const prefix = SourcesOf(program).prefix;
    if (std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
          return absl::StartsWith(sample.name, prefix);
        })) {
      found.push_back(program);
    }
  }
  if (found.size() == 1) return found.front();
  return absl::InvalidArgumentError(absl::StrCat(
      "the metrics are of ",
      found.empty() ? "no engine that is known" : "several engines",
      "; allowed: those of vLLM (vllm:...) or of SGLang (sglang:...)"));
}

Total operator-(const Total& a, const Total& b) {
  return {a.sum - b.sum, a.count - b.count};
}
bool HasFallen(const Total& delta) { return delta.sum < 0 || delta.count < 0; }

// Since `before`; nothing where one of both lacks it, or nothing was added.
std::optional<double> MeanSince(const std::optional<Total>& before,
                                const std::optional<Total>& after) {
  if (!before.has_value() || !after.has_value()) return std::nullopt;
  const Total delta = *after - *before;
  if (HasFallen(delta) || delta.count == 0) return std::nullopt;
  return delta.sum / delta.count;
}

std::optional<absl::Duration> TimeOf(const std::optional<double>& seconds) {
  if (!seconds.has_value() || *seconds <= 0) return std::nullopt;
  return absl::Seconds(*seconds);
}

}  // namespace

const char* ProgramName(Program program) {
  switch (program) {
    case Program::kVllm:
      return "vLLM";
    case Program::kSglang:
      return "SGLang";
  }
  return "";
}

absl::StatusOr<EngineTotals> TotalsOf(const std::vector<Sample>& samples) {
  const absl::StatusOr<Program> program = ProgramOf(samples);
  if (!program.ok()) return program.status();
  const Sources& sources = SourcesOf(*program);
  const std::map<std::string, double> sums = SumsOf(samples);
  EngineTotals totals;
  totals.program = *program;
  Names missing;
  const auto require = [&](const Source& source, Total& total) {
    const std::optional<Total> found = Find(sums, source);
    if (found.has_value()) {
      total = *found;
    } else {
      missing.push_back(
          absl::StrCat(source.sums.front(), " with ", source.counts.front()));
    }
  };
  require(sources.input_tokens, totals.input_tokens);
  require(sources.output_tokens, totals.output_tokens);
  require(sources.latency, totals.latency);
  totals.first_token = Find(sums, sources.first_token);
  totals.output_token = Find(sums, sources.output_token);
  totals.cached_tokens = Find(sums, sources.cached_tokens);
  if (!totals.first_token.has_value() && !totals.output_token.has_value()) {
    missing.push_back(absl::StrCat(sources.first_token.sums.front(), " or ",
                                   sources.output_token.sums.front()));
  }
  if (missing.empty()) return totals;
  return absl::InvalidArgumentError(
      absl::StrCat("the metrics of ", ProgramName(*program), " lack ",
                   absl::StrJoin(missing, ", "),
                   "; they appear once it has answered a request"));
}

absl::StatusOr<ObservedRun> RunBetween(const EngineTotals& before,
                                       const EngineTotals& after,
                                       absl::Duration elapsed) {
  const Total input = after.input_tokens - before.input_tokens;
  const Total output = after.output_tokens - before.output_tokens;
  const Total latency = after.latency - before.latency;
  if (before.program != after.program || HasFallen(input) ||
      HasFallen(output) || HasFallen(latency)) {
    return absl::AbortedError(
        "the engine has started anew: its counters have fallen");
  }
  const double fewest = std::min({input.count, output.count, latency.count});
  if (fewest < kFewestRequests) {
    return absl::FailedPreconditionError(absl::StrCat(
        fewest, " requests ended in ", absl::FormatDuration(elapsed),
        "; needed: ", kFewestRequests));
  }
  const double seconds = absl::ToDoubleSeconds(elapsed);
  return ObservedRun{
      .request_count = latency.count,
      .input_tokens = input.sum / input.count,
      .output_tokens = output.sum / output.count,
      .prefix_cache_hit_ratio = std::clamp(
          MeanSince(before.cached_tokens, after.cached_tokens).value_or(0), 0.0,
          1.0),
      .concurrency = latency.sum / seconds,
      .requests_per_second = latency.count / seconds,
      .time_to_first_token =
          TimeOf(MeanSince(before.first_token, after.first_token)),
      .time_per_output_token =
          TimeOf(MeanSince(before.output_token, after.output_token))};
}

}  // namespace mansard::observe
