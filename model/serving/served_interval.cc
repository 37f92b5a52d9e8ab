#include "model/serving/served_interval.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"

namespace mansard::model {
namespace {

// Of a time, what p10 and p90 are of it.
struct Shares {
  double p10 = 1;
  double p90 = 1;
};

// The fit's ranges are of predicted over measured.
Shares SharesOf(const RatioRange& range) {
  return {std::min(1.0, 1 / range.p90), std::max(1.0, 1 / range.p10)};
}

Shares SharesOf(const StepPrediction& step) {
  if (!(step.time > Seconds::Zero())) return {};
  return {step.p10 / step.time, step.p90 / step.time};
}

std::optional<TimeInterval> Around(const std::optional<Seconds>& time,
                                   const Shares& shares) {
  if (!time.has_value()) return std::nullopt;
  return TimeInterval{*time, shares.p10 * *time, shares.p90 * *time};
}

Shares SharesOfPass(const ServingEngine& engine, const RequestGroup& group,
                    StepTimer& timer) {
  Violations none;
  const auto pass =
      ForwardPass::Create({group}, 2 * RequestShape::kMaxTokens, none);
  return pass.has_value() ? SharesOf(engine.Step(*pass, timer)) : Shares{};
}

// Of a token and of the first one.
std::pair<Shares, Shares> SharesOfKernels(const ServingEngine& engine,
                                          const ServedLoad& load,
                                          const ServedAnswer& answer,
                                          StepTimer& timer) {
  const auto batch = static_cast<int64_t>(
      std::clamp(std::round(answer.batch), 1.0,
                 static_cast<double>(ForwardPass::kMaxRequests)));
  const auto context =
      static_cast<int64_t>(std::ceil(load.shape.mean_context()));
  const int64_t computed = std::min(load.shape.computed_tokens(),
                                    engine.limits().max_batched_tokens);
  return {SharesOfPass(engine, {Role::kDecode, batch, 1, context - 1}, timer),
          SharesOfPass(
              engine,
              {Role::kPrefill, 1, computed, load.shape.input_tokens - computed},
              timer)};
}

// What takes shares.p90 of a time is served 1 / p90 as often.
RateInterval RateAround(double rate, const Shares& time) {
  return {rate, rate / time.p90, rate / time.p10};
}

Shares SharesOf(const std::optional<TimeInterval>& interval) {
  if (!interval.has_value() || !(interval->time > Seconds::Zero())) return {};
  return {interval->p10 / interval->time, interval->p90 / interval->time};
}

// Of a request: end to end, else of the part of it that the engine's role has.
Shares SharesOfRequest(const ServedIntervals& intervals) {
  if (intervals.end_to_end.has_value()) return SharesOf(intervals.end_to_end);
  if (intervals.time_per_output_token.has_value()) {
    return SharesOf(intervals.time_per_output_token);
  }
  if (intervals.time_to_first_token.has_value()) {
    return SharesOf(intervals.time_to_first_token);
  }
  return SharesOf(intervals.inter_token_latency);
}

void AddRates(const ServedLoad& load, const ServedAnswer& answer,
              const Shares& request, ServedIntervals& intervals) {
  const bool arriving =
      load.requests_per_second.has_value() && !answer.saturated;
  const Shares rate = arriving ? Shares{} : request;
  intervals.requests_per_second = RateAround(answer.requests_per_second, rate);
  intervals.output_tokens_per_second =
      RateAround(answer.output_tokens_per_second, rate);
  intervals.most_requests_per_second =
      RateAround(answer.most_requests_per_second, request);
  // Arrivals over the most: longer passes use more of the engine.
  const Shares used = arriving ? request : Shares{};
  intervals.utilization = {answer.utilization, answer.utilization * used.p10,
                           answer.utilization * used.p90};
}

}  // namespace

FitSituation SituationOf(const Target& target, const EngineCosts& costs) {
  if (!costs.fitted_device) return FitSituation::kNewDevice;
  const std::string& id = target.graph().spec().id;
  const auto& models = costs.fitted_models;
  return std::any_of(models.begin(), models.end(),
                     [&](const std::string& model) {
                       return absl::StartsWithIgnoreCase(id, model);
                     })
             ? FitSituation::kKnown
             : FitSituation::kNewModel;
}

ServedIntervals IntervalsOf(const ServingEngine& engine, const ServedLoad& load,
                            const ServedAnswer& answer, StepTimer& timer) {
  const auto& costs = engine.target().view().stack.spec().engine_costs;
  Shares token;
  Shares first;
  if (costs.has_value()) {
    const auto at = static_cast<size_t>(SituationOf(engine.target(), *costs));
    token = SharesOf(costs->tpot_ranges[at]);
    first = SharesOf(costs->ttft_ranges[at]);
  } else {
    std::tie(token, first) = SharesOfKernels(engine, load, answer, timer);
  }
  ServedIntervals intervals;
  const SloValues& values = answer.values;
  intervals.time_to_first_token = Around(values.time_to_first_token, first);
  intervals.inter_token_latency = Around(values.inter_token_latency, token);
  intervals.time_per_output_token = Around(values.time_per_output_token, token);
  if (values.end_to_end.has_value()) {
    // Both may be off the same way.
    const Seconds head = values.time_to_first_token.value_or(Seconds::Zero());
    const Seconds tail = *values.end_to_end - head;
    intervals.end_to_end =
        TimeInterval{*values.end_to_end, first.p10 * head + token.p10 * tail,
                     first.p90 * head + token.p90 * tail};
  }
  AddRates(load, answer, SharesOfRequest(intervals), intervals);
  return intervals;
}

}  // namespace mansard::model
