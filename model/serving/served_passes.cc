#include "model/serving/served_passes.h"

#include <algorithm>
#include <cmath>

namespace mansard::model {

PromptChunks ChunksOf(const RequestShape& shape, int64_t token_budget) {
  constexpr int64_t kMostLooks = 16;
  const int64_t tokens = shape.computed_tokens();
  PromptChunks chunks;
  chunks.passes = (tokens + token_budget - 1) / token_budget;
  const int64_t looks = std::min(chunks.passes, kMostLooks);
  for (int64_t i = 0; i < looks; ++i) {
    // The middle one of the passes that it stands for.
    const int64_t pass = (2 * i + 1) * chunks.passes / (2 * looks);
    const int64_t begin = tokens * pass / chunks.passes;
    const int64_t end = tokens * (pass + 1) / chunks.passes;
    chunks.looks.push_back(
        {{Role::kPrefill, 1, end - begin, shape.cached_tokens() + begin},
         static_cast<double>(chunks.passes) / static_cast<double>(looks)});
  }
  return chunks;
}

ServedPasses::ServedPasses(const DecodeBatches& batches,
                           const RequestShape& shape, StepTimer& timer)
    : batches_(batches),
      shape_(shape),
      chunks_(ChunksOf(shape, batches.engine().limits().max_batched_tokens)) {
  if (HasPrompts()) alone_ = Alone(batches.engine().data_ranks(), timer);
}

bool ServedPasses::HasPrompts() const {
  return batches_.engine().role() != ServingRole::kDecode;
}

bool ServedPasses::HasDecodes() const {
  return batches_.engine().role() != ServingRole::kPrefill;
}

bool ServedPasses::PromptsAreMixed() const {
  return batches_.engine().role() == ServingRole::kAggregated &&
         batches_.engine().scheduling() == Scheduling::kMixed;
}

RequestGroup ServedPasses::OnRanks(const PromptChunk& chunk,
                                   int64_t ranks) const {
  RequestGroup group = chunk.prompt;
  group.request_count = ranks;
  return group;
}

int64_t ServedPasses::RanksOf(int64_t batch) const {
  return HasDecodes() ? std::min(batch, batches_.engine().data_ranks())
                      : batches_.engine().data_ranks();
}

Seconds ServedPasses::Alone(int64_t ranks, StepTimer& timer) const {
  Seconds sum;
  for (const PromptChunk& chunk : chunks_.looks) {
    const RequestGroup prompt = OnRanks(chunk, ranks);
    sum += chunk.weight * batches_.Time(0, &prompt, timer);
  }
  return sum / static_cast<double>(ranks);
}

ServedPassTimes ServedPasses::At(int64_t batch, StepTimer& timer) const {
  ServedPassTimes times;
  if (HasDecodes()) times.decode = batches_.Time(batch, nullptr, timer);
  if (!HasPrompts()) return times;
  const int64_t ranks = RanksOf(batch);
  times.prompt_alone =
      ranks == batches_.engine().data_ranks() ? alone_ : Alone(ranks, timer);
  times.prompt = times.prompt_alone;
  if (!PromptsAreMixed()) return times;
  Seconds sum;
  for (const PromptChunk& chunk : chunks_.looks) {
    const RequestGroup prompt = OnRanks(chunk, ranks);
    sum += chunk.weight * (batches_.Time(batch, &prompt, timer) - times.decode);
  }
  times.prompt = Max(Seconds::Zero(), sum / static_cast<double>(ranks));
  return times;
}

std::optional<ServedPassRange> ServedPasses::Over(int64_t first,
                                                  int64_t last) const {
  const int64_t ranks = RanksOf(first);
  if (ranks != RanksOf(last)) return std::nullopt;
  ServedPassRange range;
  if (HasDecodes()) {
    const auto decode = batches_.TimeRange(first, last, nullptr);
    if (!decode.has_value()) return std::nullopt;
    range.least.decode = decode->least;
    range.most.decode = decode->most;
  }
  if (!HasPrompts()) return range;
  if (ranks != batches_.engine().data_ranks()) return std::nullopt;
  for (ServedPassTimes* times : {&range.least, &range.most}) {
    times->prompt = times->prompt_alone = alone_;
  }
  if (!PromptsAreMixed()) return range;
  StepRange sum;
  for (const PromptChunk& chunk : chunks_.looks) {
    const RequestGroup prompt = OnRanks(chunk, ranks);
    const auto mixed = batches_.TimeRange(first, last, &prompt);
    if (!mixed.has_value()) return std::nullopt;
    sum.least += chunk.weight * (mixed->least - range.most.decode);
    sum.most += chunk.weight * (mixed->most - range.least.decode);
  }
  const auto share = static_cast<double>(ranks);
  range.least.prompt = Max(Seconds::Zero(), sum.least / share);
  range.most.prompt = Max(Seconds::Zero(), sum.most / share);
  return range;
}

ServedPassTimes ServedPasses::AtShare(double batch, StepTimer& timer) const {
  const double inside = std::max(1.0, batch);
  const auto below = static_cast<int64_t>(std::floor(inside));
  ServedPassTimes times = At(below, timer);
  const double share = inside - static_cast<double>(below);
  if (share == 0) return times;
  const ServedPassTimes above = At(below + 1, timer);
  const auto between = [share](Seconds& low, Seconds high) {
    low += share * (high - low);
  };
  between(times.decode, above.decode);
  between(times.prompt, above.prompt);
  between(times.prompt_alone, above.prompt_alone);
  return times;
}

ServedForm ServedPasses::FormOf(double tokens_per_pass) const {
  const ServingEngine& engine = batches_.engine();
  ServedForm form;
  form.constants = engine.constants();
  form.first_token_factor = engine.factors().first_token;
  form.scheduling = engine.scheduling();
  form.role = engine.role();
  form.input_tokens = static_cast<double>(shape_.input_tokens);
  form.output_tokens = static_cast<double>(shape_.output_tokens);
  form.tokens_per_pass = tokens_per_pass;
  form.prompt_passes = HasPrompts() ? static_cast<double>(chunks_.passes) : 0;
  form.prompts_a_pass = static_cast<double>(engine.limits().max_batched_tokens /
                                            shape_.computed_tokens());
  form.SetAdmission(engine.admission(), engine.limits().max_batched_tokens,
                    shape_.computed_tokens());
  form.layers = static_cast<double>(
      engine.target().graph().spec().layer_kind_indexes.size());
  return form;
}

}  // namespace mansard::model
