#include "clients/cli/commands/serving_request.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "clients/cli/command_status.h"

namespace mansard::cli {
namespace {

// Nothing where the text is empty.
absl::StatusOr<std::optional<double>> SecondsOf(absl::string_view flag,
                                                const std::string& text) {
  if (text.empty()) return std::nullopt;
  absl::Duration time;
  if (!absl::ParseDuration(text, &time) || time <= absl::ZeroDuration() ||
      time == absl::InfiniteDuration()) {
    return UsageError(absl::StrCat(flag, " is \"", text,
                                   "\"; allowed: such as 500ms, 1.5s, 200us"));
  }
  return absl::ToDoubleSeconds(time);
}

absl::StatusOr<std::optional<double>> NumberOf(absl::string_view flag,
                                               const std::string& text,
                                               absl::string_view allowed) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return UsageError(
        absl::StrCat(flag, " is \"", text, "\"; allowed: ", allowed));
  }
  return value;
}

constexpr char kRatio[] = "a number, 0 to 1";

absl::Status TakeTargets(const ServingFlags& flags, v1::Slo* slo) {
  const struct {
    const char* flag;
    const std::string& text;
    void (v1::Slo::*set)(double);
  } kTargets[] = {
      {"--ttft", flags.ttft, &v1::Slo::set_time_to_first_token_seconds},
      {"--tpot", flags.tpot, &v1::Slo::set_time_per_output_token_seconds},
      {"--itl", flags.itl, &v1::Slo::set_inter_token_latency_seconds},
      {"--e2e", flags.e2e, &v1::Slo::set_end_to_end_latency_seconds},
  };
  for (const auto& target : kTargets) {
    const auto seconds = SecondsOf(target.flag, target.text);
    if (!seconds.ok()) return seconds.status();
    if (seconds->has_value()) (slo->*target.set)(**seconds);
  }
  return absl::OkStatus();
}

int32_t Narrow(const std::optional<int64_t>& count) {
  return static_cast<int32_t>(count.value_or(0));
}

absl::StatusOr<double> PrefixHit(const ServingFlags& flags) {
  const auto ratio = NumberOf("--prefix-hit", flags.prefix_hit, kRatio);
  if (!ratio.ok()) return ratio.status();
  return ratio->value_or(0);
}

absl::Status TakeShape(const ServingFlags& flags, v1::RequestShape* shape) {
  const absl::StatusOr<double> hit = PrefixHit(flags);
  if (!hit.ok()) return hit.status();
  shape->set_input_token_count(Narrow(flags.input));
  shape->set_output_token_count(Narrow(flags.output));
  shape->set_prefix_cache_hit_ratio(*hit);
  return absl::OkStatus();
}

// "4096", or "1024=3,8192=1".
absl::Status TakeContexts(const std::string& text,
                          v1::RecommendBatchSizeRequest* request) {
  const auto wrong = [&text] {
    return UsageError(
        absl::StrCat("--context is \"", text,
                     "\"; allowed: tokens, or TOKENS=SHARE,..., such as "
                     "4096 or 1024=3,8192=1"));
  };
  int64_t tokens = 0;
  if (absl::SimpleAtoi(text, &tokens)) {
    request->set_context_token_count(tokens);
    return absl::OkStatus();
  }
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    double weight = 0;
    if (!absl::SimpleAtoi(parts.first, &tokens) ||
        !absl::SimpleAtod(parts.second, &weight) || !std::isfinite(weight)) {
      return wrong();
    }
    auto* share = request->add_contexts();
    share->set_context_token_count(tokens);
    share->set_weight(weight);
  }
  return absl::OkStatus();
}

// Drafts of requests that say what they gain.
template <class Request>
absl::Status TakeGain(const ServingFlags& flags, Request* request) {
  const auto accepted =
      NumberOf("--accepted", flags.accepted, "a number of tokens, 1 or more");
  if (!accepted.ok()) return accepted.status();
  request->set_accepted_tokens_per_pass_count(accepted->value_or(0));
  if (flags.draft_tokens.has_value()) {
    request->set_draft_token_count(Narrow(flags.draft_tokens));
  }
  return absl::OkStatus();
}

std::string Shown(const std::optional<int64_t>& count) {
  return count.has_value() ? absl::StrCat(*count) : std::string();
}

}  // namespace

absl::StatusOr<v1::RecommendBatchSizeRequest> BatchRequestOf(
    const ServingFlags& flags) {
  v1::RecommendBatchSizeRequest request;
  absl::Status status = TakeContexts(flags.context, &request);
  if (status.ok()) status = TakeTargets(flags, request.mutable_slo());
  if (!status.ok()) return status;
  if (flags.kv_budget.has_value()) {
    request.set_kv_token_budget_count(*flags.kv_budget);
  }
  request.set_prefill_token_count(Narrow(flags.prefill_tokens));
  request.set_draft_token_count(Narrow(flags.draft_tokens));
  const auto rate = NumberOf("--acceptance", flags.acceptance, kRatio);
  if (!rate.ok()) return rate.status();
  if (rate->has_value()) request.set_acceptance_rate(**rate);
  if (flags.input.has_value() || flags.output.has_value() ||
      !flags.prefix_hit.empty()) {
    status = TakeShape(flags, request.mutable_shape());
    if (!status.ok()) return status;
  }
  return request;
}

absl::StatusOr<v1::LatencyQuery> LatencyQueryOf(const ServingFlags& flags) {
  v1::LatencyQuery query;
  v1::EngineState& state = *query.mutable_state();
  state.set_running_request_count(Narrow(flags.running));
  state.set_waiting_request_count(Narrow(flags.waiting));
  state.set_prefill_tokens_in_flight_count(flags.prefill_in_flight.value_or(0));
  state.set_decode_tokens_in_flight_count(flags.decode_in_flight.value_or(0));
  const auto usage = NumberOf("--kv-usage", flags.kv_usage, kRatio);
  if (!usage.ok()) return usage.status();
  state.set_kv_cache_usage_ratio(usage->value_or(0));
  query.set_input_token_count(Narrow(flags.input));
  const absl::StatusOr<double> hit = PrefixHit(flags);
  if (!hit.ok()) return hit.status();
  query.set_prefix_cache_hit_ratio(*hit);
  query.set_generated_token_count(Narrow(flags.generated));
  if (flags.output.has_value()) {
    query.set_output_token_count(static_cast<double>(*flags.output));
  }
  absl::Status status = TakeGain(flags, &query);
  if (status.ok()) status = TakeTargets(flags, query.mutable_slo());
  if (!status.ok()) return status;
  return query;
}

absl::StatusOr<v1::FindEngineCapacityRequest> CapacityRequestOf(
    const ServingFlags& flags) {
  v1::FindEngineCapacityRequest request;
  absl::Status status = TakeShape(flags, request.mutable_shape());
  if (status.ok()) status = TakeGain(flags, &request);
  if (status.ok()) status = TakeTargets(flags, request.mutable_slo());
  if (!status.ok()) return status;
  if (flags.objective == "latency") {
    request.set_objective(v1::FindEngineCapacityRequest::OBJECTIVE_LATENCY);
  } else if (flags.objective == "throughput") {
    request.set_objective(v1::FindEngineCapacityRequest::OBJECTIVE_THROUGHPUT);
  } else if (!flags.objective.empty()) {
    return UsageError(absl::StrCat("--objective is \"", flags.objective,
                                   "\"; allowed: throughput, latency"));
  }
  return request;
}

absl::StatusOr<v1::FitLatencyModelRequest> LatencyModelRequestOf(
    const ServingFlags& flags) {
  v1::FitLatencyModelRequest request;
  const absl::Status status = TakeShape(flags, request.mutable_shape());
  if (!status.ok()) return status;
  request.set_max_batch_request_count(Narrow(flags.max_batch));
  return request;
}

absl::StatusOr<v1::EstimateServedLoadRequest> ServedLoadRequestOf(
    const ServingFlags& flags) {
  v1::EstimateServedLoadRequest request;
  absl::Status status = TakeShape(flags, request.mutable_shape());
  if (status.ok()) status = TakeGain(flags, &request);
  if (!status.ok()) return status;
  const auto concurrency =
      NumberOf("--concurrency", flags.concurrency, "a number of requests");
  const auto rate = NumberOf("--rate", flags.rate, "requests a second");
  const auto slot = NumberOf("--requests-per-slot", flags.requests_per_slot,
                             "a number of requests, 1 or more");
  for (const auto* number : {&concurrency, &rate, &slot}) {
    if (!number->ok()) return number->status();
  }
  if (concurrency->has_value() == rate->has_value()) {
    return UsageError(
        "--concurrency and --rate: one of them is needed, not both");
  }
  if (concurrency->has_value()) request.set_concurrency_count(**concurrency);
  if (rate->has_value()) request.set_requests_per_second(**rate);
  if (slot->has_value()) request.set_requests_per_slot_count(**slot);
  return request;
}

std::string TargetFlag(const std::string& target) {
  if (target == "time_to_first_token_seconds") return "--ttft";
  if (target == "time_per_output_token_seconds") return "--tpot";
  if (target == "inter_token_latency_seconds") return "--itl";
  return target == "end_to_end_latency_seconds" ? "--e2e" : "";
}

std::string FlagOfServingField(const ServingFlags& flags,
                               const std::string& field) {
  absl::string_view path = field;
  // Of the only query.
  absl::ConsumePrefix(&path, "queries[0].");
  for (const char* prefix : {"slo.", "shape.", "state."}) {
    absl::ConsumePrefix(&path, prefix);
  }
  const std::string target = TargetFlag(std::string(path));
  if (!target.empty()) {
    const std::string& text = target == "--ttft"   ? flags.ttft
                              : target == "--tpot" ? flags.tpot
                              : target == "--itl"  ? flags.itl
                                                   : flags.e2e;
    return text.empty() ? target : absl::StrCat(target, " ", text);
  }
  const struct {
    const char* field;
    const char* flag;
    std::string value;
  } kTable[] = {
      {"context_token_count", "--context", flags.context},
      {"kv_token_budget_count", "--kv-budget", Shown(flags.kv_budget)},
      {"prefill_token_count", "--prefill-tokens", Shown(flags.prefill_tokens)},
      {"draft_token_count", "--draft-tokens", Shown(flags.draft_tokens)},
      {"acceptance_rate", "--acceptance", flags.acceptance},
      {"accepted_tokens_per_pass_count", "--accepted", flags.accepted},
      {"input_token_count", "--input-tokens", Shown(flags.input)},
      {"output_token_count", "--output-tokens", Shown(flags.output)},
      {"prefix_cache_hit_ratio", "--prefix-hit", flags.prefix_hit},
      {"generated_token_count", "--generated", Shown(flags.generated)},
      {"running_request_count", "--running", Shown(flags.running)},
      {"waiting_request_count", "--waiting", Shown(flags.waiting)},
      {"kv_cache_usage_ratio", "--kv-usage", flags.kv_usage},
      {"prefill_tokens_in_flight_count", "--prefill-in-flight",
       Shown(flags.prefill_in_flight)},
      {"decode_tokens_in_flight_count", "--decode-in-flight",
       Shown(flags.decode_in_flight)},
      {"max_batch_request_count", "--max-batch", Shown(flags.max_batch)},
      {"concurrency_count", "--concurrency", flags.concurrency},
      {"requests_per_second", "--rate", flags.rate},
      {"requests_per_slot_count", "--requests-per-slot",
       flags.requests_per_slot},
  };
  for (const auto& row : kTable) {
    if (path != row.field) continue;
    return row.value.empty() ? row.flag
                             : absl::StrCat(row.flag, " ", row.value);
  }
  return absl::StartsWith(path, "contexts")
             ? absl::StrCat("--context ", flags.context)
             : "";
}

}  // namespace mansard::cli
