#include "model/graph/graph_parameters.h"

#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

int64_t TableWidth(const ModelGraphSpec& spec) {
  return spec.embedding_size == 0 ? spec.hidden_size : spec.embedding_size;
}

int64_t EmbeddingTable(const ModelGraphSpec& spec) {
  return (spec.vocabulary_size + spec.extra_embedding_rows) * TableWidth(spec);
}

int64_t HeadTable(const ModelGraphSpec& spec) {
  return spec.vocabulary_size * TableWidth(spec);
}

int64_t OneNorm(const ModelGraphSpec& spec) {
  return spec.hidden_size * (spec.norm_bias ? 2 : 1);
}

// Values of the second embedding, all layers together.
int64_t LayerInputWidth(const ModelGraphSpec& spec) {
  return static_cast<int64_t>(spec.layer_kind_indexes.size()) *
         spec.layer_input_size;
}

// Before the head, all streams together give a weight for each (DeepSeek-V4's
// model.py), with a bias each and one scale.
int64_t StreamCollection(const ModelGraphSpec& spec) {
  const int64_t n = spec.residual_streams;
  return n <= 1 ? 0 : n * n * spec.hidden_size + n + 1;
}

}  // namespace

ParameterCounts AroundLayersParameters(const ModelGraphSpec& spec) {
  ParameterCounts counts;
  const int64_t projection = spec.embedding_size * spec.hidden_size;
  counts[TensorClass::kEmbedding] =
      EmbeddingTable(spec) + spec.layer_input_rows * LayerInputWidth(spec) +
      projection;
  counts[TensorClass::kPosition] = spec.position_rows * spec.hidden_size;
  counts[TensorClass::kHead] = (spec.tied_embeddings ? 0 : HeadTable(spec)) +
                               (spec.head_bias ? spec.vocabulary_size : 0) +
                               projection;
  counts[TensorClass::kNorm] = (spec.embedding_norm ? OneNorm(spec) : 0) +
                               (spec.final_norm ? OneNorm(spec) : 0);
  counts[TensorClass::kResidual] = StreamCollection(spec);
  counts[TensorClass::kScale] = spec.extra_parameters;
  if (spec.layer_input_size != 0) {
    // The embedding's own projection to all layers, with its norm
    // (modeling_gemma3n.py).
    counts[TensorClass::kLayerInput] = spec.hidden_size * LayerInputWidth(spec);
    counts[TensorClass::kNorm] +=
        spec.layer_input_size * (spec.norm_bias ? 2 : 1);
  }
  return counts;
}

int64_t TableParameters(const ModelGraphSpec& spec) {
  return EmbeddingTable(spec) + spec.layer_input_rows * LayerInputWidth(spec) +
         (spec.tied_embeddings ? 0 : HeadTable(spec));
}

// arXiv 2412.19437 §2.2: norms of the hidden state and of the next token's
// embedding, a projection of both together to the hidden size, layers, a norm
// before the head.
ParameterCounts MtpModuleParameters(const ModelGraphSpec& spec) {
  ParameterCounts counts;
  for (int index : spec.mtp.layer_kind_indexes) {
    counts.Add(
        LayerParameters(spec.layer_kinds[static_cast<size_t>(index)], spec), 1);
  }
  counts[TensorClass::kEmbedding] +=
      2 * spec.hidden_size * spec.hidden_size +
      (spec.mtp.own_embedding ? EmbeddingTable(spec) : 0);
  counts[TensorClass::kNorm] += 3 * OneNorm(spec);
  counts[TensorClass::kResidual] += StreamCollection(spec);
  counts[TensorClass::kHead] += spec.mtp.own_head ? HeadTable(spec) : 0;
  return counts;
}

}  // namespace mansard::model
