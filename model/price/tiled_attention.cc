#include <algorithm>
#include <variant>

#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

// Widths of one head, in elements.
struct HeadWidths {
  double heads;
  double key;
  double value;
  bool fused;
  Format input;
  const RequestGroup& group;
};

HeadWidths WidthsOf(const Op& op) {
  if (const auto* latent = std::get_if<LatentAttentionShape>(&op.shape)) {
    return {static_cast<double>(latent->attention.query_heads),
            static_cast<double>(latent->attention.key_head_size()),
            static_cast<double>(latent->attention.value_head_size),
            latent->fused,
            latent->input,
            latent->group};
  }
  const auto& shape = std::get<AttentionShape>(op.shape);
  const auto size = static_cast<double>(shape.head_size);
  return {static_cast<double>(shape.query_heads),
          size,
          size,
          shape.fused,
          shape.input,
          shape.group};
}

}  // namespace

Bytes TiledAttentionTraffic(const Op& op) {
  constexpr double kQueryTileRows = 128;
  const HeadWidths head = WidthsOf(op);
  if (!head.fused) return op.work.activations();
  const auto tokens = static_cast<double>(head.group.total_new_tokens());
  const double tile_rows =
      std::min(kQueryTileRows, static_cast<double>(head.group.new_tokens));
  // One exponential a score.
  const double rows_read = op.work.special.value() / tile_rows;
  return ElementBytes(
      head.input, (tokens * head.heads + rows_read) * (head.key + head.value));
}

}  // namespace mansard::model
