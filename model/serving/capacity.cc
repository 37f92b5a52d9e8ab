#include "model/serving/capacity.h"

#include <algorithm>
#include <limits>

#include "model/serving/batch_search.h"

namespace mansard::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a batch does.
struct Candidate {
  SloValues values;
  double requests_per_second = 0;
  Seconds work;  // On one request.
};

// The first of these that there is.
Seconds LatencyOf(const SloValues& values) {
  if (values.end_to_end.has_value()) return *values.end_to_end;
  return values.time_per_output_token.value_or(Seconds::Infinity());
}

class Search {
 public:
  Search(const ServingEngine& engine, const CapacityQuestion& question,
         StepTimer& timer)
      : engine_(engine),
        question_(question),
        timer_(timer),
        requests_(engine, question.shape, question.gain, timer) {}

  CapacityAnswer Run() {
    int64_t batch = Best(question_.slo);
    CapacityAnswer answer;
    answer.meets_slo = batch > 0;
    if (batch == 0) batch = Best(Slo{});
    answer.batch = batch;
    answer.batches_looked_at = looked_at_;
    if (batch == 0) {
      answer.limit = BatchLimit::kKvBudget;
      return answer;
    }
    const Candidate best = CandidateOf(batch);
    SetLimit(best, answer);
    answer.utilization =
        std::min(1.0, best.requests_per_second * best.work.value());
    answer.values = best.values;
    answer.requests_per_second = best.requests_per_second;
    answer.output_tokens_per_second =
        best.requests_per_second *
        (prefill() ? 1 : static_cast<double>(question_.shape.output_tokens));
    return answer;
  }

 private:
  bool prefill() const { return engine_.role() == ServingRole::kPrefill; }

  // Prompts in one pass of a rank; where one takes several, one a rank.
  int64_t Most() const {
    if (!prefill()) {
      return MostSequences(engine_, question_.shape, question_.gain);
    }
    const int64_t budget = engine_.limits().max_batched_tokens;
    const int64_t each = question_.shape.computed_tokens();
    return engine_.data_ranks() *
           std::clamp<int64_t>(budget / each, 1,
                               engine_.limits().max_sequences);
  }

  // Prompts run together, and nothing beside them.
  Candidate PromptsOf(int64_t batch) const {
    const int64_t tokens = question_.shape.computed_tokens();
    const ServedForm& form = requests_.form();
    ServedPassTimes passes;
    if (requests_.passes().prompt_passes() == 1) {
      const RequestGroup prompts{Role::kPrefill, batch, tokens,
                                 question_.shape.cached_tokens()};
      passes.prompt_alone = requests_.batches().Time(0, &prompts, timer_);
    } else {
      passes.prompt_alone = static_cast<double>(engine_.data_ranks()) *
                            requests_.passes().At(1, timer_).prompt_alone;
    }
    passes.prompt = passes.prompt_alone;
    const auto size = static_cast<double>(batch);
    return {TimesOf(form, 1, 1, passes).values,
            size / passes.prompt_alone.value(), passes.prompt_alone / size};
  }

  Candidate CandidateOf(int64_t batch) const {
    if (prefill()) return PromptsOf(batch);
    const auto size = static_cast<double>(batch);
    const ServedForm& form = requests_.form();
    const ServedPassTimes passes = requests_.passes().At(batch, timer_);
    const ServedTimes times = TimesOf(form, size, size, passes);
    const double decodes = form.output_tokens / form.tokens_per_pass / size;
    return {times.values, RequestRate(form, size, times),
            decodes * passes.decode + passes.prompt};
  }

  void SetLimit(const Candidate& best, CapacityAnswer& answer) const {
    SloValues values = best.values;
    if (answer.meets_slo) {
      if (answer.batch == Most()) {
        answer.limit = prefill() || Most() == engine_.max_batch()
                           ? BatchLimit::kEngine
                           : BatchLimit::kKvBudget;
        return;
      }
      values = CandidateOf(answer.batch + 1).values;
      if (Meets(question_.slo, values)) return;
    }
    answer.limit = BatchLimit::kSlo;
    const auto tightest = TightestMargin(question_.slo, values);
    if (tightest.has_value() && tightest->headroom < Seconds::Zero()) {
      answer.broken_target = tightest->target;
    }
  }

  double CostOf(const Candidate& candidate) const {
    return question_.objective == CapacityObjective::kThroughput
               ? 1 / candidate.requests_per_second
               : LatencyOf(candidate.values).value();
  }

  double LeastCost(int64_t first, int64_t last, const Slo& slo) const {
    if (prefill()) return 0;
    const auto passes = requests_.passes().Over(first, last);
    if (!passes.has_value()) return 0;
    const ServedTimes least =
        TimesOver(requests_.form(), static_cast<double>(first),
                  static_cast<double>(last), *passes)
            .least;
    if (!Meets(slo, least.values)) return kInfinity;
    return CostOf(
        {least.values,
         RequestRate(requests_.form(), static_cast<double>(last), least),
         Seconds::Zero()});
  }

  // 0 where none meets the targets.
  int64_t Best(const Slo& slo) {
    const auto cost = [&](int64_t batch) {
      ++looked_at_;
      const Candidate candidate = CandidateOf(batch);
      return Meets(slo, candidate.values) ? CostOf(candidate) : kInfinity;
    };
    const auto least_cost = [&](int64_t first, int64_t last) {
      return LeastCost(first, last, slo);
    };
    return CheapestBatch(cost, least_cost,
                         question_.objective == CapacityObjective::kThroughput)
        .Find(1, Most(), kInfinity);
  }

  const ServingEngine& engine_;
  const CapacityQuestion& question_;
  StepTimer& timer_;
  RequestLoad requests_;
  int64_t looked_at_ = 0;
};

}  // namespace

void CheckCapacityQuestion(const ServingEngine* engine,
                           const CapacityQuestion& question,
                           Violations& violations) {
  CheckRequest(engine, question.shape, question.gain, violations);
  const Violations::Scope scope(violations, "slo");
  CheckSlo(question.slo, violations);
}

std::optional<CapacityAnswer> FindCapacity(const ServingEngine& engine,
                                           const CapacityQuestion& question,
                                           StepTimer& timer,
                                           Violations& violations) {
  const size_t before = violations.all().size();
  CheckCapacityQuestion(&engine, question, violations);
  if (violations.all().size() != before) return std::nullopt;
  return Search(engine, question, timer).Run();
}

}  // namespace mansard::model
