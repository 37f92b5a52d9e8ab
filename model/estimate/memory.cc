#include "model/estimate/memory.h"

#include <algorithm>
#include <cmath>

namespace mansard::model {
namespace {

// Of one request, on one rank.
struct RequestBytes {
  Bytes cache;
  Bytes state;
};

Bytes StateBytes(const RecurrentMixer& mine, const PassFormats& formats) {
  return ElementBytes(formats.precision.state,
                      static_cast<double>(mine.state_elements())) +
         ElementBytes(formats.hidden,
                      static_cast<double>(mine.conv_state_elements()));
}

RequestBytes BytesOf(const RequestGroup& group, const ModelGraph& graph,
                     const Layout& layout, const PassFormats& formats) {
  RequestBytes bytes;
  for (size_t i = 0; i < graph.spec().layer_kinds.size(); ++i) {
    const LayerKind& kind = graph.spec().layer_kinds[i];
    const double count = graph.CountOf(i);
    if (kind.attention.has_value()) {
      bytes.cache +=
          count * ElementBytes(formats.precision.kv_cache,
                               layout.CachedElements(*kind.attention, group));
      bytes.state +=
          count *
          ElementBytes(
              formats.precision.state,
              static_cast<double>(layout.PooledStateElements(*kind.attention)));
    }
    if (kind.recurrent.has_value()) {
      bytes.state +=
          count * StateBytes(layout.OnRank(*kind.recurrent), formats);
    }
  }
  return bytes;
}

// What another token adds to one layer's cache while no window is full: its own
// entry, and its share of a compressed one.
double ElementsPerToken(const Attention& attention, const Layout& layout) {
  const auto held = [&](int64_t context) {
    return layout.CachedElements(attention,
                                 {.request_count = 1, .new_tokens = context});
  };
  const auto* compressed = std::get_if<CompressedAttention>(&attention);
  if (compressed == nullptr || compressed->ratio <= 1) return held(1);
  const int64_t ratio = compressed->ratio;
  // Past the window, entries alone grow. No entry is whole before `ratio`
  // positions are there.
  const int64_t full = compressed->sliding_window * ratio;
  const double entry = held(full + ratio) - held(full);
  return held(1) + entry / static_cast<double>(ratio);
}

// Tokens of all requests together that `left` holds; 0 where no cache grows.
int64_t TokenCapacity(Bytes left, const ModelGraph& graph, const Layout& layout,
                      Format kv_cache) {
  double elements = 0;
  for (size_t i = 0; i < graph.spec().layer_kinds.size(); ++i) {
    const std::optional<Attention>& attention =
        graph.spec().layer_kinds[i].attention;
    if (!attention.has_value()) continue;
    elements += graph.CountOf(i) * ElementsPerToken(*attention, layout);
  }
  if (elements == 0) return 0;
  return static_cast<int64_t>(
      std::floor(Max(Bytes::Zero(), left) / ElementBytes(kv_cache, elements)));
}

}  // namespace

MemoryFootprint FootprintOf(const OpList& ops, const ModelGraph& graph,
                            const ForwardPass& pass, const Layout& layout,
                            const PassFormats& formats, const Device& device) {
  MemoryFootprint footprint;
  footprint.capacity = device.HbmCapacity();
  for (const Op& op : ops) footprint.weights += op.repeat * op.held;
  for (const RequestGroup& group : pass.groups()) {
    const RequestBytes each = BytesOf(group, graph, layout, formats);
    const auto requests = static_cast<double>(group.request_count);
    footprint.kv_cache += requests * each.cache;
    footprint.state += requests * each.state;
  }
  footprint.kv_token_capacity =
      TokenCapacity(footprint.capacity - footprint.weights - footprint.state,
                    graph, layout, formats.precision.kv_cache);
  footprint.fits = footprint.free() >= Bytes::Zero();
  return footprint;
}

}  // namespace mansard::model
