#include <algorithm>

#include "model/kernels/split_decode.h"
#include "model/price/fine_parts.h"
#include "model/price/part_basics.h"

namespace mansard::model {
namespace {

// What both kinds of attention say the same way. `position`: bytes of one
// position in one KV head.
SplitDecodeProblem ProblemOf(const Op& op, const RequestGroup& group,
                             double query_heads, double kv_heads,
                             Bytes position) {
  SplitDecodeProblem problem;
  problem.sequences = static_cast<double>(group.request_count);
  problem.query_rows = static_cast<double>(group.new_tokens);
  problem.query_heads = query_heads;
  problem.kv_heads = kv_heads;
  problem.position_bytes = position;
  problem.positions = std::max(
      1.0, op.work.kv_read / (problem.sequences * problem.kv_heads * position));
  problem.activations = op.work.activations();
  return problem;
}

SplitDecodeProblem ProblemOf(const Op& op, const AttentionShape& shape) {
  const double width = shape.head_size + shape.value_size();
  SplitDecodeProblem problem =
      ProblemOf(op, shape.group, shape.query_heads, shape.kv_heads,
                ElementBytes(shape.kv_cache, width));
  problem.head_size = shape.head_size;
  problem.value_size = shape.value_size();
  problem.position_flops = Flops::Of(2 * width);
  problem.windowed = shape.window != 0 || shape.chunk != 0;
  problem.hides =
      problem.windowed &&
      problem.positions < static_cast<double>(shape.group.context());
  return problem;
}

// On latent vectors: one KV head, whose keys hold the values.
SplitDecodeProblem ProblemOf(const Op& op, const LatentAttentionShape& shape) {
  const double key = shape.kv_lora_rank + shape.rope_head_size;
  SplitDecodeProblem problem = ProblemOf(op, shape.group, shape.query_heads, 1,
                                         ElementBytes(shape.kv_cache, key));
  problem.head_size = key;
  problem.value_size = shape.kv_lora_rank;
  problem.position_flops = Flops::Of(2 * (key + shape.kv_lora_rank));
  return problem;
}

Parts DecodeParts(const Op& op, SplitDecodeProblem problem,
                  const SplitDecodeFamily& family,
                  const ResolvedHardware& hardware) {
  const Device& device = hardware.view.device;
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction,
                      !StaysInL2(op, hardware.l2_capacity));
  problem.other_hbm = parts.traffic.hbm() - op.work.kv_read;
  const SplitDecodeTimes times = TimeSplitDecode(
      family,
      {hardware.multiprocessors, device.TensorRate(*TensorFormat(op)),
       hardware.hbm, hardware.l2_capacity, hardware.view.warm_cache},
      problem);
  parts.tensor_at_peak = TensorTimeAtPeak(op, device);
  parts.tensor = times.tensor;
  parts.l2 = times.l2;
  parts.traffic.l2 = times.l2_bytes;
  parts.hbm = times.hbm;
  parts.chain = times.chain;
  parts.launch = times.launch;
  parts.sync = times.query + times.combine;
  parts.l2_fix_up = times.combine_traffic;
  return parts;
}

}  // namespace

Parts SplitDecodeParts(const Op& op, const AttentionShape& shape,
                       const SplitDecodeFamily& family,
                       const ResolvedHardware& hardware) {
  return DecodeParts(op, ProblemOf(op, shape), family, hardware);
}

Parts LatentDecodeParts(const Op& op, const LatentAttentionShape& shape,
                        const SplitDecodeFamily& family,
                        const ResolvedHardware& hardware) {
  return DecodeParts(op, ProblemOf(op, shape), family, hardware);
}

}  // namespace mansard::model
