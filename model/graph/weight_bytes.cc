#include "model/graph/weight_bytes.h"

#include "model/graph/graph_parameters.h"
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

Format WideOf(const Precision& precision) {
  if (!IsLowPrecision(precision.weights)) return precision.weights;
  return IsLowPrecision(precision.activations) ? Format::kBf16
                                               : precision.activations;
}

// Elements with their share of scales and zero points; of scales over a whole
// extent nothing.
Bytes Stored(Format format, int64_t parameters) {
  const FormatTraits& traits = TraitsOf(format);
  double bits = traits.element_bits;
  if (traits.weight_scale_columns != 0) {
    bits += static_cast<double>(traits.scale_bits + traits.zero_point_bits) /
            (traits.weight_scale_rows * traits.weight_scale_columns);
  }
  return Bytes::Of(static_cast<double>(parameters) * bits / 8);
}

// Weights of the projection back to the hidden size.
struct CountOutput {
  int64_t hidden;

  int64_t operator()(const GroupedQueryAttention& a) const {
    return int64_t{a.query_heads} * a.value_size() * hidden;
  }
  int64_t operator()(const LatentAttention& a) const {
    return int64_t{a.query_heads} * a.value_head_size * hidden;
  }
  int64_t operator()(const CompressedAttention& a) const {
    const int64_t rank = a.output_lora_rank;
    return int64_t{a.query_heads} * a.head_size * rank +
           a.output_groups * rank * hidden;
  }
  int64_t operator()(const CrossAttention& a) const {
    return int64_t{a.query_heads} * a.head_size * hidden;
  }
};

class Counter {
 public:
  explicit Counter(const ModelGraphSpec& spec)
      : spec_(spec), wide_(WideOf(spec.native_precision)) {}

  Bytes Layer(const LayerKind& kind) const {
    const ParameterCounts counts = LayerParameters(kind, spec_);
    Bytes bytes;
    int64_t rest = counts.Total();
    const auto add = [&](LinearClass linear, int64_t parameters) {
      bytes += Stored(FormatOf(kind.formats, linear), parameters);
      rest -= parameters;
    };
    if (kind.attention.has_value()) {
      const int64_t output =
          std::visit(CountOutput{spec_.hidden_size}, *kind.attention);
      add(LinearClass::kAttentionOutput, output);
      add(LinearClass::kAttentionInput,
          counts[TensorClass::kAttention] - output);
    }
    add(LinearClass::kRecurrent, counts[TensorClass::kRecurrent]);
    add(LinearClass::kFeedForward, counts[TensorClass::kFeedForward]);
    add(LinearClass::kSharedExperts, counts[TensorClass::kSharedExperts]);
    if (const auto* f = std::get_if<MixtureOfExperts>(&kind.feed_forward)) {
      // Biases stay wide.
      add(LinearClass::kExperts, counts[TensorClass::kExperts] -
                                     (f->expert_bias ? ExpertBiases(*f) : 0));
      const int64_t latent = 2 * spec_.hidden_size * f->latent_size;
      add(LinearClass::kLatentExperts, latent);
      add(LinearClass::kRouter, counts[TensorClass::kRouter] - latent);
    }
    return bytes + Stored(wide_, rest);
  }

  // Tables, and what is beside them.
  Bytes Around(const ParameterCounts& counts) const {
    const int64_t embedding = counts[TensorClass::kEmbedding];
    const int64_t head = counts[TensorClass::kHead];
    return Stored(FormatOf(spec_.formats, LinearClass::kEmbedding), embedding) +
           Stored(FormatOf(spec_.formats, LinearClass::kHead), head) +
           Stored(wide_, counts.Total() - embedding - head);
  }

  Bytes Drafts() const {
    if (spec_.mtp.modules == 0) return {};
    ParameterCounts counts = MtpModuleParameters(spec_);
    Bytes layers;
    for (int index : spec_.mtp.layer_kind_indexes) {
      const LayerKind& kind = spec_.layer_kinds[static_cast<size_t>(index)];
      layers += Layer(kind);
      counts.Add(LayerParameters(kind, spec_), -1);
    }
    return spec_.mtp.modules * (layers + Around(counts));
  }

 private:
  int64_t ExpertBiases(const MixtureOfExperts& f) const {
    const int64_t out = f.latent_size == 0 ? spec_.hidden_size : f.latent_size;
    return f.expert_count *
           ((f.gated ? 2 : 1) * f.expert_intermediate_size + out);
  }

  Format FormatOf(const std::vector<LinearFormats>& own,
                  LinearClass linear) const {
    for (const LinearFormats& formats : own) {
      if (formats.linear == linear) return formats.weights;
    }
    return FollowsNativePrecision(linear) ? spec_.native_precision.weights
                                          : wide_;
  }

  const ModelGraphSpec& spec_;
  const Format wide_;
};

}  // namespace

Bytes StoredWeightBytes(const ModelGraph& graph) {
  const ModelGraphSpec& spec = graph.spec();
  const Counter counter(spec);
  Bytes bytes = counter.Around(AroundLayersParameters(spec));
  for (size_t i = 0; i < spec.layer_kinds.size(); ++i) {
    bytes += graph.CountOf(i) * counter.Layer(spec.layer_kinds[i]);
  }
  return bytes;
}

Bytes StoredDraftBytes(const ModelGraph& graph) {
  return Counter(graph.spec()).Drafts();
}

}  // namespace mansard::model
