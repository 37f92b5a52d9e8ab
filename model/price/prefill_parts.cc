// Prompts' attention on "tiled-prefill" families.

#include "model/kernels/tiled_prefill.h"
#include "model/price/fine_parts.h"
#include "model/price/part_basics.h"

namespace mansard::model {
namespace {

// What both kinds of attention begin with.
PrefillProblem ProblemOf(const RequestGroup& group) {
  PrefillProblem problem;
  problem.sequences = group.request_count;
  problem.new_tokens = group.new_tokens;
  problem.prior_tokens = group.prior_tokens;
  return problem;
}

// Keys and values that this pass makes are read as activations and written to
// the cache; what else it moves it would move without a cache, too.
PrefillProblem ProblemOf(const Op& op, const AttentionShape& shape) {
  PrefillProblem problem = ProblemOf(shape.group);
  problem.query_heads = shape.query_heads;
  problem.kv_heads = shape.kv_heads;
  problem.key_size = shape.head_size;
  problem.value_size = shape.value_size();
  problem.window = shape.window;
  problem.chunk = shape.chunk;
  problem.causal = shape.causal && !shape.cross;
  if (shape.cross) {
    problem.prior_tokens = shape.group.encoder_tokens - shape.group.new_tokens;
  }
  const Bytes all = op.work.kv_read + op.work.kv_write + op.work.activations();
  if (op.work.kv_write > Bytes::Zero()) {
    const double width = static_cast<double>(shape.kv_heads);
    const int64_t made =
        shape.cross ? shape.group.encoder_tokens : shape.group.new_tokens;
    problem.appended_tokens =
        static_cast<double>(shape.group.request_count * made);
    problem.appended_elements = width * shape.head_size;
    problem.appended =
        op.work.kv_write +
        ElementBytes(shape.input, problem.appended_tokens * width *
                                      (shape.head_size + shape.value_size()));
  }
  problem.moved = Max(Bytes::Zero(), all - problem.appended);
  return problem;
}

// On expanded keys and values, of which every query head has its own; latent
// vectors are appended.
PrefillProblem ProblemOf(const Op& op, const LatentAttentionShape& shape) {
  PrefillProblem problem = ProblemOf(shape.group);
  problem.query_heads = shape.query_heads;
  problem.kv_heads = shape.query_heads;
  problem.key_size = shape.key_head_size();
  problem.value_size = shape.value_head_size;
  problem.moved = op.work.kv_read + op.work.activations();
  problem.appended = op.work.kv_write;
  problem.appended_tokens = static_cast<double>(shape.group.total_new_tokens());
  problem.appended_elements = shape.kv_lora_rank + shape.rope_head_size;
  return problem;
}

Parts PartsOf(const Op& op, const PrefillProblem& problem,
              const TiledPrefillFamily& family,
              const ResolvedHardware& hardware) {
  const Device& device = hardware.view.device;
  const TiledPrefillTimes times =
      TimeTiledPrefill(family,
                       {hardware.multiprocessors,
                        device.TensorRate(*TensorFormat(op)), hardware.hbm},
                       problem);
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction, true);
  parts.tensor_at_peak = TensorTimeAtPeak(op, device);
  parts.tensor = times.tensor;
  parts.chain = times.chain;
  parts.hbm = Seconds::Zero();
  parts.hbm_after = times.hbm;
  // No time: the fitted fraction holds it.
  parts.traffic.l2 = TiledAttentionTraffic(op);
  parts.launch = times.launch;
  parts.sync = times.starts + times.tail + times.append;
  parts.droop = times.droop;
  parts.extrapolated = problem.key_size > family.peak_fractions.back().first;
  return parts;
}

}  // namespace

Parts TiledPrefillParts(const Op& op, const AttentionShape& shape,
                        const TiledPrefillFamily& family,
                        const ResolvedHardware& hardware) {
  Parts parts = PartsOf(op, ProblemOf(op, shape), family, hardware);
  if (shape.group.role == Role::kDecode) parts.launch = Seconds::Zero();
  return parts;
}

Parts LatentPrefillParts(const Op& op, const LatentAttentionShape& shape,
                         const TiledPrefillFamily& family,
                         const ResolvedHardware& hardware) {
  return PartsOf(op, ProblemOf(op, shape), family, hardware);
}

}  // namespace mansard::model
