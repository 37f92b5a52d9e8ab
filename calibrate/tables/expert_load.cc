#include "calibrate/tables/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace mansard::calibrate {
namespace {

constexpr int kDraws = 12;

using Counts = std::vector<int64_t>;  // Rows by expert.

class PowerLaw {
 public:
  PowerLaw(const ExpertLayer& layer, double exponent)
      : layer_(layer),
        held_(static_cast<size_t>(layer.experts / layer.ranks)),
        power_(1 - exponent) {}

  ExpertLoad Draw(std::mt19937& random) const {
    Counts counts = Round(Weights(random));
    // What the bound cuts off, and what rounding left.
    for (int64_t& count : counts) count = std::min(count, layer_.tokens);
    const int64_t rows = layer_.tokens * layer_.per_token;
    const int64_t missing =
        rows - std::accumulate(counts.begin(), counts.end(), int64_t{0});
    Spread(missing, counts);
    return LoadOf(counts, BusiestRank(counts));
  }

 private:
  std::vector<double> Weights(std::mt19937& random) const {
    const bool many = layer_.tokens * layer_.per_token > layer_.experts;
    const double least = std::pow(many ? 1 : 0.01, power_);
    const double most =
        std::pow(many ? 0.8 * static_cast<double>(layer_.tokens) : 2, power_);
    std::vector<double> weights(static_cast<size_t>(layer_.experts));
    for (double& weight : weights) {
      // The standard's distributions differ between libraries.
      const double share = static_cast<double>(random()) / 4294967296.0;
      weight = std::pow((most - least) * share + least, 1 / power_);
    }
    return weights;
  }

  Counts Round(const std::vector<double>& weights) const {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double rows =
        static_cast<double>(layer_.tokens) * layer_.per_token / sum;
    Counts counts;
    for (const double weight : weights) {
      counts.push_back(std::llround(weight * rows));
    }
    return counts;
  }

  // As evenly as can be over the ranks: each gives to the experts that have
  // least, or takes from those that have most.
  void Spread(int64_t missing, Counts& counts) const {
    const int64_t step = missing > 0 ? 1 : -1;
    const int64_t part = std::max<int64_t>(1, std::abs(missing) / 4096);
    int64_t left = std::abs(missing);
    for (size_t rank = 0; left > 0; ++rank) {
      const auto first = counts.begin() +
                         static_cast<std::ptrdiff_t>(
                             rank % static_cast<size_t>(layer_.ranks) * held_);
      const auto last = first + static_cast<std::ptrdiff_t>(held_);
      const auto expert = missing > 0 ? std::min_element(first, last)
                                      : std::max_element(first, last);
      const int64_t moved = std::min(
          {part, left, missing > 0 ? layer_.tokens - *expert : *expert});
      *expert += step * moved;
      left -= moved;
    }
  }

  size_t BusiestRank(const Counts& counts) const {
    size_t busiest = 0;
    int64_t most = -1;
    for (size_t first = 0; first < counts.size(); first += held_) {
      const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(first);
      const int64_t rows = std::accumulate(
          begin, begin + static_cast<std::ptrdiff_t>(held_), int64_t{0});
      if (rows > most) busiest = first;
      most = std::max(most, rows);
    }
    return busiest;
  }

  // Of the experts from `first` on. Pairs are dealt to tokens in turn, experts
  // with most rows first, so that no token has an expert twice.
  ExpertLoad LoadOf(const Counts& counts, size_t first) const {
    std::vector<size_t> order(counts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return counts[a] > counts[b]; });
    ExpertLoad load;
    std::vector<std::pair<int64_t, int64_t>> dealt;
    int64_t next = 0;
    for (const size_t expert : order) {
      const int64_t begin = next % layer_.tokens;
      next += counts[expert];
      if (expert < first || expert >= first + held_ || counts[expert] == 0) {
        continue;
      }
      load.rows += static_cast<double>(counts[expert]);
      load.experts += 1;
      const int64_t end = begin + counts[expert];
      dealt.emplace_back(begin, std::min(end, layer_.tokens));
      if (end > layer_.tokens) dealt.emplace_back(0, end - layer_.tokens);
    }
    load.tokens = static_cast<double>(Covered(std::move(dealt)));
    return load;
  }

  static int64_t Covered(std::vector<std::pair<int64_t, int64_t>> intervals) {
    std::sort(intervals.begin(), intervals.end());
    int64_t covered = 0;
    int64_t end = 0;
    for (const auto& [from, to] : intervals) {
      covered += std::max<int64_t>(0, to - std::max(from, end));
      end = std::max(end, to);
    }
    return covered;
  }

  const ExpertLayer& layer_;
  const size_t held_;  // Experts of a rank.
  const double power_;
};

}  // namespace

ExpertLoad EvenLoad(const ExpertLayer& layer) {
  const int64_t stride =
      (layer.experts + layer.per_token - 1) / layer.per_token;
  const int64_t held = layer.experts / layer.ranks;
  ExpertLoad load;
  std::vector<bool> seen(static_cast<size_t>(held));
  // From there on, tokens repeat themselves.
  const int64_t different = std::min<int64_t>(layer.tokens, layer.experts);
  for (int64_t token = 0; token < different; ++token) {
    const double same = static_cast<double>(
        (layer.tokens - token + layer.experts - 1) / layer.experts);
    const int64_t begin =
        layer.tokens >= stride ? token : token * stride / layer.tokens;
    double rows = 0;
    for (int64_t i = 0; i < layer.per_token; ++i) {
      const int64_t expert = (begin + i * stride) % layer.experts;
      if (expert >= held) continue;
      rows += same;
      seen[static_cast<size_t>(expert)] = true;
    }
    load.rows += rows;
    if (rows > 0) load.tokens += same;
  }
  load.experts =
      static_cast<double>(std::count(seen.begin(), seen.end(), true));
  return load;
}

ExpertLoad RandomLoad(const ExpertLayer& layer) {
  const double tokens = static_cast<double>(layer.tokens);
  const double per_token = layer.per_token;
  const double held = static_cast<double>(layer.experts) / layer.ranks;
  ExpertLoad load;
  load.rows = tokens * per_token / layer.ranks;
  load.experts = held * (1 - std::pow(1 - per_token / layer.experts, tokens));
  load.tokens = tokens * (1 - std::pow(1 - 1.0 / layer.ranks, per_token));
  return load;
}

ExpertLoad PowerLawLoad(const ExpertLayer& layer, double exponent) {
  std::mt19937 random(20240229);
  const PowerLaw law(layer, exponent);
  ExpertLoad mean;
  for (int i = 0; i < kDraws; ++i) {
    const ExpertLoad load = law.Draw(random);
    mean.rows += load.rows;
    mean.experts += load.experts;
    mean.tokens += load.tokens;
  }
  mean.rows /= kDraws;
  mean.experts /= kDraws;
  mean.tokens /= kDraws;
  return mean;
}

}  // namespace mansard::calibrate
