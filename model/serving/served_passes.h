// The passes of one request shape on one engine, at any batch.
// Internal to model/serving.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "model/serving/decode_batches.h"
#include "model/serving/served_form.h"

namespace mansard::model {

// One of the passes that a prompt is computed in.
struct PromptChunk {
  RequestGroup prompt;  // Of one request.
  double weight = 1;    // Passes that it stands for.
};
struct PromptChunks {
  int64_t passes = 1;
  absl::InlinedVector<PromptChunk, 4> looks;
};
// As few passes as the token budget allows, of equal length. Of more than
// kMostLooks passes, that many are timed, evenly spaced, each for those around
// it.
PromptChunks ChunksOf(const RequestShape& shape, int64_t token_budget);

// With data ranks each of them has a prompt of its own at the same time, as
// many as there are requests: their time is shared. Batches are 1 or more.
// `batches` outlives it.
class ServedPasses {
 public:
  ServedPasses(const DecodeBatches& batches, const RequestShape& shape,
               StepTimer& timer);

  ServedPassTimes At(int64_t batch, StepTimer& timer) const;
  // Bounds of At over all batches of the range; empty where there are none.
  std::optional<ServedPassRange> Over(int64_t first, int64_t last) const;
  // Between two batches in a straight line; below 1 as of 1.
  ServedPassTimes AtShare(double batch, StepTimer& timer) const;

  int64_t prompt_passes() const { return chunks_.passes; }
  // The form without its constants' burst share and tokens a pass.
  ServedForm FormOf(double tokens_per_pass) const;

 private:
  bool HasPrompts() const;
  bool HasDecodes() const;
  bool PromptsAreMixed() const;
  RequestGroup OnRanks(const PromptChunk& chunk, int64_t ranks) const;
  // Prompts that are computed side by side.
  int64_t RanksOf(int64_t batch) const;
  Seconds Alone(int64_t ranks, StepTimer& timer) const;

  const DecodeBatches& batches_;
  RequestShape shape_;
  PromptChunks chunks_;
  Seconds alone_;  // On all data ranks.
};

}  // namespace mansard::model
