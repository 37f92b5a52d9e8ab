#include <algorithm>
#include <set>

#include "tests/reference/attention_counter.h"

namespace mansard::testing {

using model::CompressedAttention;
using model::RequestGroup;
using model::Role;
using model::SparseIndexer;

int64_t EntriesSeen(const RequestGroup& group, int64_t token, int64_t ratio) {
  const int64_t last = group.role == Role::kDecode ? group.context() - 1
                                                   : group.prior_tokens + token;
  int64_t entries = 0;
  for (int64_t p = 0; p <= last; ++p) {
    if (p % ratio == ratio - 1) ++entries;
  }
  return entries;
}

std::vector<int64_t> Choose(int64_t seen, int64_t top_k,
                            const std::set<int64_t>& chosen) {
  std::vector<int64_t> choice, others;
  for (int64_t e = 0; e < seen; ++e) {
    (chosen.count(e) == 0 ? choice : others).push_back(e);
  }
  choice.insert(choice.end(), others.begin(), others.end());
  if (top_k != 0 && static_cast<int64_t>(choice.size()) > top_k) {
    choice.resize(static_cast<size_t>(top_k));
  }
  return choice;
}

// On every rank whole, from inputs that are quantised already.
void AttentionCounter::Index(const SparseIndexer& indexer, int64_t query_width,
                             int64_t rotated,
                             const CompressedAttention* pooled) {
  if (indexer.heads == 0) return;
  const int64_t size = indexer.head_size;
  tally_.Gemm("index_q_proj", tokens_, indexer.heads * size, query_width,
              tally_.Of(model::LinearClass::kAttentionInput));
  if (pooled != nullptr) {
    // Values and gates of the keys, and a weight a head.
    const int64_t channels = pooled->overlap ? 2 * size : size;
    tally_.Gemm("index_k_proj", tokens_, 2 * channels + indexer.heads, hidden_,
                tally_.Of(model::LinearClass::kAttentionInput));
    Rotate("index_rope", indexer.heads, rotated);
    Pool("index_pool", *pooled, size);
  } else {
    tally_.Gemm("index_k_proj", tokens_, size + indexer.heads, hidden_,
                tally_.Of(model::LinearClass::kAttentionInput));
    // Weight and bias.
    tally_.Norm("index_k_norm", tokens_, size, false, 2);
    Rotate("index_rope", indexer.heads + 1, rotated);
  }
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) {
      IndexScores(group, indexer, pooled == nullptr ? 1 : pooled->ratio);
    }
  }
}

void AttentionCounter::IndexScores(const RequestGroup& group,
                                   const SparseIndexer& indexer,
                                   int64_t ratio) {
  ReferenceWork& scoring = tally_.Of("index_scores");
  ReferenceWork& selecting = tally_.Of("index_select");
  const auto& formats = options_.formats;
  const bool narrow = tally_.Rate(model::LinearClass::kAttentionInput) ==
                      formats.precision.kv_cache;
  const double input = narrow ? cached_ : element_;
  const double key_size = indexer.head_size;
  constexpr double kScore = 4, kPosition = 4;
  std::set<int64_t> keys;
  for (int64_t t = 0; t < group.new_tokens; ++t) {
    const int64_t seen = EntriesSeen(group, t, ratio);
    for (int64_t e = 0; e < seen; ++e) {
      keys.insert(e);
      for (int h = 0; h < indexer.heads; ++h) {
        for (int d = 0; d < indexer.head_size; ++d) ++scoring.multiply_adds;
      }
      scoring.activations_out += kScore;
      selecting.activations_in += kScore;
      if (e < indexer.top_k) selecting.activations_out += kPosition;
    }
    for (int h = 0; h < indexer.heads; ++h) {
      scoring.activations_in += key_size * input;  // The query.
      scoring.activations_in += input;             // The head's weight.
    }
    if (ratio == 1) scoring.kv_write += key_size * cached_;
  }
  int64_t prior = 0;
  for (int64_t p = 0; p < group.prior_tokens; ++p) {
    if (p % ratio == ratio - 1) ++prior;
  }
  for (int64_t e : keys) {
    if (group.role == Role::kPrefill && e >= prior) {
      scoring.activations_in += key_size * input;
    } else {
      scoring.kv_read += key_size * cached_;
    }
  }
}

}  // namespace mansard::testing
