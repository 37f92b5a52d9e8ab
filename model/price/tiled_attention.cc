#include <algorithm>
#include <variant>

#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

constexpr double kQueryTileRows = 128;

// What moves, in elements.
struct HeadWidths {
  double heads;
  double query;      // In and out, of one head and token.
  double position;   // Read for one position by one tile of queries.
  double tile_rows;  // Queries that share a read.
  bool fused;
  Format input;
  const RequestGroup& group;
};

double TileRows(double rows) { return std::min(kQueryTileRows, rows); }

HeadWidths WidthsOf(const AttentionShape& shape) {
  const double width = shape.head_size + shape.value_size();
  return {static_cast<double>(shape.query_heads),
          width,
          width,
          TileRows(static_cast<double>(shape.group.new_tokens)),
          shape.fused,
          shape.input,
          shape.group};
}

// Absorbed: a tile is the heads of one token, which alone chose its positions;
// a latent vector is key and value at once.
HeadWidths WidthsOf(const LatentAttentionShape& shape) {
  const double heads = shape.query_heads;
  const double latent = shape.kv_lora_rank + shape.rope_head_size;
  const double expanded = shape.key_head_size() + shape.value_head_size;
  const bool absorbed = shape.absorbed();
  return {
      heads,
      absorbed ? latent + shape.kv_lora_rank : expanded,
      absorbed ? latent : expanded,
      TileRows(absorbed ? heads : static_cast<double>(shape.group.new_tokens)),
      shape.fused,
      shape.input,
      shape.group};
}

// One head is key and value of all query heads. Tokens that chose entries share
// no tile.
HeadWidths WidthsOf(const CompressedAttentionShape& shape) {
  const double heads = shape.query_heads;
  const double size = shape.head_size;
  const double tokens =
      shape.top_k == 0 ? static_cast<double>(shape.group.new_tokens) : 1;
  return {heads,       2 * size,    size,       TileRows(heads * tokens),
          shape.fused, shape.input, shape.group};
}

HeadWidths WidthsOf(const Op& op) {
  if (const auto* latent = std::get_if<LatentAttentionShape>(&op.shape)) {
    return WidthsOf(*latent);
  }
  if (const auto* entries = std::get_if<CompressedAttentionShape>(&op.shape)) {
    return WidthsOf(*entries);
  }
  return WidthsOf(std::get<AttentionShape>(op.shape));
}

}  // namespace

Bytes TiledAttentionTraffic(const Op& op) {
  const HeadWidths head = WidthsOf(op);
  if (!head.fused) return op.work.activations();
  const auto tokens = static_cast<double>(head.group.total_new_tokens());
  // One exponential a score.
  const double positions_read = op.work.special.value() / head.tile_rows;
  return ElementBytes(head.input, tokens * head.heads * head.query +
                                      positions_read * head.position);
}

}  // namespace mansard::model
