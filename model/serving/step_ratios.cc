#include "model/serving/step_ratios.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mansard::model {
namespace {

// Which axes a phase has: new tokens and the mean positions of decodes, then of
// prompts.
constexpr int kDecodeAxes = 2;

constexpr double kShortestContext = 32;
constexpr double kFewestPromptTokens = 4;

// A sum over groups of one role.
struct RoleSums {
  double tokens = 0;
  double positions = 0;  // That all tokens attend to.

  void Add(const RequestGroup& group) {
    const auto requests = static_cast<double>(group.request_count);
    const auto fresh = static_cast<double>(group.new_tokens);
    const auto prior = static_cast<double>(group.prior_tokens);
    tokens += requests * fresh;
    // Decodes share a read of their cache.
    positions += group.role == Role::kDecode
                     ? requests * (prior + fresh)
                     : requests * fresh * (prior + (fresh + 1) / 2);
  }
  double mean_log() const { return std::log2(positions / tokens); }
};

// A prompt's part, or short prompts, whose tokens attend to `mean` positions.
RequestGroup Prompts(double tokens, double mean, int64_t ranks) {
  const auto all = static_cast<int64_t>(std::llround(tokens));
  const auto positions = static_cast<int64_t>(std::llround(mean));
  if (2 * positions >= all + 1) {
    return {Role::kPrefill, ranks, all, positions - (all + 1) / 2};
  }
  const int64_t each = std::max<int64_t>(1, 2 * positions - 1);
  return {Role::kPrefill, ranks * std::max<int64_t>(1, all / each), each, 0};
}

RequestGroup Decodes(double tokens, double context, int64_t ranks) {
  return {Role::kDecode, ranks * std::llround(tokens), 1,
          std::llround(context) - 1};
}

}  // namespace

double StepRatioTable::Axis::ValueAt(int index) const {
  return std::exp2(first + step * index);
}

StepRatioTable::Axis StepRatioTable::AxisOver(double first, double last,
                                              int count) {
  Axis axis{std::log2(first), 1, count};
  const double octaves = std::log2(std::max(first, last)) - axis.first;
  if (octaves == 0) {
    axis.count = 1;
  } else {
    axis.step = octaves / (count - 1);
  }
  return axis;
}

StepRatioTable::StepRatioTable(const Target& target,
                               const StepRatioLimits& limits)
    : ranks_(target.layout().data()) {
  const auto axes = [&](int decode, int prompt) {
    const double context = static_cast<double>(limits.context);
    return std::array<Axis, kMostAxes>{
        AxisOver(1, static_cast<double>(limits.decode_tokens), decode),
        AxisOver(std::min(kShortestContext, context), context, decode),
        AxisOver(std::min(kFewestPromptTokens,
                          static_cast<double>(limits.prompt_tokens)),
                 static_cast<double>(limits.prompt_tokens), prompt),
        AxisOver(std::min(kFewestPromptTokens, context), context, prompt)};
  };
  const auto fine = axes(9, 9);
  const auto coarse = axes(6, 6);
  Table& decode = tables_[static_cast<size_t>(Phase::kDecode)];
  decode.axes = {fine[0], fine[1]};
  decode.axis_count = kDecodeAxes;
  Table& prefill = tables_[static_cast<size_t>(Phase::kPrefill)];
  prefill.axes = {fine[2], fine[3]};
  prefill.axis_count = kMostAxes - kDecodeAxes;
  Table& mixed = tables_[static_cast<size_t>(Phase::kMixed)];
  mixed.axes = coarse;
  mixed.axis_count = kMostAxes;
  for (const Phase phase : {Phase::kDecode, Phase::kPrefill, Phase::kMixed}) {
    Fill(target, phase, tables_[static_cast<size_t>(phase)]);
  }
}

StepRatioTable::Node StepRatioTable::Estimated(const Target& target,
                                               const Point& point,
                                               Phase phase) const {
  const auto ranks = static_cast<int64_t>(ranks_);
  RequestGroups groups;
  if (phase != Phase::kDecode) {
    const size_t first = phase == Phase::kMixed ? kDecodeAxes : 0;
    groups.push_back(
        Prompts(std::exp2(point[first]), std::exp2(point[first + 1]), ranks));
  }
  if (phase != Phase::kPrefill) {
    groups.push_back(Decodes(std::exp2(point[0]), std::exp2(point[1]), ranks));
  }
  Violations none;
  const auto pass = ForwardPass::Create(
      std::move(groups), std::numeric_limits<int64_t>::max() / 4, none);
  const Estimate estimate = EstimatePass(target, *pass);
  const PhaseEstimate& step = estimate.phase;
  Node node;
  node.p10 = static_cast<float>(std::min(1.0, step.p10 / step.estimate));
  node.p90 = static_cast<float>(std::max(1.0, step.p90 / step.estimate));
  for (size_t i = 0; i < node.bounds.size(); ++i) {
    node.bounds[i] = static_cast<float>(step.bound_times[i] / step.estimate);
  }
  node.tier = step.tier;
  node.extrapolated =
      std::any_of(estimate.times.begin(), estimate.times.end(),
                  [](const OpTime& time) { return time.extrapolated; });
  return node;
}

void StepRatioTable::Fill(const Target& target, Phase phase, Table& table) {
  size_t nodes = 1;
  for (int axis = 0; axis < table.axis_count; ++axis) {
    nodes *= static_cast<size_t>(table.axes[static_cast<size_t>(axis)].count);
  }
  table.nodes.reserve(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    Point point = {};
    size_t rest = i;
    for (int axis = table.axis_count - 1; axis >= 0; --axis) {
      const Axis& mine = table.axes[static_cast<size_t>(axis)];
      const auto count = static_cast<size_t>(mine.count);
      point[static_cast<size_t>(axis)] =
          mine.first + mine.step * static_cast<double>(rest % count);
      rest /= count;
    }
    table.nodes.push_back(Estimated(target, point, phase));
  }
}

StepRatios StepRatioTable::Interpolate(const Table& table, const Point& point) {
  std::array<size_t, kMostAxes> below = {};
  std::array<double, kMostAxes> share = {};
  size_t nearest = 0;
  StepRatios ratios;
  for (size_t i = 0; i < static_cast<size_t>(table.axis_count); ++i) {
    const Axis& axis = table.axes[i];
    const double last = axis.count - 1;
    const double place = (point[i] - axis.first) / axis.step;
    ratios.extrapolated |= place > last + 1e-9;
    const double inside = std::clamp(place, 0.0, last);
    below[i] = static_cast<size_t>(std::min(inside, std::max(0.0, last - 1)));
    share[i] = inside - static_cast<double>(below[i]);
    nearest = nearest * static_cast<size_t>(axis.count) +
              static_cast<size_t>(std::lround(inside));
  }
  double p10 = 0;
  double p90 = 0;
  std::array<double, kBoundCount> bounds = {};
  ratios.tier = Tier::kCalibrated;
  for (unsigned corner = 0; corner < 1U << table.axis_count; ++corner) {
    double weight = 1;
    size_t index = 0;
    for (size_t i = 0; i < static_cast<size_t>(table.axis_count); ++i) {
      const bool upper = (corner >> i & 1U) != 0;
      weight *= upper ? share[i] : 1 - share[i];
      index = index * static_cast<size_t>(table.axes[i].count) + below[i] +
              (upper ? 1 : 0);
    }
    if (weight == 0) continue;
    const Node& node = table.nodes[index];
    p10 += weight * node.p10;
    p90 += weight * node.p90;
    for (size_t i = 0; i < bounds.size(); ++i) {
      bounds[i] += weight * node.bounds[i];
    }
    ratios.tier = std::min(ratios.tier, node.tier);
  }
  ratios.p10 = std::min(1.0, p10);
  ratios.p90 = std::max(1.0, p90);
  ratios.bound = static_cast<Bound>(
      std::max_element(bounds.begin(), bounds.end()) - bounds.begin());
  ratios.extrapolated |= table.nodes[nearest].extrapolated;
  return ratios;
}

StepRatios StepRatioTable::At(const ForwardPass& pass) const {
  RoleSums decodes;
  RoleSums prompts;
  for (const RequestGroup& group : pass.groups()) {
    (group.role == Role::kDecode ? decodes : prompts).Add(group);
  }
  const auto tokens_log = [this](const RoleSums& sums) {
    return std::log2(std::max(1.0, sums.tokens / ranks_));
  };
  Point point = {};
  size_t next = 0;
  for (const RoleSums* sums : {&decodes, &prompts}) {
    if (sums->tokens == 0) continue;
    point[next++] = tokens_log(*sums);
    point[next++] = sums->mean_log();
  }
  return Interpolate(TableOf(pass.phase()), point);
}

size_t StepRatioTable::passes() const {
  size_t passes = 0;
  for (const Table& table : tables_) passes += table.nodes.size();
  return passes;
}

size_t StepRatioTable::memory_bytes() const {
  size_t bytes = sizeof(StepRatioTable);
  for (const Table& table : tables_) {
    bytes += table.nodes.capacity() * sizeof(Node);
  }
  return bytes;
}

}  // namespace mansard::model
