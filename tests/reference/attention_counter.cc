#include "tests/reference/attention_counter.h"

#include <set>
#include <utility>

namespace mansard::testing {
namespace {

using model::CrossAttention;
using model::GroupedQueryAttention;
using model::QkNorm;
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
                                   int64_t hidden, bool norm_bias, Tally& tally)
    : pass_(pass),
      options_(options),
      hidden_(hidden),
      norm_bias_(norm_bias),
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

std::set<int> AttentionCounter::KvHeads(int query_heads, int kv_heads) const {
  std::set<int> mine;
  for (int q : QueryHeads(query_heads)) {
    mine.insert(q / (query_heads / kv_heads));
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

void AttentionCounter::NormHeads(const std::string& part, QkNorm norm,
                                 int64_t rows, int64_t query_heads,
                                 int64_t kv_heads, int64_t size) {
  if (norm == QkNorm::kNone) return;
  ReferenceWork& work = tally_.Of(part);
  tally_.Move(part, rows, (query_heads + kv_heads) * size, 1, 1);
  for (int64_t heads : {query_heads, kv_heads}) {
    if (heads == 0) continue;
    // A vector of a head's size, or of all heads' together.
    const int64_t vector = norm == QkNorm::kAllHeads ? heads * size : size;
    for (int64_t w = 0; norm != QkNorm::kUnweighted && w < vector; ++w) {
      work.weights += ElementSize(options_.formats.native);
      if (norm == QkNorm::kPerHead && norm_bias_) {
        work.weights += ElementSize(options_.formats.native);
      }
    }
    if (norm != QkNorm::kAllHeads || options_.tensor == 1) continue;
    // The ranks sum one fp32 number for each row.
    ReferenceWork& reduce = tally_.Of("qk_norm_all_reduce");
    for (int64_t r = 0; r < rows; ++r) {
      reduce.message += 4;
      reduce.activations_in += 4;
      reduce.activations_out += 4;
    }
  }
}

void AttentionCounter::Rotate(const std::string& part, int64_t heads,
                              int64_t rotated) {
  if (rotated == 0) return;
  for (int64_t h = 0; h < heads; ++h) {
    tally_.Move(part, tokens_, rotated, 1, 1);
  }
}

void AttentionCounter::Gate(int64_t columns) {
  tally_.Move("o_gate", tokens_, columns, 2, 1);
  for (int64_t e = 0; e < tokens_ * columns; ++e) {
    ++tally_.Of("o_gate").exponentials;
  }
}

void AttentionCounter::Sinks(int64_t heads) {
  for (size_t g = 0; g < pass_.groups().size(); ++g) {
    for (int64_t h = 0; h < heads; ++h) {
      tally_.Of("attention").weights += ElementSize(options_.formats.native);
    }
  }
}

void AttentionCounter::operator()(const GroupedQueryAttention& attention) {
  const int size = attention.head_size;
  const int value = attention.value_size();
  int64_t projected = 0, query_heads = 0, kv_heads = 0, output = 0;
  for (size_t q = 0; q < QueryHeads(attention.query_heads).size(); ++q) {
    ++query_heads;
    output += value;
    projected += size + (attention.output_gate ? value : 0);
  }
  for (size_t h = 0;
       h < KvHeads(attention.query_heads, attention.kv_heads).size(); ++h) {
    if (attention.shared_kv) continue;
    ++kv_heads;
    projected += size + (attention.value_from_key ? 0 : value);
  }
  tally_.Linear(model::LinearClass::kAttentionInput, "qkv_proj",
                "attention_quantize", tokens_, projected, hidden_,
                attention.qkv_bias);
  NormHeads("qk_norm", attention.qk_norm, tokens_, query_heads, kv_heads, size);
  Rotate("rope", query_heads + kv_heads, size - attention.nope_head_size);
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) Request(group, attention);
  }
  if (attention.sinks) Sinks(query_heads);
  if (attention.output_gate) Gate(output);
  tally_.Linear(model::LinearClass::kAttentionOutput, "o_proj", "o_quantize",
                tokens_, hidden_, output, attention.output_bias);
}

void AttentionCounter::Request(const RequestGroup& group,
                               const GroupedQueryAttention& attention) {
  ReferenceWork& work = tally_.Of("attention");
  const int size = attention.head_size;
  const int value = attention.value_size();
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
      // Query times key, score times value.
      CountScores(scores, size + value);
      MoveScoreRow(group.role == Role::kDecode ? scores : group.context());
      work.activations_in += size * element_;
      work.activations_out += value * element_;
    }
  }
  const auto width = [&](size_t rows) {
    return static_cast<double>(rows) * (size + value);
  };
  work.kv_read += width(old.size()) * cached_;
  // Another layer made them, and keeps them.
  if (attention.shared_kv) {
    work.kv_read += width(fresh.size()) * cached_;
    return;
  }
  work.kv_write +=
      width(kv_heads.size()) * static_cast<double>(group.new_tokens) * cached_;
  if (group.role == Role::kDecode) {
    work.kv_read += width(fresh.size()) * cached_;
  } else {
    work.activations_in += width(fresh.size()) * element_;
  }
}

void AttentionCounter::operator()(const CrossAttention& attention) {
  const int64_t size = attention.head_size;
  const auto query_heads =
      static_cast<int64_t>(QueryHeads(attention.query_heads).size());
  const auto kv_heads = static_cast<int64_t>(
      KvHeads(attention.query_heads, attention.kv_heads).size());
  tally_.Linear(model::LinearClass::kAttentionInput, "q_proj",
                "attention_quantize", tokens_, query_heads * size, hidden_);
  NormHeads("qk_norm", attention.qk_norm, tokens_, query_heads, 0, size);
  // A prompt's first tokens bring the encoder's positions.
  int64_t rows = 0;
  for (const RequestGroup& group : pass_.groups()) {
    if (group.role == Role::kDecode || group.prior_tokens > 0) continue;
    for (int64_t r = 0; r < group.request_count; ++r) {
      for (int64_t p = 0; p < group.encoder_tokens; ++p) ++rows;
    }
  }
  if (rows > 0) {
    tally_.Quantize("kv_quantize", model::LinearClass::kAttentionInput, rows,
                    hidden_);
    tally_.Gemm("encoder_kv_proj", rows, 2 * kv_heads * size, hidden_,
                tally_.Of(model::LinearClass::kAttentionInput));
    NormHeads("encoder_k_norm", attention.qk_norm, rows, 0, kv_heads, size);
  }
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) Request(group, attention);
  }
  tally_.Linear(model::LinearClass::kAttentionOutput, "o_proj", "o_quantize",
                tokens_, hidden_, query_heads * size);
}

void AttentionCounter::Request(const RequestGroup& group,
                               const CrossAttention& attention) {
  if (group.encoder_tokens == 0) return;
  ReferenceWork& work = tally_.Of("attention");
  const int size = attention.head_size;
  for (size_t q = 0; q < QueryHeads(attention.query_heads).size(); ++q) {
    for (int64_t t = 0; t < group.new_tokens; ++t) {
      CountScores(group.encoder_tokens, 2 * size);
      MoveScoreRow(group.encoder_tokens);
      work.activations_in += size * element_;
      work.activations_out += size * element_;
    }
  }
  for (size_t h = 0;
       h < KvHeads(attention.query_heads, attention.kv_heads).size(); ++h) {
    for (int64_t p = 0; p < group.encoder_tokens; ++p) {
      if (group.role == Role::kPrefill && group.prior_tokens == 0) {
        work.activations_in += 2 * size * element_;
        work.kv_write += 2 * size * cached_;
      } else {
        work.kv_read += 2 * size * cached_;
      }
    }
  }
}

}  // namespace mansard::testing
