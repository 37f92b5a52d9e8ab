#include "model/price/parts.h"

#include <algorithm>

#include "model/kernels/tiled_gemm.h"
#include "model/price/part_basics.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

// "roofline-gemm": a weight tile serves tile_rows tokens and an input tile
// tile_columns outputs, so the operands cross from L2 m / tile_rows and
// n / tile_columns times (at least once). `rows`: of one weight matrix.
Parts GemmParts(const Op& op, Format compute, double rows, double columns,
                const ResolvedHardware& hardware) {
  const GemmFamily& family = *hardware.view.stack.GemmFor(compute);
  Parts parts = Begin(op, family.facts, hardware, family.hbm_fraction,
                      !StaysInL2(op, hardware.l2_capacity));
  SetTensorTime(op, hardware.view.device, family.peak_fraction, parts);
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
      hardware.view.stack.TiledGemmFor(shape.compute);
  // Weights that are widened on the way are other kernels' work.
  if (tiled != nullptr && shape.weights == shape.compute) {
    return TiledGemmParts(op, shape, *tiled, hardware);
  }
  return GemmParts(op, shape.compute, static_cast<double>(shape.m),
                   static_cast<double>(shape.n), hardware);
}

// The rows spread over the experts that see any.
Parts GroupedGemmParts(const Op& op, const GroupedGemmShape& shape,
                       const ResolvedHardware& hardware) {
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
  if (op.part == Part::kExpertActivation ||
      op.part == Part::kExpertDownQuantize || op.part == Part::kCombine) {
    return ElementwiseUse::kExperts;
  }
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
  if (const std::optional<ElementwiseUse> use = UseOf(op)) {
    finer = stack.fine.elementwise.For(static_cast<size_t>(*use));
  }
  if (finer == nullptr && op.kind == OpKind::kQuantize) {
    finer = stack.fine.quantize.For(
        static_cast<size_t>(*std::get<ElementwiseShape>(op.shape).made));
  }
  return finer != nullptr ? *finer : stack.elementwise;
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

// "protocol-lines": min over lines of alpha + steps * c + wire bytes / bus.
Parts LineParts(const Op& op, int ranks, LinkTier tier, Bytes wire, int steps,
                const ResolvedHardware& hardware) {
  const CollectiveFamily& family =
      *hardware.view.stack.spec().collectives[static_cast<size_t>(tier)];
  Parts parts = Begin(op, family.facts, hardware,
                      hardware.view.stack.spec().elementwise.hbm_fraction,
                      !StaysInL2(op, hardware.l2_capacity));
  // The lines are of the whole domain; on a mesh, few ranks use few links.
  const Link& link = *hardware.view.fabric.FindLink(tier);
  const double links_used = link.BandwidthAmong(ranks) / link.bandwidth.value;
  Seconds fixed;
  Seconds moving = Seconds::Infinity();
  for (const CollectiveFamily::Line& line : family.lines) {
    const Seconds line_fixed = line.alpha + steps * line.step;
    const Seconds line_moving = wire / (line.bus * links_used);
    if (line_fixed + line_moving < fixed + moving) {
      fixed = line_fixed;
      moving = line_moving;
    }
  }
  parts.traffic.link = wire;
  parts.link_resource = ResourceOf(tier);
  parts.link = moving;
  parts.sync = fixed;
  return parts;
}

Parts CollectiveParts(const Op& op, const CollectiveShape& shape,
                      const ResolvedHardware& hardware) {
  return LineParts(op, shape.ranks, shape.tier, RingWireBytes(op, shape),
                   CollectiveRounds(op) * (shape.ranks - 1), hardware);
}

// Without a family of its own: an all-to-all of the same bytes.
Parts ExchangeParts(const Op& op, const ExchangeShape& shape,
                    const ResolvedHardware& hardware) {
  return LineParts(op, shape.ranks, shape.tier, op.work.message,
                   shape.ranks - 1, hardware);
}

Parts HostParts(const HostShape& shape, const HostCost& host) {
  Parts parts;
  parts.host = host.step + static_cast<double>(shape.requests) * host.request +
               static_cast<double>(shape.prefill_tokens) * host.prefill_token;
  return parts;
}

// Infinite where no source gives it.
template <class T>
T RateOf(const std::optional<Sourced<T>>& rate) {
  return rate.has_value() ? rate->value : T::Infinity();
}

BytesPerSecond L2Bandwidth(const DeviceSpec& device) {
  return device.l2.has_value() ? RateOf(device.l2->bandwidth)
                               : BytesPerSecond::Infinity();
}

double Multiprocessors(const DeviceSpec& device) {
  return device.multiprocessor_count.has_value()
             ? device.multiprocessor_count->value
             : 1;
}

}  // namespace

ResolvedHardware::ResolvedHardware(const HardwareView& hardware)
    : view(hardware),
      vector(hardware.device.VectorRate().value_or(FlopsPerSecond::Infinity())),
      special(RateOf(hardware.device.spec().special_function_rate)),
      hbm(hardware.device.HbmBandwidth()),
      l2(L2Bandwidth(hardware.device.spec())),
      l2_capacity(hardware.device.L2Capacity()),
      multiprocessors(Multiprocessors(hardware.device.spec())),
      smem(hardware.device.spec().smem.has_value()
               ? hardware.device.spec().smem->capacity.value / multiprocessors
               : Bytes::Infinity()) {}

Parts PartsOf(const Op& op, const ResolvedHardware& hardware) {
  switch (op.kind) {
    case OpKind::kGemm:
      return GemmParts(op, std::get<GemmShape>(op.shape), hardware);
    case OpKind::kGroupedGemm:
      return GroupedGemmParts(op, std::get<GroupedGemmShape>(op.shape),
                              hardware);
    case OpKind::kAttentionDecode:
      return DecodeAttentionParts(op, hardware);
    case OpKind::kAttentionPrefill:
      return PrefillAttentionParts(op, hardware);
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
    case OpKind::kSendReceive:
      return CollectiveParts(op, std::get<CollectiveShape>(op.shape), hardware);
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
      return ExchangeParts(op, std::get<ExchangeShape>(op.shape), hardware);
    case OpKind::kHost:
      return HostParts(std::get<HostShape>(op.shape),
                       hardware.view.stack.spec().host);
  }
  return Parts{};
}

}  // namespace mansard::model
