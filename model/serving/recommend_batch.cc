#include "model/serving/recommend_batch.h"

#include <algorithm>

#include "model/serving/batch_search.h"
#include "model/serving/served_passes.h"

namespace mansard::model {
namespace {

// The prompts that every pass carries, as one group; empty: none.
std::optional<RequestGroup> CarriedOf(const ServingEngine& engine,
                                      int64_t tokens) {
  if (tokens == 0) return std::nullopt;
  const int64_t ranks = std::min(tokens, engine.data_ranks());
  return RequestGroup{Role::kPrefill, ranks, (tokens + ranks - 1) / ranks, 0};
}

class Recommendation {
 public:
  Recommendation(const ServingEngine& engine, const BatchQuestion& question,
                 StepTimer& timer)
      : engine_(engine),
        question_(question),
        timer_(timer),
        batches_(engine, question.contexts,
                 {question.draft_tokens, question.modules_draft}),
        carried_(CarriedOf(engine, question.prefill_tokens)),
        tokens_per_pass_(TokensPerPass(question.draft_tokens,
                                       question.acceptance_rate.value_or(0))) {
    if (!question.shape.has_value()) return;
    served_.emplace(batches_, *question.shape, timer);
    form_ = served_->FormOf(tokens_per_pass_);
  }

  BatchAnswer Run() {
    const int64_t most = MostOfEngine();
    const int64_t failing = FirstFailing(
        1, most, [this](int64_t batch) { return Fails(batch); },
        [this](int64_t first, int64_t last) { return NoneFails(first, last); });
    BatchAnswer answer;
    answer.batch = failing - 1;
    answer.batches_looked_at = looked_at_;
    SetLimit(failing, most, answer);
    Describe(answer);
    return answer;
  }

  bool IsQuick() const {
    return batches_.TimeRange(1, 1, carried()).has_value();
  }

 private:
  const RequestGroup* carried() const {
    return carried_.has_value() ? &*carried_ : nullptr;
  }

  // What sequences and the token budget allow.
  int64_t MostOfEngine() const {
    const int64_t ranks = engine_.data_ranks();
    const int64_t left = engine_.limits().max_batched_tokens -
                         (question_.prefill_tokens + ranks - 1) / ranks;
    return std::min({engine_.max_batch(), ForwardPass::kMaxRequests,
                     ranks * (left / batches_.new_tokens())});
  }

  SloValues ValuesOf(int64_t batch) const {
    SloValues values;
    if (served_.has_value()) {
      const auto size = static_cast<double>(batch);
      values = TimesOf(form_, size, size, served_->At(batch, timer_)).values;
      if (!carried_.has_value()) return values;
    }
    const Seconds pass = batches_.Time(batch, carried(), timer_);
    values.inter_token_latency = pass;
    if (!served_.has_value()) {
      values.time_per_output_token = pass / tokens_per_pass_;
    }
    return values;
  }

  // Empty: not known.
  std::optional<SloValues> MostValuesOf(int64_t first, int64_t last) const {
    SloValues values;
    if (served_.has_value()) {
      const auto passes = served_->Over(first, last);
      if (!passes.has_value()) return std::nullopt;
      values = TimesOver(form_, static_cast<double>(first),
                         static_cast<double>(last), *passes)
                   .most.values;
      if (!carried_.has_value()) return values;
    }
    const auto pass = batches_.TimeRange(first, last, carried());
    if (!pass.has_value()) return std::nullopt;
    values.inter_token_latency = pass->most;
    if (!served_.has_value()) {
      values.time_per_output_token = pass->most / tokens_per_pass_;
    }
    return values;
  }

  bool Fails(int64_t batch) {
    ++looked_at_;
    return !batches_.HasRoom(batch, question_.free_kv_tokens) ||
           (!question_.slo.empty() && !Meets(question_.slo, ValuesOf(batch)));
  }

  bool NoneFails(int64_t first, int64_t last) const {
    if (!batches_.AllHaveRoom(last, question_.free_kv_tokens)) return false;
    if (question_.slo.empty()) return true;
    const std::optional<SloValues> most = MostValuesOf(first, last);
    return most.has_value() && Meets(question_.slo, *most);
  }

  void SetLimit(int64_t failing, int64_t most, BatchAnswer& answer) const {
    if (failing > most) {
      answer.limit = BatchLimit::kEngine;
      return;
    }
    if (question_.slo.empty()) {
      answer.limit = BatchLimit::kKvBudget;
      return;
    }
    const SloValues values = ValuesOf(failing);
    if (Meets(question_.slo, values)) {
      answer.limit = BatchLimit::kKvBudget;
      return;
    }
    answer.limit = BatchLimit::kSlo;
    answer.broken_target = TightestMargin(question_.slo, values)->target;
    answer.next_batch_time = values[*answer.broken_target];
  }

  void Describe(BatchAnswer& answer) const {
    const int64_t batch = std::max<int64_t>(1, answer.batch);
    answer.tokens_per_pass = tokens_per_pass_;
    answer.step = engine_.Step(*batches_.PassOf(batch, carried()), timer_);
    answer.values = ValuesOf(batch);
    answer.headroom = TightestMargin(question_.slo, answer.values);
    if (answer.batch == 0) return;
    const auto size = static_cast<double>(batch);
    answer.output_tokens_per_second =
        size * tokens_per_pass_ / answer.step.time.value();
    if (!served_.has_value()) return;
    const ServedTimes times =
        TimesOf(form_, size, size, served_->At(batch, timer_));
    answer.output_tokens_per_second =
        RequestRate(form_, size, times) * form_.output_tokens;
  }

  const ServingEngine& engine_;
  const BatchQuestion& question_;
  StepTimer& timer_;
  DecodeBatches batches_;
  std::optional<RequestGroup> carried_;
  double tokens_per_pass_;
  std::optional<ServedPasses> served_;
  ServedForm form_;
  int64_t looked_at_ = 0;
};

}  // namespace

std::optional<BatchAnswer> RecommendBatch(const ServingEngine& engine,
                                          const BatchQuestion& question,
                                          StepTimer& timer,
                                          Violations& violations) {
  const size_t before = violations.all().size();
  CheckQuestion(&engine, question, violations);
  if (violations.all().size() != before) return std::nullopt;
  return Recommendation(engine, question, timer).Run();
}

bool IsQuick(const ServingEngine& engine, const BatchQuestion& question) {
  StepTimer timer;
  BatchQuestion passes = question;
  passes.shape.reset();
  return Recommendation(engine, passes, timer).IsQuick();
}

}  // namespace mansard::model
