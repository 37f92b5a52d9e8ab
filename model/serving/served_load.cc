#include "model/serving/served_load.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

void CheckPositive(absl::string_view field, const std::optional<double>& value,
                   double least, Violations& violations) {
  if (!value.has_value()) return;
  if (*value > 0 && *value >= least && *value <= ServedLoad::kMaxConcurrency) {
    return;
  }
  violations.Add(field, absl::StrCat("is ", *value, "; allowed: ",
                                     least > 0 ? "" : "above ", least, " to ",
                                     ServedLoad::kMaxConcurrency));
}

class LoadOnEngine {
 public:
  LoadOnEngine(const ServingEngine& engine, const ServedLoad& load,
               StepTimer& timer)
      : engine_(engine),
        load_(load),
        timer_(timer),
        requests_(engine, load.shape, load.gain, timer),
        form_(requests_.form()),
        most_(engine.role() == ServingRole::kPrefill
                  ? 1
                  : MostSequences(engine, load.shape, load.gain)) {
    form_.burst_share = 1 / load.requests_per_slot.value_or(INFINITY);
  }

  ServedAnswer Run() {
    ServedAnswer answer;
    answer.most_sequences = most_;
    answer.prompt_passes = static_cast<int64_t>(form_.prompt_passes);
    if (most_ == 0) {
      answer.saturated = true;
      answer.limit = ServedLimit::kKvCapacity;
      return answer;
    }
    const auto most = static_cast<double>(most_);
    answer.most_requests_per_second =
        RequestRate(form_, most, TimesAt(most, most));
    if (load_.concurrency.has_value()) {
      answer.concurrency = *load_.concurrency;
    } else if (*load_.requests_per_second >= answer.most_requests_per_second) {
      SetSaturated(answer);
      return answer;
    } else {
      answer.concurrency = ConcurrencyOf(*load_.requests_per_second);
    }
    Fill(answer);
    return answer;
  }

 private:
  ServedTimes TimesAt(double batch, double concurrency) {
    return TimesOf(form_, batch, concurrency,
                   requests_.passes().AtShare(batch, timer_));
  }

  void SetSaturated(ServedAnswer& answer) {
    answer.saturated = true;
    answer.batch = static_cast<double>(most_);
    answer.concurrency = INFINITY;
    answer.limit = LimitOf(answer);
    answer.passes = requests_.passes().At(most_, timer_);
    answer.requests_per_second = answer.most_requests_per_second;
    answer.output_tokens_per_second =
        answer.requests_per_second * form_.output_tokens;
    answer.utilization = 1;
  }

  // Of a rate below the largest batch's. Prompts alone: one at a time, others
  // wait for as long as at a server of one fixed time.
  double ConcurrencyOf(double rate) {
    if (engine_.role() == ServingRole::kPrefill) {
      const Seconds each = requests_.passes().At(1, timer_).prompt_alone;
      const double busy = rate * each.value();
      return busy + busy * busy / (1 - busy) / 2;
    }
    int64_t low = 0;
    int64_t high = most_;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const auto batch = static_cast<double>(middle);
      (RequestRate(form_, batch, TimesAt(batch, batch)) < rate ? low : high) =
          middle;
    }
    return Between(static_cast<double>(low), static_cast<double>(high), rate);
  }

  double Between(double low, double high, double rate) {
    const ServedPassTimes below = requests_.passes().AtShare(low, timer_);
    const ServedPassTimes above = requests_.passes().AtShare(high, timer_);
    const double first = low;
    for (int i = 0; i < 48; ++i) {
      const double middle = (low + high) / 2;
      const double share = middle < 1 ? 0 : middle - first;
      ServedPassTimes passes = below;
      passes.decode += share * (above.decode - below.decode);
      passes.prompt += share * (above.prompt - below.prompt);
      passes.prompt_alone += share * (above.prompt_alone - below.prompt_alone);
      const ServedTimes times = TimesOf(form_, middle, middle, passes);
      (RequestRate(form_, middle, times) < rate ? low : high) = middle;
    }
    return high;
  }

  ServedLimit LimitOf(const ServedAnswer& answer) const {
    if (engine_.role() == ServingRole::kPrefill ||
        answer.concurrency <= static_cast<double>(most_)) {
      return ServedLimit::kLoad;
    }
    return most_ < engine_.max_batch() ? ServedLimit::kKvCapacity
                                       : ServedLimit::kSequences;
  }

  void Fill(ServedAnswer& answer) {
    answer.batch = std::min(answer.concurrency, static_cast<double>(most_));
    answer.limit = LimitOf(answer);
    answer.passes = requests_.passes().AtShare(answer.batch, timer_);
    const ServedTimes times =
        TimesOf(form_, answer.batch, answer.concurrency, answer.passes);
    answer.first_token = times.first_token;
    answer.values = times.values;
    answer.prompt_utilization = times.prompt_utilization;
    if (engine_.role() == ServingRole::kPrefill) {
      FillPrefill(answer);
    } else {
      // Of a rate the concurrency is found, up to rounding.
      answer.requests_per_second = load_.requests_per_second.value_or(
          engine_.role() == ServingRole::kDecode
              ? RequestRate(form_, answer.batch, times)
              : RequestRate(form_, answer.concurrency, times));
    }
    answer.output_tokens_per_second =
        answer.requests_per_second *
        (engine_.role() == ServingRole::kPrefill ? 1 : form_.output_tokens);
    answer.utilization =
        answer.requests_per_second / answer.most_requests_per_second;
  }

  // Requests that wait do so by their mean.
  void FillPrefill(ServedAnswer& answer) const {
    const Seconds each = answer.passes.prompt_alone;
    answer.requests_per_second = load_.requests_per_second.value_or(
        std::min(1.0, answer.concurrency) * answer.most_requests_per_second);
    const double busy =
        answer.requests_per_second / answer.most_requests_per_second;
    answer.prompt_utilization = busy;
    if (!load_.requests_per_second.has_value()) return;
    answer.first_token.queue = Seconds::Zero();
    answer.first_token.wait = (busy / (1 - busy) / 2) * each;
    answer.values.time_to_first_token = answer.values.end_to_end =
        answer.first_token.Sum();
  }

  const ServingEngine& engine_;
  const ServedLoad& load_;
  StepTimer& timer_;
  RequestLoad requests_;
  ServedForm form_;
  int64_t most_;
};

}  // namespace

void CheckServedLoad(const ServingEngine* engine, const ServedLoad& load,
                     Violations& violations) {
  CheckRequest(engine, load.shape, load.gain, violations);
  if (load.concurrency.has_value() == load.requests_per_second.has_value()) {
    violations.Add("concurrency_count",
                   "and requests_per_second: one of them must be given, and "
                   "not both");
  }
  CheckPositive("concurrency_count", load.concurrency, 0, violations);
  CheckPositive("requests_per_second", load.requests_per_second, 0, violations);
  CheckPositive("requests_per_slot_count", load.requests_per_slot, 1,
                violations);
  if (load.requests_per_slot.has_value() && !load.concurrency.has_value()) {
    violations.Add("requests_per_slot_count",
                   "is given without concurrency_count, which it belongs to");
  }
}

std::optional<ServedAnswer> EstimateServedLoad(const ServingEngine& engine,
                                               const ServedLoad& load,
                                               StepTimer& timer,
                                               Violations& violations) {
  const size_t before = violations.all().size();
  CheckServedLoad(&engine, load, violations);
  if (violations.all().size() != before) return std::nullopt;
  return LoadOnEngine(engine, load, timer).Run();
}

}  // namespace mansard::model
