// The parts of a layer kind that most tests look at. A test that asks for the
// wrong part ends.
#pragma once

#include <variant>

#include "model/graph/model_graph.h"

namespace mansard::model {

inline GroupedQueryAttention& GroupedOf(LayerKind& kind) {
  return std::get<GroupedQueryAttention>(*kind.attention);
}
inline const GroupedQueryAttention& GroupedOf(const LayerKind& kind) {
  return std::get<GroupedQueryAttention>(*kind.attention);
}
inline DenseFeedForward& DenseOf(LayerKind& kind) {
  return std::get<DenseFeedForward>(kind.feed_forward);
}
inline const DenseFeedForward& DenseOf(const LayerKind& kind) {
  return std::get<DenseFeedForward>(kind.feed_forward);
}

}  // namespace mansard::model
