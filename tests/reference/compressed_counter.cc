#include <set>

#include "tests/reference/attention_counter.h"

namespace mansard::testing {

using model::CompressedAttention;
using model::RequestGroup;
using model::Role;

namespace {

// Entries that a request completes: of a decode the mean over the places that
// its last entry may stand at.
double EntriesCompleted(const RequestGroup& group, int64_t ratio) {
  const bool decode = group.role == Role::kDecode;
  const int64_t first = decode ? 0 : group.prior_tokens;
  const int64_t places = decode ? ratio : 1;
  int64_t entries = 0;
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t t = 0; t < group.new_tokens; ++t) {
      if ((first + place + t) % ratio == ratio - 1) ++entries;
    }
  }
  return static_cast<double>(entries) / static_cast<double>(places);
}

}  // namespace

void AttentionCounter::operator()(const CompressedAttention& attention) {
  const auto heads =
      static_cast<int64_t>(QueryHeads(attention.query_heads).size());
  const int64_t size = attention.head_size;
  const int64_t query_rank = attention.query_lora_rank;
  // Every rank makes the query's latent and the head that is key and value.
  tally_.Linear(model::LinearClass::kAttentionInput, "latent_proj",
                "attention_quantize", tokens_, query_rank + size, hidden_);
  tally_.Norm("q_latent_norm", tokens_, query_rank, false);
  tally_.Norm("kv_latent_norm", tokens_, size, false);
  tally_.Linear(model::LinearClass::kAttentionInput, "q_proj", "q_quantize",
                tokens_, heads * size, query_rank);
  NormHeads("qk_norm", model::QkNorm::kUnweighted, tokens_, heads, 0, size);
  Rotate("rope", heads + 1, attention.rope_head_size);
  if (attention.ratio != 0) {
    const int64_t channels = attention.overlap ? 2 * size : size;
    tally_.Gemm("compress_proj", tokens_, 2 * channels, hidden_,
                tally_.Of(model::LinearClass::kAttentionInput));
    Pool("compress_pool", attention, size);
    if (attention.indexer.has_value()) {
      Index(*attention.indexer, query_rank, attention.rope_head_size,
            &attention);
    }
  }
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t r = 0; r < group.request_count; ++r) {
      Request(group, attention, heads);
    }
  }
  Sinks(heads);
  Rotate("o_rope", heads, attention.rope_head_size);
  GroupedOutput(attention);
}

void AttentionCounter::Pool(const std::string& part,
                            const CompressedAttention& attention,
                            int64_t size) {
  ReferenceWork& work = tally_.Of(part);
  const double state = ElementSize(options_.formats.precision.state);
  const double native = ElementSize(options_.formats.native);
  // Where entries overlap a position is in two, with channels for each.
  const int64_t channels = attention.overlap ? 2 * size : size;
  for (const RequestGroup& group : pass_.groups()) {
    for (int64_t t = 0; t < group.total_new_tokens(); ++t) {
      for (int64_t c = 0; c < channels; ++c) {
        ++work.exponentials;
        work.activations_in += 2 * element_;  // Value and gate.
        if (group.role == Role::kPrefill) continue;
        work.kv_write += 2 * state;
        work.kv_read += 2 * state;
      }
    }
    for (int64_t r = 0; r < group.request_count; ++r) {
      work.kv_write += EntriesCompleted(group, attention.ratio) *
                       static_cast<double>(size) * cached_;
    }
  }
  for (int64_t p = 0; p < attention.ratio; ++p) {
    for (int64_t c = 0; c < channels; ++c) work.weights += native;
  }
  for (int64_t c = 0; c < size; ++c) work.weights += native;
}

void AttentionCounter::Request(const RequestGroup& group,
                               const CompressedAttention& attention,
                               int64_t heads) {
  ReferenceWork& work = tally_.Of("attention");
  const int64_t size = attention.head_size;
  const bool prompt = group.role == Role::kPrefill;
  const int64_t top_k =
      attention.indexer.has_value() ? attention.indexer->top_k : 0;
  std::set<int64_t> positions, entries;
  for (int64_t t = 0; t < group.new_tokens; ++t) {
    const int64_t position = group.prior_tokens + t;
    int64_t scores = 0;
    for (int64_t p = 0; p < group.context(); ++p) {
      // A draft's scores are those of a full tile.
      const int64_t last = prompt ? position : group.context() - 1;
      if (p <= last && last - p < attention.sliding_window) ++scores;
      if (p <= position && position - p < attention.sliding_window) {
        positions.insert(p);
      }
    }
    if (attention.ratio != 0) {
      const auto chosen =
          Choose(EntriesSeen(group, t, attention.ratio), top_k, entries);
      entries.insert(chosen.begin(), chosen.end());
      scores += static_cast<int64_t>(chosen.size());
    }
    for (int64_t h = 0; h < heads; ++h) {
      CountScores(scores, 2 * size);
      MoveScoreRow(scores);
      work.activations_in += static_cast<double>(size) * element_;
      work.activations_out += static_cast<double>(size) * element_;
    }
    work.kv_write += static_cast<double>(size) * cached_;
  }
  const auto read = [&](bool fresh) {
    if (prompt && fresh) {
      work.activations_in += static_cast<double>(size) * element_;
    } else {
      work.kv_read += static_cast<double>(size) * cached_;
    }
  };
  for (int64_t p : positions) read(p >= group.prior_tokens);
  int64_t prior = 0, all = 0;
  for (int64_t p = 0; attention.ratio != 0 && p < group.context(); ++p) {
    if (p % attention.ratio != attention.ratio - 1) continue;
    ++all;
    if (p < group.prior_tokens) ++prior;
  }
  // A prompt's own entries are there whether a token chooses them or not.
  for (int64_t e : entries) {
    if (!prompt || e < prior) read(false);
  }
  for (int64_t e = prior; prompt && e < all; ++e) read(true);
}

// Each group of heads has a matrix of its own, on the rank of its heads.
void AttentionCounter::GroupedOutput(const CompressedAttention& attention) {
  const int64_t heads_a_group = attention.query_heads / attention.output_groups;
  std::set<int64_t> groups;
  int64_t inputs = 0;
  for (int q : QueryHeads(attention.query_heads)) {
    groups.insert(q / heads_a_group);
    inputs += attention.head_size;
  }
  tally_.Quantize("o_down_quantize", model::LinearClass::kAttentionOutput,
                  tokens_, inputs);
  for (size_t g = 0; g < groups.size(); ++g) {
    tally_.Gemm("o_down_proj", tokens_, attention.output_lora_rank,
                heads_a_group * attention.head_size,
                tally_.Of(model::LinearClass::kAttentionOutput));
  }
  tally_.Linear(
      model::LinearClass::kAttentionOutput, "o_proj", "o_quantize", tokens_,
      hidden_,
      static_cast<int64_t>(groups.size()) * attention.output_lora_rank);
}

}  // namespace mansard::testing
