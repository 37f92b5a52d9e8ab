#include "model/price/parts.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/tiled_gemm.h"
#include "model/price/fine_parts.h"
#include "model/price/op_group.h"
#include "model/price/part_basics.h"
#include "model/price/tiled_families.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

// "roofline-gemm": a weight tile serves tile_rows tokens and an input tile
// tile_columns outputs, so the operands cross from L2 m / tile_rows and
// n / tile_columns times (at least once). `rows`: of one weight matrix. Of
// the weights' time in memory copied_weights stands before all computation.
Parts GemmParts(const Op& op, Format compute, double rows, double columns,
                const ResolvedHardware& hardware) {
  const GemmFamily& family = *hardware.view.stack.GemmFor(compute);
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction,
                      !StaysInL2(op, hardware.l2_capacity));
  parts.hbm_after = parts.traffic.hbm_weights * family.copied_weights /
                    (hardware.hbm * family.hbm_fraction);
  parts.hbm = parts.hbm - parts.hbm_after;
  SetTensorTime(op, hardware.view.device, family.peak_fraction, parts);
  if (family.whole_rows > 0) {
    parts.tensor *=
        std::ceil(rows / family.whole_rows) * family.whole_rows / rows;
  }
  const double weight_passes = std::max(1.0, rows / family.tile_rows);
  const double input_passes = std::max(1.0, columns / family.tile_columns);
  AddL2Work(op.work.weights * weight_passes +
                op.work.activations_in * input_passes + op.work.activations_out,
            family.l2_feed, parts);
  parts.launch = family.launch;
  parts.sync = family.wave;
  return parts;
}

// The bytes of an element hold its share of scales and of a bias.
GemmProblem ProblemOf(const Op& op, const GemmShape& shape) {
  GemmProblem problem;
  problem.m = static_cast<double>(shape.m);
  problem.n = static_cast<double>(shape.n);
  problem.k = static_cast<double>(shape.k);
  problem.batch = static_cast<double>(shape.batch);
  const Work& work = op.work;
  problem.input_bytes =
      work.activations_in.value() / (problem.batch * problem.m * problem.k);
  problem.weight_bytes =
      work.weights.value() / (problem.batch * problem.n * problem.k);
  problem.output_bytes =
      work.activations_out.value() / (problem.batch * problem.m * problem.n);
  return problem;
}

// "tiled-gemm". Of tensor units and their feed from shared memory, the slower
// hides the other.
Parts TiledGemmParts(const Op& op, const GemmShape& shape,
                     const TiledGemmFamily& family,
                     const ResolvedHardware& hardware) {
  const Device& device = hardware.view.device;
  const TiledGemmTimes times =
      TimeTiledGemm(family,
                    {hardware.multiprocessors, device.TensorRate(shape.compute),
                     hardware.hbm, hardware.smem},
                    ProblemOf(op, shape));
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction, true);
  parts.tensor_at_peak = TensorTimeAtPeak(op, device);
  if (times.smem > times.tensor) {
    parts.smem = times.smem;
  } else {
    parts.tensor = times.tensor;
  }
  const double passes = times.hbm_bytes / parts.traffic.hbm();
  parts.traffic.hbm_weights *= passes;
  parts.traffic.hbm_activations *= passes;
  parts.traffic.l2 = times.l2_bytes;
  parts.l2 = times.l2;
  parts.hbm = times.hbm;
  parts.chain = times.chain;
  parts.launch = times.launch;
  parts.sync = times.waves + times.split;
  parts.droop = times.droop;
  parts.l2_fix_up = times.split_traffic;
  return parts;
}

Parts GemmParts(const Op& op, const GemmShape& shape,
                const ResolvedHardware& hardware) {
  const TiledGemmFamily* tiled =
      TiledFamilyFor(shape, hardware.view.stack.spec());
  if (tiled != nullptr) return TiledGemmParts(op, shape, *tiled, hardware);
  return GemmParts(op, shape.compute, static_cast<double>(shape.m),
                   static_cast<double>(shape.n), hardware);
}

// The rows spread over the experts that see any.
Parts GroupedGemmParts(const Op& op, const GroupedGemmShape& shape,
                       const ResolvedHardware& hardware) {
  const FineFamilies& fine = hardware.view.stack.spec().fine;
  const size_t weights = static_cast<size_t>(shape.weights);
  const bool widens =
      IsLowPrecision(shape.weights) && !IsLowPrecision(shape.input);
  const ExpertGemmFamily* family =
      widens ? fine.widened_experts.For(weights) : nullptr;
  if (family == nullptr) family = fine.experts.For(weights);
  if (family != nullptr) return ExpertGemmParts(op, shape, *family, hardware);
  return GemmParts(op, shape.compute, shape.rows / shape.distinct_experts,
                   static_cast<double>(shape.n), hardware);
}

// "roofline-attention-decode".
Parts DecodeAttentionParts(const Op& op, const ResolvedHardware& hardware) {
  const DecodeAttentionFamily& family =
      hardware.view.stack.spec().attention_decode;
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction,
                      !StaysInL2(op, hardware.l2_capacity));
  SetTensorTime(op, hardware.view.device, family.peak_fraction, parts);
  AddL2Work(op.work.activations(), family.l2_feed, parts);
  parts.launch = family.launch;
  parts.sync = family.combine;
  return parts;
}

// A fine family's, where the stack has one for the cache's format.
Parts DecodeParts(const Op& op, const ResolvedHardware& hardware) {
  const FineFamilies& fine = hardware.view.stack.spec().fine;
  const auto case_of = [](Format format) {
    return static_cast<size_t>(format);
  };
  if (const auto* shape = std::get_if<AttentionShape>(&op.shape)) {
    const TiledPrefillFamily* prompts =
        fine.tiled_prefill.For(case_of(shape->kv_cache));
    if (prompts != nullptr && prompts->decodes_as_prompts > 0 &&
        shape->with_prompts && shape->fused) {
      return TiledPrefillParts(op, *shape, *prompts, hardware);
    }
    const SplitDecodeFamily* family =
        fine.split_decode.For(case_of(shape->kv_cache));
    if (family != nullptr) {
      return SplitDecodeParts(op, *shape, *family, hardware);
    }
  }
  if (const auto* shape = std::get_if<LatentAttentionShape>(&op.shape)) {
    const SplitDecodeFamily* family =
        fine.latent_decode.For(case_of(shape->kv_cache));
    if (family != nullptr) {
      return LatentDecodeParts(op, *shape, *family, hardware);
    }
  }
  return DecodeAttentionParts(op, hardware);
}

// The width of one head's keys, by which prefill rates are listed.
int KeyHeadSize(const Op& op) {
  if (const auto* latent = std::get_if<LatentAttentionShape>(&op.shape)) {
    return latent->absorbed() ? latent->kv_lora_rank + latent->rope_head_size
                              : latent->key_head_size();
  }
  if (const auto* entries = std::get_if<CompressedAttentionShape>(&op.shape)) {
    return entries->head_size;
  }
  return std::get<AttentionShape>(op.shape).head_size;
}

// "roofline-attention-prefill": the fraction of the tensor rate holds the
// softmax and the tile re-reads; q, k, v and o move once, at the fitted share
// of HBM, resident or not.
Parts PrefillAttentionParts(const Op& op, const ResolvedHardware& hardware) {
  const PrefillAttentionFamily& family =
      hardware.view.stack.spec().attention_prefill;
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction, true);
  SetTensorTime(op, hardware.view.device, family.PeakFraction(KeyHeadSize(op)),
                parts);
  // No time: the fitted fraction holds it.
  parts.traffic.l2 = TiledAttentionTraffic(op);
  parts.extrapolated = KeyHeadSize(op) > family.peak_fractions.back().first;
  parts.launch = family.launch;
  return parts;
}

// The use that a finer family may serve.
std::optional<ElementwiseUse> UseOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kNorm:
      return ElementwiseUse::kNorm;
    case OpKind::kActivation:
      return ElementwiseUse::kActivation;
    case OpKind::kRope:
      return ElementwiseUse::kRope;
    case OpKind::kResidual:
      return ElementwiseUse::kResidual;
    case OpKind::kEmbedding:
      return ElementwiseUse::kEmbedding;
    case OpKind::kSampling:
      return ElementwiseUse::kSampling;
    case OpKind::kRouting:
      return ElementwiseUse::kRouting;
    case OpKind::kGemm:
    case OpKind::kGroupedGemm:
    case OpKind::kAttentionDecode:
    case OpKind::kAttentionPrefill:
    case OpKind::kAdd:
    case OpKind::kQuantize:
    case OpKind::kDequantize:
    case OpKind::kCombine:
    case OpKind::kGate:
    case OpKind::kConvolution:
    case OpKind::kStateUpdate:
    case OpKind::kStateScan:
    case OpKind::kIndexScores:
    case OpKind::kSelect:
    case OpKind::kCompress:
    case OpKind::kStreamMix:
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll:
    case OpKind::kBroadcast:
    case OpKind::kSendReceive:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
    case OpKind::kHost:
      return std::nullopt;
  }
  return std::nullopt;
}

const ElementwiseFamily& ElementwiseFor(const Op& op,
                                        const KernelStackSpec& stack) {
  const ElementwiseFamily* finer = nullptr;
  const auto* shape = std::get_if<ElementwiseShape>(&op.shape);
  if (shape != nullptr && shape->experts.has_value()) {
    finer =
        stack.fine.expert_elementwise.For(static_cast<size_t>(*shape->experts));
  }
  if (finer != nullptr) return *finer;
  if (const std::optional<ElementwiseUse> use = UseOf(op)) {
    finer = stack.fine.elementwise.For(static_cast<size_t>(*use));
  }
  if (finer == nullptr && op.kind == OpKind::kQuantize) {
    finer = stack.fine.quantize.For(
        static_cast<size_t>(*std::get<ElementwiseShape>(op.shape).made));
  }
  return finer != nullptr ? *finer : stack.elementwise;
}

// A fine family's, where the stack has one for the cache's format.
Parts PrefillParts(const Op& op, const ResolvedHardware& hardware) {
  const FineFamilies& fine = hardware.view.stack.spec().fine;
  if (const auto* shape = std::get_if<AttentionShape>(&op.shape)) {
    const size_t cache = static_cast<size_t>(shape->kv_cache);
    const bool is_narrow = IsLowPrecision(shape->input);
    const TiledPrefillFamily* narrow =
        is_narrow ? fine.narrow_prefill.For(cache) : nullptr;
    const TiledPrefillFamily* family =
        narrow != nullptr ? narrow : fine.tiled_prefill.For(cache);
    if (family != nullptr && shape->fused) {
      Parts parts = TiledPrefillParts(op, *shape, *family, hardware);
      // Fitted on 16-bit arithmetic, whatever the cache holds.
      parts.extrapolated |= is_narrow && narrow == nullptr;
      return parts;
    }
  }
  if (const auto* shape = std::get_if<LatentAttentionShape>(&op.shape)) {
    const TiledPrefillFamily* family =
        fine.latent_prefill.For(static_cast<size_t>(shape->kv_cache));
    if (family != nullptr && shape->fused && !shape->absorbed()) {
      return LatentPrefillParts(op, *shape, *family, hardware);
    }
  }
  return PrefillAttentionParts(op, hardware);
}

// "roofline-elementwise".
Parts ElementwiseParts(const Op& op, const ResolvedHardware& hardware) {
  const ElementwiseFamily& family =
      ElementwiseFor(op, hardware.view.stack.spec());
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction,
                      !StaysInL2(op, hardware.l2_capacity));
  AddL2Work(op.work.activations(), family.l2_feed, parts);
  parts.launch = family.launch;
  return parts;
}

// Tensor work beside a stream of operands, without a family of its own: the
// element-wise family's memory side, and the GEMM's share of the tensor rate.
Parts StreamingParts(const Op& op, const ResolvedHardware& hardware) {
  Parts parts = ElementwiseParts(op, hardware);
  SetTensorTime(op, hardware.view.device,
                hardware.view.stack.GemmFor(*TensorFormat(op))->peak_fraction,
                parts);
  return parts;
}

Parts HostParts(const HostShape& shape, const HostCost& host) {
  Parts parts;
  parts.host = host.step + static_cast<double>(shape.requests) * host.request +
               static_cast<double>(shape.prefill_tokens) * host.prefill_token;
  return parts;
}

}  // namespace

namespace {

Parts KernelParts(const Op& op, const ResolvedHardware& hardware) {
  switch (op.kind) {
    case OpKind::kGemm:
      return GemmParts(op, std::get<GemmShape>(op.shape), hardware);
    case OpKind::kGroupedGemm:
      return GroupedGemmParts(op, std::get<GroupedGemmShape>(op.shape),
                              hardware);
    case OpKind::kAttentionDecode:
      return DecodeParts(op, hardware);
    case OpKind::kAttentionPrefill:
      return PrefillParts(op, hardware);
    case OpKind::kEmbedding:
    case OpKind::kNorm:
    case OpKind::kRope:
    case OpKind::kActivation:
    case OpKind::kResidual:
    case OpKind::kAdd:
    case OpKind::kQuantize:
    case OpKind::kDequantize:
    case OpKind::kRouting:
    case OpKind::kCombine:
    case OpKind::kGate:
    case OpKind::kConvolution:
    case OpKind::kStateUpdate:
    case OpKind::kSelect:
    case OpKind::kCompress:
    case OpKind::kStreamMix:
    case OpKind::kSampling:
      return ElementwiseParts(op, hardware);
    case OpKind::kStateScan:
    case OpKind::kIndexScores:
      return StreamingParts(op, hardware);
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll:
    case OpKind::kBroadcast:
    case OpKind::kSendReceive:
      return CollectiveParts(op, hardware);
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
      return ExchangeParts(op, hardware);
    case OpKind::kHost:
      return HostParts(std::get<HostShape>(op.shape),
                       hardware.view.stack.spec().host);
  }
  return Parts{};
}

// The engine runs the kernels so much slower, or faster.
void Scale(double factor, Parts& parts) {
  for (Seconds* time : {&parts.tensor, &parts.smem, &parts.chain, &parts.vector,
                        &parts.sfu, &parts.l2, &parts.hbm, &parts.link,
                        &parts.network, &parts.launch, &parts.sync, &parts.host,
                        &parts.droop, &parts.l2_fix_up, &parts.hbm_after}) {
    *time *= factor;
  }
}

}  // namespace

Parts PartsOf(const Op& op, const ResolvedHardware& hardware) {
  Parts parts = KernelParts(op, hardware);
  const auto& engine = hardware.view.stack.spec().engine_costs;
  if (engine.has_value()) {
    const OpCost& cost = engine->costs[static_cast<size_t>(OpGroupOf(op))];
    Scale(cost.factor, parts);
    parts.host += cost.each;
  }
  return parts;
}

}  // namespace mansard::model
