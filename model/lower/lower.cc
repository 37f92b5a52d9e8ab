#include "model/lower/lower.h"

#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

// Builds the list in execution order. One instance a pass.
class Lowering {
 public:
  Lowering(const ModelGraph& graph, const ForwardPass& pass,
           const Layout& layout, const PassFormats& formats,
           const Fusion& fusion)
      : graph_(graph),
        pass_(pass),
        layout_(layout),
        formats_(formats),
        fusion_(fusion),
        tokens_(pass.total_new_tokens()),
        hidden_(graph.spec().hidden_size) {}

  OpList Run() {
    ops_.reserve(24 * graph_.spec().layer_kinds.size() + 8);
    EmitInput();
    for (size_t i = 0; i < graph_.spec().layer_kinds.size(); ++i) {
      if (graph_.CountOf(i) > 0) EmitLayers(i);
    }
    EmitOutput();
    return std::move(ops_);
  }

 private:
  ElementwiseShape HiddenShape() const {
    return {tokens_, hidden_, formats_.hidden};
  }

  Op& Emit(Op op, Part part) {
    op.part = part;
    op.layer_kind = layer_kind_;
    op.repeat = repeat_;
    ops_.push_back(std::move(op));
    return ops_.back();
  }

  // A layer GEMM; its input is quantised first where the format asks for it.
  void EmitLinear(Part part, Part quantize, int64_t n, int64_t k, bool bias) {
    const Format input = formats_.precision.activations;
    if (IsLowPrecision(input)) {
      Emit(QuantizeOp({tokens_, k, formats_.hidden}, input), quantize);
    }
    Emit(GemmOp({.m = tokens_,
                 .n = n,
                 .k = k,
                 .input = input,
                 .weights = formats_.precision.weights,
                 .output = formats_.hidden,
                 .compute = formats_.compute},
                bias),
         part);
  }

  void EmitAllReduce(Part part) {
    if (layout_.tensor() == 1) return;
    Emit(AllReduceOp({layout_.tensor(), *layout_.tensor_tier()},
                     ActivationBytes(formats_.hidden, tokens_, hidden_)),
         part);
  }

  // A norm that takes the residual add with it where the stack fuses them.
  void EmitNorm(Part norm, Part residual) {
    if (!fusion_.residual_into_norm) Emit(ResidualOp(HiddenShape()), residual);
    Emit(NormOp(HiddenShape(), fusion_.residual_into_norm, formats_.native),
         norm);
  }

  // The vocabulary is sharded: each rank looks its rows up, the sum is the
  // embedding. The first norm has no residual to add.
  void EmitInput() {
    Op& gather =
        Emit(EmbeddingOp(HiddenShape(), formats_.native), Part::kEmbedding);
    gather.work.weights *= 1.0 / layout_.tensor();
    EmitAllReduce(Part::kEmbeddingAllReduce);
    Emit(NormOp(HiddenShape(), false, formats_.native), Part::kInputNorm);
  }

  void EmitLayers(size_t index) {
    const LayerKind& kind = graph_.spec().layer_kinds[index];
    layer_kind_ = static_cast<int>(index);
    const int count = graph_.CountOf(index);
    const bool has_first =
        graph_.spec().layer_kind_indexes.front() == layer_kind_;

    repeat_ = count - (has_first ? 1 : 0);
    if (repeat_ > 0) {
      EmitNorm(Part::kAttentionNorm, Part::kFeedForwardResidual);
    }
    repeat_ = count;
    EmitAttention(kind.attention);
    EmitNorm(Part::kFeedForwardNorm, Part::kAttentionResidual);
    EmitFeedForward(kind.feed_forward);
    layer_kind_ = -1;
    repeat_ = 1;
  }

  void EmitAttention(const GroupedQueryAttention& attention) {
    const int query_heads = layout_.QueryHeadsPerRank(attention);
    const int kv_heads = layout_.KvHeadsPerRank(attention);
    const int64_t size = attention.head_size;
    EmitLinear(Part::kQkvProj, Part::kAttentionQuantize,
               (query_heads + 2 * kv_heads) * size, hidden_,
               attention.qkv_bias);
    const int64_t normed_heads = query_heads + kv_heads;
    if (attention.qk_norm) {
      // Two weight vectors, one for queries and one for keys.
      Op& norm = Emit(NormOp({tokens_ * normed_heads, size, formats_.hidden},
                             false, formats_.native),
                      Part::kQkNorm);
      norm.work.weights *= 2;
    }
    Emit(RopeOp({tokens_, normed_heads * size, formats_.hidden}), Part::kRope);
    for (size_t i = 0; i < pass_.groups().size(); ++i) {
      Op& op = Emit(AttentionOp({.group = pass_.groups()[i],
                                 .query_heads = query_heads,
                                 .kv_heads = kv_heads,
                                 .head_size = attention.head_size,
                                 .window = attention.sliding_window,
                                 .input = formats_.hidden,
                                 .kv_cache = formats_.precision.kv_cache}),
                    Part::kAttention);
      if (pass_.groups().size() > 1) op.group = static_cast<int>(i);
    }
    EmitLinear(Part::kOutputProj, Part::kOutputQuantize, hidden_,
               query_heads * size, attention.output_bias);
    EmitAllReduce(Part::kAttentionAllReduce);
  }

  void EmitFeedForward(const DenseFeedForward& feed_forward) {
    const int64_t width = layout_.IntermediatePerRank(feed_forward);
    EmitLinear(Part::kUpProj, Part::kFeedForwardQuantize,
               feed_forward.gated ? 2 * width : width, hidden_,
               feed_forward.bias);
    Emit(ActivationOp({tokens_, width, formats_.hidden}, feed_forward.gated),
         Part::kActivation);
    EmitLinear(Part::kDownProj, Part::kDownQuantize, hidden_, width,
               feed_forward.bias);
    EmitAllReduce(Part::kFeedForwardAllReduce);
  }

  void EmitOutput() {
    EmitNorm(Part::kFinalNorm, Part::kFeedForwardResidual);
    const int64_t positions = pass_.logit_positions();
    const int64_t vocabulary = layout_.VocabularyPerRank(graph_);
    Emit(GemmOp({.m = positions,
                 .n = vocabulary,
                 .k = hidden_,
                 .input = formats_.hidden,
                 .weights = formats_.native,
                 .output = formats_.hidden,
                 .compute = formats_.head_compute},
                false),
         Part::kHead);
    const int64_t gathered = vocabulary * layout_.tensor();
    if (layout_.tensor() > 1) {
      Emit(AllGatherOp({layout_.tensor(), *layout_.tensor_tier()},
                       ActivationBytes(formats_.hidden, positions, gathered)),
           Part::kLogitsAllGather);
    }
    Emit(
        SamplingOp({positions, graph_.spec().vocabulary_size, formats_.hidden}),
        Part::kSampling);
    Emit(HostOp({pass_.request_count(), pass_.prefill_tokens()}), Part::kHost);
  }

  const ModelGraph& graph_;
  const ForwardPass& pass_;
  const Layout& layout_;
  const PassFormats& formats_;
  const Fusion& fusion_;
  const int64_t tokens_;
  const int64_t hidden_;
  OpList ops_;
  int layer_kind_ = -1;
  int repeat_ = 1;
};

}  // namespace

OpList Lower(const ModelGraph& graph, const ForwardPass& pass,
             const Layout& layout, const PassFormats& formats,
             const Fusion& fusion) {
  return Lowering(graph, pass, layout, formats, fusion).Run();
}

std::string DumpOps(const OpList& ops, const ModelGraph& graph) {
  std::string text;
  for (const Op& op : ops) {
    const Work& work = op.work;
    absl::StrAppendFormat(&text, "%s x%d  %s  %s", OpName(op, graph), op.repeat,
                          OpKindName(op.kind), ShapeText(op));
    const auto number = [&text](absl::string_view name, double value) {
      if (value != 0) absl::StrAppendFormat(&text, "  %s=%.15g", name, value);
    };
    number("flops", work.tensor.value());
    number("vector", work.vector.value());
    number("special", work.special.value());
    number("weights", work.weights.value());
    number("kv_read", work.kv_read.value());
    number("kv_write", work.kv_write.value());
    number("act_in", work.activations_in.value());
    number("act_out", work.activations_out.value());
    number("message", work.message.value());
    text += "\n";
  }
  return text;
}

}  // namespace mansard::model
