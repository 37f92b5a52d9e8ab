#include <set>
#include <utility>

#include "tests/reference/attention_counter.h"

namespace mansard::testing {

using model::LatentAttention;
using model::RequestGroup;
using model::Role;

void AttentionCounter::operator()(const LatentAttention& attention) {
  const int64_t heads =
      static_cast<int64_t>(QueryHeads(attention.query_heads).size());
  const int64_t rank = attention.kv_lora_rank;
  const int64_t rope = attention.rope_head_size;
  const int64_t key = attention.nope_head_size + rope;
  // Every rank makes the whole latent vectors.
  tally_.Linear(model::LinearClass::kAttentionInput, "latent_proj",
                "attention_quantize", tokens_,
                attention.query_lora_rank + rank + rope, hidden_,
                attention.bias);
  tally_.Norm("kv_latent_norm", tokens_, rank, false);
  int64_t query_width = hidden_;
  if (attention.query_lora_rank != 0) {
    query_width = attention.query_lora_rank;
    tally_.Norm("q_latent_norm", tokens_, query_width, false);
    tally_.Linear(model::LinearClass::kAttentionInput, "q_proj", "q_quantize",
                  tokens_, heads * key, query_width);
  } else {
    // From the same input as the latent vectors, quantised once.
    tally_.Gemm("q_proj", tokens_, heads * key, hidden_,
                tally_.Of(model::LinearClass::kAttentionInput));
  }
  const int64_t rotated = attention.unrotated ? 0 : rope;
  Rotate("rope", heads + 1, rotated);  // And the key that heads share.

  const bool chosen = attention.indexer.has_value();
  if (chosen) Index(*attention.indexer, query_width, rotated, nullptr);
  if (!chosen) Expand(attention, heads);
  int64_t absorbed = 0;
  for (const RequestGroup& group : pass_.groups()) {
    if (chosen || group.role == Role::kDecode) {
      absorbed += group.total_new_tokens();
    }
  }
  Absorb("absorb_q", absorbed, heads, rank, attention.nope_head_size);
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) {
      if (chosen || group.role == Role::kDecode) {
        Latents(group, attention, heads, chosen ? attention.indexer->top_k : 0);
      } else {
        Expanded(group, attention, heads);
      }
    }
  }
  Absorb("absorb_v", absorbed, heads, attention.value_head_size, rank);
  const int64_t output = heads * attention.value_head_size;
  if (attention.output_gate) {
    tally_.Gemm("o_gate_proj", tokens_, output, hidden_,
                tally_.Of(model::LinearClass::kAttentionInput));
    Gate(output);
  }
  tally_.Linear(model::LinearClass::kAttentionOutput, "o_proj", "o_quantize",
                tokens_, hidden_, output, attention.bias);
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
  tally_.Quantize("kv_quantize", model::LinearClass::kAttentionInput, rows,
                  rank);
  tally_.Gemm("kv_expand", rows,
              heads * (attention.nope_head_size + attention.value_head_size),
              rank, tally_.Of(model::LinearClass::kAttentionInput));
  const bool narrow =
      ElementSize(tally_.Of(model::LinearClass::kAttentionInput).input) < 2;
  ReferenceWork& reader = tally_.Of(narrow ? "kv_quantize" : "kv_expand");
  for (int64_t c = 0; c < cached_rows * rank; ++c) {
    reader.activations_in -= element_;
    reader.kv_read += cached_;
  }
}

void AttentionCounter::Absorb(const char* part, int64_t tokens, int64_t heads,
                              int64_t outputs, int64_t inputs) {
  if (tokens == 0) return;
  Tally::Operands operands = tally_.Wide();
  operands.weights = tally_.Of(model::LinearClass::kAttentionInput).weights;
  for (int64_t h = 0; h < heads; ++h) {
    tally_.Gemm(part, tokens, outputs, inputs, operands);
  }
}

// Scores over latent vector and rotated key, values over the latent vector; all
// heads read the same ones, at the positions their token has chosen.
void AttentionCounter::Latents(const RequestGroup& group,
                               const LatentAttention& attention, int64_t heads,
                               int64_t top_k) {
  ReferenceWork& work = tally_.Of("attention");
  const int64_t rank = attention.kv_lora_rank;
  const int64_t key = rank + attention.rope_head_size;
  const bool prompt = group.role == Role::kPrefill;
  std::set<int64_t> positions;
  for (int64_t t = 0; t < group.new_tokens; ++t) {
    const auto chosen = Choose(EntriesSeen(group, t, 1), top_k, positions);
    positions.insert(chosen.begin(), chosen.end());
    for (int64_t h = 0; h < heads; ++h) {
      for (size_t p = 0; p < chosen.size(); ++p) CountScores(1, key + rank);
      MoveScoreRow(static_cast<int64_t>(chosen.size()));
      work.activations_in += static_cast<double>(key) * element_;
      work.activations_out += static_cast<double>(rank) * element_;
    }
    work.kv_write += static_cast<double>(key) * cached_;
    // A prompt's own come from the projection.
    if (prompt) work.activations_in += static_cast<double>(key) * element_;
  }
  for (int64_t p : positions) {
    if (prompt && p >= group.prior_tokens) continue;
    work.kv_read += static_cast<double>(key) * cached_;
  }
}

// Expanded keys and values by head, one rotated key a position for all heads.
void AttentionCounter::Expanded(const RequestGroup& group,
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
