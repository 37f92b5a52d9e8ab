// Batches of sequences that decode together, one by one and as ranges.
// Internal to model/serving.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "model/estimate/engine.h"
#include "model/serving/serving_engine.h"

namespace mansard::model {

// Sequences of one length, and their part of a batch in any unit.
struct ContextShare {
  int64_t context = 0;  // Those computed in the pass included.
  double weight = 1;
};

using BatchSplit = absl::InlinedVector<int64_t, 4>;

// `batch` in whole sequences by the shares of `weights`, which sum to 1:
// rounded down, and those left over to the largest remainders, of equal ones
// the first.
void SplitBatch(int64_t batch, absl::Span<const double> weights,
                BatchSplit& split);

// Drafted tokens of each sequence that a pass verifies.
struct DecodeDrafts {
  int tokens = 0;
  // As many for the next pass are made by the graph's modules, where it has
  // any: such passes are on no curve. Else what makes them is not counted.
  bool by_modules = true;

  int64_t new_tokens() const { return 1 + tokens; }
};

// Passes of `batch` sequences with the contexts' shares, of one engine, which
// outlives it. Needs no memory of its own for a few contexts. Preconditions:
// contexts are not empty, each as long as the new tokens at least; weights are
// positive; batches are 0 to ForwardPass::kMaxRequests.
class DecodeBatches {
 public:
  DecodeBatches(const ServingEngine& engine,
                absl::Span<const ContextShare> contexts,
                const DecodeDrafts& drafts);

  // With `prompt` in front; empty where there is nothing to compute.
  std::optional<ForwardPass> PassOf(int64_t batch,
                                    const RequestGroup* prompt) const;
  // Zero where there is nothing to compute.
  Seconds Time(int64_t batch, const RequestGroup* prompt,
               StepTimer& timer) const;
  // Bounds of Time over all batches from `first`, 1 or more, to `last`;
  // rounding does not break them. Empty where the engine has no curves for
  // them.
  std::optional<StepRange> TimeRange(int64_t first, int64_t last,
                                     const RequestGroup* prompt) const;

  // Whether the sequences have room; KvRoom::Holds.
  bool HasRoom(int64_t batch, std::optional<int64_t> free_tokens) const;
  // True only where every batch up to `last` has.
  bool AllHaveRoom(int64_t last, std::optional<int64_t> free_tokens) const;

  const ServingEngine& engine() const { return engine_; }
  int64_t new_tokens() const { return drafts_.new_tokens(); }

 private:
  // No batch from `first` to `last` has fewer, or more, of any context.
  BatchSplit FewestOf(int64_t first) const;
  BatchSplit MostOf(int64_t last) const;
  std::optional<ForwardPass> PassOf(const BatchSplit& split,
                                    const RequestGroup* prompt) const;
  // Counts of the pass, but of `batch` sequences in all.
  StepCounts CountsWith(const std::optional<ForwardPass>& pass,
                        const BatchSplit& split, int64_t batch) const;

  const ServingEngine& engine_;
  absl::InlinedVector<double, 4> weights_;  // Sum to 1.
  absl::InlinedVector<int64_t, 4> contexts_;
  DecodeDrafts drafts_;
};

}  // namespace mansard::model
