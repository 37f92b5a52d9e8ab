#include "model/serving/decode_batches.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace mansard::model {
namespace {

// A share that rounding left just below a whole number is that number.
constexpr double kWhole = 1e-9;
// Above what sums of rounded times differ by.
constexpr double kRounding = 1e-9;

int64_t WholePart(int64_t batch, double weight) {
  return static_cast<int64_t>(
      std::floor(static_cast<double>(batch) * weight + kWhole));
}

int64_t Sum(const BatchSplit& split) {
  return std::accumulate(split.begin(), split.end(), int64_t{0});
}

}  // namespace

void SplitBatch(int64_t batch, absl::Span<const double> weights,
                BatchSplit& split) {
  split.assign(weights.size(), 0);
  if (weights.size() == 1) {
    split[0] = batch;
    return;
  }
  absl::InlinedVector<std::pair<double, size_t>, 8> remainders;
  int64_t left = batch;
  for (size_t i = 0; i < weights.size(); ++i) {
    split[i] = WholePart(batch, weights[i]);
    left -= split[i];
    const double over =
        static_cast<double>(batch) * weights[i] - static_cast<double>(split[i]);
    // Ascending order puts the largest first, and the first of equal ones.
    remainders.push_back({-std::max(0.0, over), i});
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; left > 0; --left) ++split[remainders[i++].second];
}

DecodeBatches::DecodeBatches(const ServingEngine& engine,
                             absl::Span<const ContextShare> contexts,
                             const DecodeDrafts& drafts)
    : engine_(engine), drafts_(drafts) {
  double sum = 0;
  for (const ContextShare& share : contexts) sum += share.weight;
  for (const ContextShare& share : contexts) {
    weights_.push_back(share.weight / sum);
    contexts_.push_back(share.context);
  }
}

BatchSplit DecodeBatches::FewestOf(int64_t first) const {
  BatchSplit split;
  if (weights_.size() == 1) return {first};
  for (const double weight : weights_) {
    split.push_back(WholePart(first, weight));
  }
  return split;
}

BatchSplit DecodeBatches::MostOf(int64_t last) const {
  BatchSplit split;
  if (weights_.size() == 1) return {last};
  for (const double weight : weights_) {
    split.push_back(std::min(last, WholePart(last, weight) + 1));
  }
  return split;
}

std::optional<ForwardPass> DecodeBatches::PassOf(
    const BatchSplit& split, const RequestGroup* prompt) const {
  RequestGroups groups;
  if (prompt != nullptr) groups.push_back(*prompt);
  bool decodes = false;
  for (size_t i = 0; i < split.size(); ++i) {
    if (split[i] == 0) continue;
    decodes = true;
    groups.push_back(
        {Role::kDecode, split[i], new_tokens(), contexts_[i] - new_tokens()});
  }
  if (groups.empty()) return std::nullopt;
  Violations none;
  std::optional<ForwardPass> pass = ForwardPass::Create(
      std::move(groups), std::numeric_limits<int64_t>::max() / 4, none);
  const int modules = engine_.target().graph().spec().mtp.modules;
  if (pass.has_value() && decodes && drafts_.tokens > 0 && drafts_.by_modules &&
      modules > 0) {
    return pass->WithDrafting({.draft_tokens = drafts_.tokens}, modules, none);
  }
  return pass;
}

std::optional<ForwardPass> DecodeBatches::PassOf(
    int64_t batch, const RequestGroup* prompt) const {
  BatchSplit split;
  SplitBatch(batch, weights_, split);
  return PassOf(split, prompt);
}

Seconds DecodeBatches::Time(int64_t batch, const RequestGroup* prompt,
                            StepTimer& timer) const {
  const std::optional<ForwardPass> pass = PassOf(batch, prompt);
  return pass.has_value() ? engine_.StepTime(*pass, timer) : Seconds::Zero();
}

StepCounts DecodeBatches::CountsWith(const std::optional<ForwardPass>& pass,
                                     const BatchSplit& split,
                                     int64_t batch) const {
  StepCounts counts;
  if (pass.has_value()) {
    counts = CountsOf(*pass, engine_.target().layout());
  }
  const int64_t off = batch - Sum(split);
  counts.expert_tokens += off * new_tokens();
  if (engine_.data_ranks() > 1) return counts;
  // On one rank, not only of all of them, is the whole known better than its
  // parts.
  counts.tokens += off * new_tokens();
  counts.decode_tokens += off * new_tokens();
  counts.logits += off * new_tokens();
  counts.requests += off;
  counts.states_read += off;
  return counts;
}

std::optional<StepRange> DecodeBatches::TimeRange(
    int64_t first, int64_t last, const RequestGroup* prompt) const {
  const BatchSplit fewest = FewestOf(first);
  const BatchSplit most = MostOf(last);
  const std::optional<ForwardPass> least_pass = PassOf(fewest, prompt);
  const std::optional<ForwardPass> most_pass = PassOf(most, prompt);
  if (!most_pass.has_value()) return std::nullopt;
  StepCounts least = CountsWith(least_pass, fewest, first);
  const StepCounts greatest = CountsWith(most_pass, most, last);
  least.phase = greatest.phase;
  const std::optional<StepRange> range = engine_.engine().RangeOf(
      least, least_pass.has_value() ? &*least_pass : nullptr, greatest,
      *most_pass);
  if (!range.has_value()) return std::nullopt;
  const double factor = engine_.factors().step;
  return StepRange{(1 - kRounding) * factor * range->least,
                   (1 + kRounding) * factor * range->most};
}

bool DecodeBatches::HasRoom(int64_t batch,
                            std::optional<int64_t> free_tokens) const {
  const std::optional<ForwardPass> pass = PassOf(batch, nullptr);
  return !pass.has_value() || engine_.room().Holds(*pass, free_tokens);
}

bool DecodeBatches::AllHaveRoom(int64_t last,
                                std::optional<int64_t> free_tokens) const {
  const std::optional<ForwardPass> pass = PassOf(MostOf(last), nullptr);
  return !pass.has_value() || engine_.room().Holds(*pass, free_tokens);
}

}  // namespace mansard::model
