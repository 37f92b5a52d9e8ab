#include "tests/reference/reference_counter.h"

#include <set>
#include <tuple>
#include <vector>

namespace mansard::testing {
namespace {

using model::GroupedQueryAttention;
using model::LayerKind;
using model::RequestGroup;
using model::Role;

// Marks elements of one matrix; each counts once.
class Touched {
 public:
  void Mark(int64_t row, int64_t column) { marks_.insert({row, column}); }
  int64_t count() const { return static_cast<int64_t>(marks_.size()); }

 private:
  std::set<std::pair<int64_t, int64_t>> marks_;
};

class Counter {
 public:
  Counter(const model::ModelGraph& graph, const model::ForwardPass& pass,
          int tensor, int rank)
      : graph_(graph), pass_(pass), tensor_(tensor), rank_(rank) {
    for (const RequestGroup& group : pass.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        for (int64_t t = 0; t < group.new_tokens; ++t) ++tokens_;
      }
    }
  }

  std::map<std::string, ReferenceWork> Run() {
    const int64_t hidden = graph_.spec().hidden_size;
    Embedding(hidden);
    bool first = true;
    for (int index : graph_.spec().layer_kind_indexes) {
      const LayerKind& kind =
          graph_.spec().layer_kinds[static_cast<size_t>(index)];
      Norm(first ? "input_norm" : "attention_norm", tokens_, hidden, !first);
      first = false;
      Attention(kind.attention, hidden);
      AllReduce("attention_all_reduce", hidden);
      Norm("ffn_norm", tokens_, hidden, true);
      FeedForward(kind.feed_forward, hidden);
      AllReduce("ffn_all_reduce", hidden);
    }
    Norm("final_norm", tokens_, hidden, true);
    Head(hidden);
    return work_;
  }

 private:
  void Linear(const std::string& part, int64_t rows, int64_t outputs,
              int64_t inputs, bool bias) {
    ReferenceWork& work = work_[part];
    Touched weights, in, out;
    for (int64_t m = 0; m < rows; ++m) {
      for (int64_t n = 0; n < outputs; ++n) {
        out.Mark(m, n);
        for (int64_t k = 0; k < inputs; ++k) {
          ++work.multiply_adds;
          in.Mark(m, k);
          weights.Mark(n, k);
        }
      }
    }
    work.weights += weights.count() + (bias ? outputs : 0);
    work.activations_in += in.count();
    work.activations_out += out.count();
  }

  void Embedding(int64_t hidden) {
    ReferenceWork& work = work_["embedding"];
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t h = 0; h < hidden; ++h) {
        ++work.weights;  // Over all ranks: each finds its share of the rows.
        ++work.activations_out;
      }
    }
    AllReduce("embedding_all_reduce", hidden);
  }

  void Norm(const std::string& part, int64_t rows, int64_t columns,
            bool residual) {
    ReferenceWork& work = work_[part];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        work.activations_in += residual ? 2 : 1;
        work.activations_out += residual ? 2 : 1;
      }
    }
    for (int64_t c = 0; c < columns; ++c) ++work.weights;
  }

  void AllReduce(const std::string& part, int64_t columns) {
    if (tensor_ == 1) return;
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t c = 0; c < columns; ++c) {
        ++work_[part].message;
        ++work_[part].activations_in;
        ++work_[part].activations_out;
      }
    }
  }

  // Query heads of this rank, in the order of the unsharded model.
  std::vector<int> QueryHeads(const GroupedQueryAttention& attention) const {
    std::vector<int> mine;
    for (int q = 0; q < attention.query_heads; ++q) {
      if (q * tensor_ / attention.query_heads == rank_) mine.push_back(q);
    }
    return mine;
  }

  void Attention(const GroupedQueryAttention& attention, int64_t hidden) {
    const int size = attention.head_size;
    const int group_size = attention.query_heads / attention.kv_heads;
    const std::vector<int> queries = QueryHeads(attention);
    std::set<int> kv_heads;
    for (int q : queries) kv_heads.insert(q / group_size);
    const int64_t query_width = static_cast<int64_t>(queries.size()) * size;
    const int64_t kv_width = static_cast<int64_t>(kv_heads.size()) * size;

    Linear("qkv_proj", tokens_, query_width + 2 * kv_width, hidden,
           attention.qkv_bias);
    if (attention.qk_norm) {
      ReferenceWork& work = work_["qk_norm"];
      for (int64_t t = 0; t < tokens_; ++t) {
        for (int64_t c = 0; c < query_width + kv_width; ++c) {
          ++work.activations_in;
          ++work.activations_out;
        }
      }
      work.weights += 2 * size;  // One vector for queries, one for keys.
    }
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t c = 0; c < query_width + kv_width; ++c) {
        ++work_["rope"].activations_in;
        ++work_["rope"].activations_out;
      }
    }
    for (const RequestGroup& group : pass_.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        Scores(group, attention, queries, kv_heads);
      }
    }
    Linear("o_proj", tokens_, hidden, query_width, attention.output_bias);
  }

  // One request. Decode computes the masked scores of drafted tokens too: the
  // drafts share one tile over the context; a window moves with it.
  void Scores(const RequestGroup& group, const GroupedQueryAttention& attention,
              const std::vector<int>& queries, const std::set<int>& kv_heads) {
    ReferenceWork& work = work_["attention"];
    const int64_t window = attention.sliding_window;
    const int group_size = attention.query_heads / attention.kv_heads;
    std::set<std::tuple<int, int64_t>> cached, fresh;
    for (int64_t t = 0; t < group.new_tokens; ++t) {
      const int64_t position = group.prior_tokens + t;
      for (int q : queries) {
        int64_t scores = 0;
        for (int64_t p = 0; p < group.context(); ++p) {
          const bool visible =
              p <= position && (window == 0 || position - p < window);
          if (!visible) continue;
          ++scores;
          auto& seen = p < group.prior_tokens ? cached : fresh;
          seen.insert({q / group_size, p});
        }
        if (group.role == Role::kDecode) {
          scores =
              window == 0 ? group.context() : std::min(group.context(), window);
        }
        for (int64_t s = 0; s < scores; ++s) {
          ++work.exponentials;
          for (int d = 0; d < attention.head_size; ++d) {
            work.multiply_adds += 2;  // Query times key, score times value.
          }
        }
        work.activations_in += attention.head_size;
        work.activations_out += attention.head_size;
      }
      for (size_t h = 0; h < kv_heads.size(); ++h) {
        work.kv_write += 2 * attention.head_size;
      }
    }
    work.kv_read +=
        static_cast<int64_t>(cached.size()) * 2 * attention.head_size;
    const int64_t new_kv =
        static_cast<int64_t>(fresh.size()) * 2 * attention.head_size;
    if (group.role == Role::kDecode) {
      work.kv_read += new_kv;
    } else {
      work.activations_in += new_kv;
    }
  }

  void FeedForward(const model::DenseFeedForward& feed_forward,
                   int64_t hidden) {
    int64_t width = 0;
    for (int64_t i = 0; i < feed_forward.intermediate_size; ++i) {
      if (i * tensor_ / feed_forward.intermediate_size == rank_) ++width;
    }
    const int64_t up = feed_forward.gated ? 2 * width : width;
    Linear("up_proj", tokens_, up, hidden, feed_forward.bias);
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t c = 0; c < width; ++c) {
        ReferenceWork& work = work_["activation"];
        work.activations_in += feed_forward.gated ? 2 : 1;
        ++work.activations_out;
        ++work.exponentials;
      }
    }
    Linear("down_proj", tokens_, hidden, width, feed_forward.bias);
  }

  void Head(int64_t hidden) {
    int64_t positions = 0;
    for (const RequestGroup& group : pass_.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        positions += group.role == Role::kPrefill ? 1 : group.new_tokens;
      }
    }
    int64_t padded = graph_.spec().vocabulary_size;
    while (padded % tensor_ != 0) ++padded;
    Linear("lm_head", positions, padded / tensor_, hidden, false);
    for (int64_t s = 0; s < positions; ++s) {
      for (int64_t v = 0; v < padded; ++v) {
        if (v < graph_.spec().vocabulary_size) {
          ++work_["sampling"].activations_in;
        }
        if (tensor_ == 1) continue;
        ++work_["logits_all_gather"].message;
        ++work_["logits_all_gather"].activations_out;
        if (v % tensor_ == rank_) ++work_["logits_all_gather"].activations_in;
      }
    }
  }

  const model::ModelGraph& graph_;
  const model::ForwardPass& pass_;
  const int tensor_;
  const int rank_;
  int64_t tokens_ = 0;
  std::map<std::string, ReferenceWork> work_;
};

}  // namespace

std::map<std::string, ReferenceWork> CountPass(const model::ModelGraph& graph,
                                               const model::ForwardPass& pass,
                                               int tensor, int rank) {
  return Counter(graph, pass, tensor, rank).Run();
}

}  // namespace mansard::testing
