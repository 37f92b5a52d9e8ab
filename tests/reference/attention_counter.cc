#include "tests/reference/attention_counter.h"

#include <set>
#include <utility>

namespace mansard::testing {
namespace {

using model::GroupedQueryAttention;
using model::LatentAttention;
using model::RequestGroup;
using model::Role;

bool Sees(const GroupedQueryAttention& attention, int64_t position, int64_t p) {
  if (p > position) return false;
  if (attention.sliding_window != 0) {
    return position - p < attention.sliding_window;
  }
  if (attention.chunk != 0) {
    return p / attention.chunk == position / attention.chunk;
  }
  return true;
}

// A decoded token: the last positions, as many as a window or a full chunk
// holds. Drafts share one tile, masked scores included.
std::vector<int64_t> SeenByDecode(const GroupedQueryAttention& attention,
                                  int64_t context) {
  const int64_t bound = attention.sliding_window + attention.chunk;
  std::vector<int64_t> seen;
  for (int64_t p = context - 1; p >= 0; --p) {
    if (bound != 0 && static_cast<int64_t>(seen.size()) == bound) break;
    seen.push_back(p);
  }
  return seen;
}

}  // namespace

AttentionCounter::AttentionCounter(const model::ForwardPass& pass,
                                   const ReferenceOptions& options,
                                   int64_t hidden, Tally& tally)
    : pass_(pass),
      options_(options),
      hidden_(hidden),
      tokens_(pass.total_new_tokens()),
      element_(ElementSize(options.formats.hidden)),
      cached_(ElementSize(options.formats.precision.kv_cache)),
      tally_(tally) {}

std::vector<int> AttentionCounter::QueryHeads(int all) const {
  std::vector<int> mine;
  for (int q = 0; q < all; ++q) {
    if (q * options_.tensor / all == options_.rank) mine.push_back(q);
  }
  return mine;
}

void AttentionCounter::CountScores(int64_t scores, int64_t multiply_adds_each) {
  ReferenceWork& work = tally_.Of("attention");
  for (int64_t s = 0; s < scores; ++s) {
    ++work.exponentials;
    for (int64_t d = 0; d < multiply_adds_each; ++d) ++work.multiply_adds;
  }
}

// Unfused: a row of the score matrix is written and read, masked scores too,
// and so are its exponentials.
void AttentionCounter::MoveScoreRow(int64_t scores) {
  if (options_.fused_attention) return;
  ReferenceWork& work = tally_.Of("attention");
  for (int64_t s = 0; s < scores; ++s) {
    work.activations_out += 2 * element_;
    work.activations_in += 2 * element_;
  }
}

void AttentionCounter::operator()(const GroupedQueryAttention& attention) {
  const int size = attention.head_size;
  const int group_size = attention.query_heads / attention.kv_heads;
  std::set<int> kv_heads;
  int64_t query_width = 0;
  for (int q : QueryHeads(attention.query_heads)) {
    kv_heads.insert(q / group_size);
    query_width += size;
  }
  const int64_t kv_width = static_cast<int64_t>(kv_heads.size()) * size;

  tally_.Linear("qkv_proj", "attention_quantize", tokens_,
                query_width + 2 * kv_width, hidden_, attention.qkv_bias);
  if (attention.qk_norm) {
    // One scale vector for queries, one for keys.
    tally_.Move("qk_norm", tokens_, query_width + kv_width, 1, 1);
    tally_.Of("qk_norm").weights +=
        2 * size * ElementSize(options_.formats.native);
  }
  tally_.Move("rope", tokens_, query_width + kv_width, 1, 1);
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) Request(group, attention);
  }
  tally_.Linear("o_proj", "o_quantize", tokens_, hidden_, query_width,
                attention.output_bias);
}

void AttentionCounter::Request(const RequestGroup& group,
                               const GroupedQueryAttention& attention) {
  ReferenceWork& work = tally_.Of("attention");
  const int size = attention.head_size;
  const int group_size = attention.query_heads / attention.kv_heads;
  // Keys and values by head and position.
  std::set<std::pair<int, int64_t>> old, fresh;
  std::set<int> kv_heads;
  for (int q : QueryHeads(attention.query_heads)) {
    const int head = q / group_size;
    kv_heads.insert(head);
    for (int64_t t = 0; t < group.new_tokens; ++t) {
      const int64_t position = group.prior_tokens + t;
      const auto touch = [&](int64_t p) {
        (p < group.prior_tokens ? old : fresh).insert({head, p});
      };
      int64_t scores = 0;
      if (group.role == Role::kDecode) {
        const auto seen = SeenByDecode(attention, group.context());
        scores = static_cast<int64_t>(seen.size());
        touch(position);
        if (attention.sliding_window == 0) {
          for (int64_t p : seen) touch(p);
        }
      }
      for (int64_t p = 0; p <= position; ++p) {
        if (!Sees(attention, position, p)) continue;
        if (group.role == Role::kPrefill) ++scores;
        if (group.role == Role::kPrefill || attention.chunk == 0) touch(p);
      }
      CountScores(scores, 2 * size);  // Query times key, score times value.
      MoveScoreRow(group.role == Role::kDecode ? scores : group.context());
      work.activations_in += size * element_;
      work.activations_out += size * element_;
    }
  }
  const auto width = [size](size_t rows) {
    return static_cast<double>(rows) * 2 * size;
  };
  work.kv_write +=
      width(kv_heads.size()) * static_cast<double>(group.new_tokens) * cached_;
  work.kv_read += width(old.size()) * cached_;
  if (group.role == Role::kDecode) {
    work.kv_read += width(fresh.size()) * cached_;
  } else {
    work.activations_in += width(fresh.size()) * element_;
  }
}

void AttentionCounter::operator()(const LatentAttention& attention) {
  const int64_t heads =
      static_cast<int64_t>(QueryHeads(attention.query_heads).size());
  const int64_t rank = attention.kv_lora_rank;
  const int64_t rope = attention.rope_head_size;
  const int64_t key = attention.nope_head_size + rope;
  // Every rank makes the whole latent vectors.
  tally_.Linear("latent_proj", "attention_quantize", tokens_,
                attention.query_lora_rank + rank + rope, hidden_);
  tally_.Norm("kv_latent_norm", tokens_, rank, false);
  if (attention.query_lora_rank != 0) {
    tally_.Norm("q_latent_norm", tokens_, attention.query_lora_rank, false);
    tally_.Linear("q_proj", "q_quantize", tokens_, heads * key,
                  attention.query_lora_rank);
  } else {
    // From the same input as the latent vectors, quantised once.
    tally_.Gemm("q_proj", tokens_, heads * key, hidden_, tally_.Layer());
  }
  for (int64_t h = 0; h < heads; ++h) tally_.Move("rope", tokens_, rope, 1, 1);
  tally_.Move("rope", tokens_, rope, 1, 1);  // The key that heads share.

  Expand(attention, heads);
  Absorb("absorb_q", heads, rank, attention.nope_head_size);
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) {
      if (group.role == Role::kDecode) {
        Decode(group, attention, heads);
      } else {
        Prefill(group, attention, heads);
      }
    }
  }
  Absorb("absorb_v", heads, attention.value_head_size, rank);
  tally_.Linear("o_proj", "o_quantize", tokens_, hidden_,
                heads * attention.value_head_size);
}

// Keys and values of every position of every prompt in one GEMM. The prefix's
// latent vectors come from the cache, the others from this pass; narrow inputs
// are made by a quantisation that reads both.
void AttentionCounter::Expand(const LatentAttention& attention, int64_t heads) {
  int64_t rows = 0, cached_rows = 0;
  for (const RequestGroup& group : pass_.groups()) {
    if (group.role == Role::kDecode) continue;
    for (int64_t r = 0; r < group.request_count; ++r) {
      for (int64_t p = 0; p < group.context(); ++p) {
        ++rows;
        if (p < group.prior_tokens) ++cached_rows;
      }
    }
  }
  if (rows == 0) return;
  const int64_t rank = attention.kv_lora_rank;
  tally_.Quantize("kv_quantize", rows, rank);
  tally_.Gemm("kv_expand", rows,
              heads * (attention.nope_head_size + attention.value_head_size),
              rank, tally_.Layer());
  const bool narrow = ElementSize(options_.formats.precision.activations) < 2;
  ReferenceWork& reader = tally_.Of(narrow ? "kv_quantize" : "kv_expand");
  for (int64_t c = 0; c < cached_rows * rank; ++c) {
    reader.activations_in -= element_;
    reader.kv_read += cached_;
  }
}

void AttentionCounter::Absorb(const char* part, int64_t heads, int64_t outputs,
                              int64_t inputs) {
  int64_t tokens = 0;
  for (const RequestGroup& group : pass_.groups()) {
    if (group.role == Role::kDecode) tokens += group.total_new_tokens();
  }
  if (tokens == 0) return;
  Tally::Operands operands = tally_.Wide();
  operands.weights = options_.formats.precision.weights;
  for (int64_t h = 0; h < heads; ++h) {
    tally_.Gemm(part, tokens, outputs, inputs, operands);
  }
}

// Scores over latent vector and rotated key, values over the latent vector; all
// heads read the same ones.
void AttentionCounter::Decode(const RequestGroup& group,
                              const LatentAttention& attention, int64_t heads) {
  ReferenceWork& work = tally_.Of("attention");
  const int64_t rank = attention.kv_lora_rank;
  const int64_t key = rank + attention.rope_head_size;
  std::set<int64_t> positions;
  for (int64_t t = 0; t < group.new_tokens; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t p = 0; p < group.context(); ++p) {
        CountScores(1, key + rank);
        positions.insert(p);
      }
      MoveScoreRow(group.context());
      work.activations_in += static_cast<double>(key) * element_;
      work.activations_out += static_cast<double>(rank) * element_;
    }
    work.kv_write += static_cast<double>(key) * cached_;
  }
  work.kv_read += static_cast<double>(positions.size()) *
                  static_cast<double>(key) * cached_;
}

// Expanded keys and values by head, one rotated key a position for all heads.
void AttentionCounter::Prefill(const RequestGroup& group,
                               const LatentAttention& attention,
                               int64_t heads) {
  ReferenceWork& work = tally_.Of("attention");
  const int64_t rope = attention.rope_head_size;
  const int64_t value = attention.value_head_size;
  const int64_t key = attention.nope_head_size + rope;
  std::set<std::pair<int64_t, int64_t>> expanded;
  std::set<int64_t> positions;
  for (int64_t t = 0; t < group.new_tokens; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t p = 0; p <= group.prior_tokens + t; ++p) {
        CountScores(1, key + value);
        expanded.insert({h, p});
        positions.insert(p);
      }
      MoveScoreRow(group.context());
      work.activations_in += static_cast<double>(key) * element_;
      work.activations_out += static_cast<double>(value) * element_;
    }
    work.kv_write +=
        static_cast<double>(attention.kv_lora_rank + rope) * cached_;
  }
  work.activations_in +=
      static_cast<double>(static_cast<int64_t>(expanded.size()) *
                          (attention.nope_head_size + value)) *
      element_;
  for (int64_t p : positions) {
    if (p < group.prior_tokens) {
      work.kv_read += static_cast<double>(rope) * cached_;
    } else {
      work.activations_in += static_cast<double>(rope) * element_;
    }
  }
}

}  // namespace mansard::testing
