#include "tests/reference/reference_counter.h"

#include <variant>

#include "tests/reference/attention_counter.h"
#include "tests/reference/expert_draws.h"

namespace mansard::testing {
namespace {

using model::LayerKind;
using model::RequestGroup;
using model::Role;

class Counter {
 public:
  Counter(const model::ModelGraph& graph, const model::ForwardPass& pass,
          const ReferenceOptions& options)
      : graph_(graph), pass_(pass), options_(options), tally_(options.formats) {
    for (const RequestGroup& group : pass.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        for (int64_t t = 0; t < group.new_tokens; ++t) ++tokens_;
      }
    }
  }

  std::map<std::string, ReferenceWork> Run() {
    Embedding();
    bool first = true;
    for (int index : graph_.spec().layer_kind_indexes) {
      Layer(graph_.spec().layer_kinds[static_cast<size_t>(index)], first);
      first = false;
    }
    tally_.Norm("final_norm", tokens_, hidden_, true);
    Head();
    return tally_.work();
  }

 private:
  void Layer(const LayerKind& kind, bool first) {
    tally_.Norm(first ? "input_norm" : "attention_norm", tokens_, hidden_,
                !first);
    std::visit(AttentionCounter(pass_, options_, hidden_, tally_),
               kind.attention);
    if (!kind.parallel) {
      AllReduce("attention_all_reduce");
      tally_.Norm("ffn_norm", tokens_, hidden_, true);
    }
    std::visit([this](const auto& ffn) { FeedForward(ffn); },
               kind.feed_forward);
    // Both outputs are summed before the ranks are.
    if (kind.parallel) tally_.Move("parallel_sum", tokens_, hidden_, 2, 1);
    AllReduce("ffn_all_reduce");
  }

  void Embedding() {
    ReferenceWork& work = tally_.Of("embedding");
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int64_t h = 0; h < hidden_; ++h) {
        work.weights += ElementSize(options_.formats.native);
        work.activations_out += ElementSize(options_.formats.hidden);
      }
    }
    AllReduce("embedding_all_reduce");
  }

  void AllReduce(const std::string& part) {
    if (options_.tensor == 1) return;
    tally_.Move(part, tokens_, hidden_, 1, 1);
    for (int64_t e = 0; e < tokens_ * hidden_; ++e) {
      tally_.Of(part).message += ElementSize(options_.formats.hidden);
    }
  }

  // This rank's share of a width.
  int64_t Mine(int64_t width) const {
    int64_t mine = 0;
    for (int64_t i = 0; i < width; ++i) {
      if (i * options_.tensor / width == options_.rank) ++mine;
    }
    return mine;
  }

  void Activation(const std::string& part, int64_t rows, int64_t width,
                  bool gated) {
    tally_.Move(part, rows, width, gated ? 2 : 1, 1);
    for (int64_t e = 0; e < rows * width; ++e) ++tally_.Of(part).exponentials;
  }

  void FeedForward(const model::DenseFeedForward& feed_forward) {
    const int64_t width = Mine(feed_forward.intermediate_size);
    tally_.Linear("up_proj", "ffn_quantize", tokens_,
                  feed_forward.gated ? 2 * width : width, hidden_,
                  feed_forward.bias);
    Activation("activation", tokens_, width, feed_forward.gated);
    tally_.Linear("down_proj", "down_quantize", tokens_, hidden_, width,
                  feed_forward.bias);
  }

  // Router and top-k on every rank, each expert's width shared out.
  void FeedForward(const model::MixtureOfExperts& moe) {
    tally_.Gemm("router", tokens_, moe.expert_count, hidden_, tally_.Wide());
    tally_.Move("top_k", tokens_, moe.expert_count, 1, 0);
    for (int64_t e = 0; e < tokens_ * moe.expert_count; ++e) {
      ++tally_.Of("top_k").exponentials;
    }
    const int64_t width = Mine(moe.expert_intermediate_size);
    const int64_t rows = tokens_ * moe.experts_per_token;
    // Experts read a token's vector from one matrix, routed or shared.
    tally_.Quantize("ffn_quantize", tokens_, hidden_);
    Experts("expert_up", moe, moe.gated ? 2 * width : width, hidden_,
            moe.experts_per_token);
    Activation("expert_activation", rows, width, moe.gated);
    tally_.Quantize("expert_down_quantize", rows, width);
    Experts("expert_down", moe, hidden_, width, 1);
    tally_.Move("combine", tokens_, hidden_, moe.experts_per_token, 1);
    if (moe.shared_intermediate_size == 0) return;
    const int64_t shared = Mine(moe.shared_intermediate_size);
    tally_.Gemm("shared_up", tokens_, moe.gated ? 2 * shared : shared, hidden_,
                tally_.Layer());
    Activation("shared_activation", tokens_, shared, moe.gated);
    tally_.Linear("shared_down", "shared_down_quantize", tokens_, hidden_,
                  shared);
    tally_.Move("shared_sum", tokens_, hidden_, 2, 1);
  }

  // One product for each routed row; `sharers` rows in a row read one input.
  void Experts(const std::string& part, const model::MixtureOfExperts& moe,
               int64_t outputs, int64_t inputs, int sharers) {
    ReferenceWork& work = tally_.Of(part);
    const int64_t rows = tokens_ * moe.experts_per_token;
    Touched one_expert(outputs, inputs), out(rows, outputs);
    Touched in(rows / sharers, inputs);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < outputs; ++n) {
        out.Mark(row, n);
        for (int64_t k = 0; k < inputs; ++k) {
          ++work.multiply_adds;
          in.Mark(row / sharers, k);
          one_expert.Mark(n, k);
        }
      }
    }
    const Tally::Operands operands = tally_.Layer();
    work.weights += DistinctExperts(pass_.routing(), tokens_,
                                    moe.experts_per_token, moe.expert_count) *
                    one_expert.WeightBytes(operands.weights);
    work.activations_in += in.ActivationBytes(operands.input);
    work.activations_out += out.ActivationBytes(operands.output);
  }

  void Head() {
    int64_t positions = 0;
    for (const RequestGroup& group : pass_.groups()) {
      for (int64_t r = 0; r < group.request_count; ++r) {
        positions += group.role == Role::kPrefill ? 1 : group.new_tokens;
      }
    }
    int64_t padded = graph_.spec().vocabulary_size;
    while (padded % options_.tensor != 0) ++padded;
    tally_.Gemm("lm_head", positions, padded / options_.tensor, hidden_,
                tally_.Wide());
    tally_.Move("sampling", positions, graph_.spec().vocabulary_size, 1, 0);
    if (options_.tensor == 1) return;
    ReferenceWork& gather = tally_.Of("logits_all_gather");
    const double size = ElementSize(options_.formats.hidden);
    for (int64_t v = 0; v < positions * padded; ++v) {
      gather.message += size;
      gather.activations_out += size;
      if (v % options_.tensor == options_.rank) gather.activations_in += size;
    }
  }

  const model::ModelGraph& graph_;
  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_ = graph_.spec().hidden_size;
  Tally tally_;
  int64_t tokens_ = 0;
};

}  // namespace

std::map<std::string, ReferenceWork> CountPass(
    const model::ModelGraph& graph, const model::ForwardPass& pass,
    const ReferenceOptions& options) {
  return Counter(graph, pass, options).Run();
}

}  // namespace mansard::testing
