// Every batch of a question, made and timed one by one: what searches are
// compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "model/serving/recommend_batch.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {

// By the definition: the largest remainders get what rounding down leaves.
inline std::vector<int64_t> SplitByDefinition(
    int64_t batch, const model::BatchQuestion& question) {
  double sum = 0;
  for (const model::ContextShare& share : question.contexts)
    sum += share.weight;
  std::vector<int64_t> split;
  std::vector<double> remainders;
  for (const model::ContextShare& share : question.contexts) {
    const double exact = static_cast<double>(batch) * (share.weight / sum);
    split.push_back(static_cast<int64_t>(std::floor(exact + 1e-9)));
    remainders.push_back(
        std::max(0.0, exact - static_cast<double>(split.back())));
  }
  while (std::accumulate(split.begin(), split.end(), int64_t{0}) < batch) {
    const auto largest = std::max_element(remainders.begin(), remainders.end());
    ++split[static_cast<size_t>(largest - remainders.begin())];
    *largest = -1;
  }
  return split;
}

inline model::ForwardPass BatchPass(const model::ServingEngine& engine,
                                    int64_t batch,
                                    const model::BatchQuestion& question) {
  model::RequestGroups groups;
  if (question.prefill_tokens > 0) {
    const int64_t ranks =
        std::min(engine.data_ranks(), question.prefill_tokens);
    groups.push_back({model::Role::kPrefill, ranks,
                      (question.prefill_tokens + ranks - 1) / ranks, 0});
  }
  const std::vector<int64_t> split = SplitByDefinition(batch, question);
  const int64_t fresh = 1 + question.draft_tokens;
  for (size_t i = 0; i < split.size(); ++i) {
    if (split[i] == 0) continue;
    groups.push_back({model::Role::kDecode, split[i], fresh,
                      question.contexts[i].context - fresh});
  }
  return BuildPass(std::move(groups), int64_t{1} << 40);
}

// Times of all batches that the engine's limits allow, from 1.
inline std::vector<double> ScanTimes(const model::ServingEngine& engine,
                                     const model::BatchQuestion& question) {
  model::StepTimer timer;
  std::vector<double> times;
  for (int64_t batch = 1; batch <= engine.max_batch(); ++batch) {
    const model::ForwardPass pass = BatchPass(engine, batch, question);
    const int64_t on_rank =
        (batch + engine.data_ranks() - 1) / engine.data_ranks() *
            (1 + question.draft_tokens) +
        (question.prefill_tokens + engine.data_ranks() - 1) /
            engine.data_ranks();
    if (on_rank > engine.limits().max_batched_tokens) break;
    times.push_back(engine.StepTime(pass, timer).value());
  }
  return times;
}

}  // namespace mansard::testing
