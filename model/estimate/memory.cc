#include "model/estimate/memory.h"

#include <algorithm>
#include <cmath>

namespace mansard::model {
namespace {

// Positions whose keys and values one request keeps in a layer.
int64_t PositionsHeld(const Attention& attention, int64_t context) {
  const auto* grouped = std::get_if<GroupedQueryAttention>(&attention);
  if (grouped == nullptr) return context;
  const int64_t bound =
      grouped->sliding_window != 0 ? grouped->sliding_window : grouped->chunk;
  return bound == 0 ? context : std::min(context, bound);
}

Bytes KvOf(const RequestGroup& group, const ModelGraph& graph,
           const Layout& layout, Format kv_cache) {
  double elements = 0;
  for (size_t i = 0; i < graph.spec().layer_kinds.size(); ++i) {
    const Attention& attention = graph.spec().layer_kinds[i].attention;
    elements += static_cast<double>(PositionsHeld(attention, group.context())) *
                static_cast<double>(layout.KvElementsPerRank(attention)) *
                graph.CountOf(i);
  }
  return ElementBytes(kv_cache,
                      static_cast<double>(group.request_count) * elements);
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
  for (const Op& op : ops) footprint.weights += op.repeat * op.held;
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
