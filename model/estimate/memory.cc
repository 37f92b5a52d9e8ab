#include "model/estimate/memory.h"

#include <algorithm>
#include <cmath>

namespace mansard::model {
namespace {

// The rank's part of the embedding table is read a few rows at a time but held
// whole; a tied head is that same table, and already among the GEMM weights.
Bytes EmbeddingTable(const ModelGraph& graph, const Layout& layout,
                     const PassFormats& formats) {
  if (graph.spec().tied_embeddings) return Bytes::Zero();
  return WeightBytes(formats.native, layout.VocabularyPerRank(graph),
                     graph.spec().hidden_size);
}

Bytes KvOf(const RequestGroup& group, const ModelGraph& graph,
           const Layout& layout, Format kv_cache) {
  Bytes request;
  for (size_t i = 0; i < graph.spec().layer_kinds.size(); ++i) {
    const GroupedQueryAttention& attention =
        graph.spec().layer_kinds[i].attention;
    const int64_t held =
        attention.sliding_window == 0
            ? group.context()
            : std::min(group.context(), attention.sliding_window);
    request += static_cast<double>(held) * graph.CountOf(i) *
               KvBytesPerTokenPerLayer(layout.KvHeadsPerRank(attention),
                                       attention.head_size, kv_cache);
  }
  return static_cast<double>(group.request_count) * request;
}

Bytes KvBytesPerToken(const ModelGraph& graph, const Layout& layout,
                      Format kv_cache) {
  return KvOf({.request_count = 1, .new_tokens = 1}, graph, layout, kv_cache);
}

}  // namespace

MemoryFootprint FootprintOf(const OpList& ops, const ModelGraph& graph,
                            const ForwardPass& pass, const Layout& layout,
                            const PassFormats& formats, const Device& device) {
  MemoryFootprint footprint;
  footprint.capacity = device.HbmCapacity();
  footprint.weights = EmbeddingTable(graph, layout, formats);
  for (const Op& op : ops) {
    if (op.kind != OpKind::kEmbedding) {
      footprint.weights += op.repeat * op.work.weights;
    }
  }
  const Format kv_cache = formats.precision.kv_cache;
  for (const RequestGroup& group : pass.groups()) {
    footprint.kv_cache += KvOf(group, graph, layout, kv_cache);
  }
  const Bytes left = Max(Bytes::Zero(), footprint.capacity - footprint.weights);
  footprint.kv_token_capacity = static_cast<int64_t>(
      std::floor(left / KvBytesPerToken(graph, layout, kv_cache)));
  footprint.fits = footprint.weights + footprint.kv_cache <= footprint.capacity;
  return footprint;
}

}  // namespace mansard::model
