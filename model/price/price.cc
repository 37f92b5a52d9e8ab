#include "model/price/price.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

constexpr double kNorm = 4;
// Of the normal distribution: ten percent lie below -1.2816 sigma.
constexpr double kTenPercentPoint = 1.2815515655446004;

// Busy times at overlapping resources, and fixed costs that nothing hides.
struct Parts {
  PerResource<Seconds> overlapping = {};
  PerResource<Seconds> fixed = {};
  Traffic traffic = {};
  const FamilyFacts* family = nullptr;
  bool extrapolated = false;
};

// What every family starts from. Vector and special-function work runs at peak:
// its counts are approximate, and the families' fractions were fitted without
// it. HBM carries weights and KV, and activations where they do not stay in L2.
Parts Begin(const Op& op, const FamilyFacts& facts, const Device& device,
            double hbm_fraction, bool activations_in_hbm) {
  Parts parts{.family = &facts};
  if (const std::optional<FlopsPerSecond> rate = device.VectorRate()) {
    parts.overlapping[Resource::kVector] = op.work.vector / *rate;
  }
  if (device.spec().special_function_rate.has_value()) {
    parts.overlapping[Resource::kSfu] =
        op.work.special / device.spec().special_function_rate->value;
  }
  parts.traffic.hbm_weights = op.work.weights;
  parts.traffic.hbm_kv = op.work.kv_read + op.work.kv_write;
  if (activations_in_hbm) {
    parts.traffic.hbm_activations = op.work.activations();
  }
  parts.overlapping[Resource::kHbm] =
      parts.traffic.hbm() / (device.HbmBandwidth() * hbm_fraction);
  return parts;
}

void SetTensorTime(const Op& op, const Device& device, double peak_fraction,
                   Parts& parts) {
  parts.overlapping[Resource::kTensor] =
      TensorTimeAtPeak(op, device) / peak_fraction;
}

void AddL2Work(Bytes moved, BytesPerSecond feed, Parts& parts) {
  parts.traffic.l2 = moved;
  parts.overlapping[Resource::kL2] = moved / feed;
}

// "roofline-gemm": a weight tile serves tile_rows tokens and an input tile
// tile_columns outputs, so the operands cross from L2 m / tile_rows and
// n / tile_columns times (at least once). `rows`: of one weight matrix.
Parts PriceGemm(const Op& op, Format compute, double rows, double columns,
                const HardwareView& hardware) {
  const GemmFamily& family = *hardware.stack.GemmFor(compute);
  Parts parts = Begin(op, family.facts, hardware.device, family.hbm_fraction,
                      !StaysInL2(op, hardware.device));
  SetTensorTime(op, hardware.device, family.peak_fraction, parts);
  const double weight_passes = std::max(1.0, rows / family.tile_rows);
  const double input_passes = std::max(1.0, columns / family.tile_columns);
  AddL2Work(op.work.weights * weight_passes +
                op.work.activations_in * input_passes + op.work.activations_out,
            family.l2_feed, parts);
  parts.fixed[Resource::kLaunch] = family.launch;
  parts.fixed[Resource::kSync] = family.wave;
  return parts;
}

Parts PriceGemm(const Op& op, const GemmShape& shape,
                const HardwareView& hardware) {
  return PriceGemm(op, shape.compute, static_cast<double>(shape.m),
                   static_cast<double>(shape.n), hardware);
}

// The rows spread over the experts that see any.
Parts PriceGroupedGemm(const Op& op, const GroupedGemmShape& shape,
                       const HardwareView& hardware) {
  return PriceGemm(op, shape.compute, shape.rows / shape.distinct_experts,
                   static_cast<double>(shape.n), hardware);
}

// "roofline-attention-decode".
Parts PriceDecodeAttention(const Op& op, const HardwareView& hardware) {
  const DecodeAttentionFamily& family = hardware.stack.spec().attention_decode;
  Parts parts = Begin(op, family.facts, hardware.device, family.hbm_fraction,
                      !StaysInL2(op, hardware.device));
  SetTensorTime(op, hardware.device, family.peak_fraction, parts);
  AddL2Work(op.work.activations(), family.l2_feed, parts);
  parts.fixed[Resource::kLaunch] = family.launch;
  parts.fixed[Resource::kSync] = family.combine;
  return parts;
}

// The width of one head's keys, by which prefill rates are listed.
int KeyHeadSize(const Op& op) {
  if (const auto* latent = std::get_if<LatentAttentionShape>(&op.shape)) {
    return latent->attention.key_head_size();
  }
  return std::get<AttentionShape>(op.shape).head_size;
}

// "roofline-attention-prefill": the fraction of the tensor rate holds the
// softmax and the tile re-reads; q, k, v and o move once, at the fitted share
// of HBM, resident or not.
Parts PricePrefillAttention(const Op& op, const HardwareView& hardware) {
  const PrefillAttentionFamily& family =
      hardware.stack.spec().attention_prefill;
  Parts parts =
      Begin(op, family.facts, hardware.device, family.hbm_fraction, true);
  SetTensorTime(op, hardware.device, family.PeakFraction(KeyHeadSize(op)),
                parts);
  // No time: the fitted fraction holds it.
  parts.traffic.l2 = TiledAttentionTraffic(op);
  parts.extrapolated = KeyHeadSize(op) > family.peak_fractions.back().first;
  parts.fixed[Resource::kLaunch] = family.launch;
  return parts;
}

// "roofline-elementwise".
Parts PriceElementwise(const Op& op, const HardwareView& hardware) {
  const ElementwiseFamily& family = hardware.stack.spec().elementwise;
  Parts parts = Begin(op, family.facts, hardware.device, family.hbm_fraction,
                      !StaysInL2(op, hardware.device));
  AddL2Work(op.work.activations(), family.l2_feed, parts);
  parts.fixed[Resource::kLaunch] = family.launch;
  return parts;
}

// "protocol-lines": min over lines of alpha + steps * c + wire bytes / bus.
Parts PriceCollective(const Op& op, const CollectiveShape& shape,
                      const HardwareView& hardware) {
  const CollectiveFamily& family =
      *hardware.stack.spec().collectives[static_cast<size_t>(shape.tier)];
  Parts parts = Begin(op, family.facts, hardware.device,
                      hardware.stack.spec().elementwise.hbm_fraction,
                      !StaysInL2(op, hardware.device));
  const Bytes wire = RingWireBytes(op, shape);
  const int steps = CollectiveRounds(op) * (shape.ranks - 1);
  // The lines are of the whole domain; on a mesh, few ranks use few links.
  const Link& link = *hardware.fabric.FindLink(shape.tier);
  const double links_used =
      link.BandwidthAmong(shape.ranks) / link.bandwidth.value;
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
  parts.overlapping[ResourceOf(shape.tier)] = moving;
  parts.fixed[Resource::kSync] = fixed;
  return parts;
}

Parts PriceHost(const HostShape& shape, const HostCost& host) {
  Parts parts;
  parts.fixed[Resource::kHost] =
      host.step + static_cast<double>(shape.requests) * host.request +
      static_cast<double>(shape.prefill_tokens) * host.prefill_token;
  return parts;
}

Parts PriceParts(const Op& op, const HardwareView& hardware) {
  switch (op.kind) {
    case OpKind::kGemm:
      return PriceGemm(op, std::get<GemmShape>(op.shape), hardware);
    case OpKind::kGroupedGemm:
      return PriceGroupedGemm(op, std::get<GroupedGemmShape>(op.shape),
                              hardware);
    case OpKind::kAttentionDecode:
      return PriceDecodeAttention(op, hardware);
    case OpKind::kAttentionPrefill:
      return PricePrefillAttention(op, hardware);
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
    case OpKind::kSampling:
      return PriceElementwise(op, hardware);
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
      return PriceCollective(op, std::get<CollectiveShape>(op.shape), hardware);
    case OpKind::kHost:
      return PriceHost(std::get<HostShape>(op.shape),
                       hardware.stack.spec().host);
  }
  return Parts{};
}

double FourthPower(double x) { return (x * x) * (x * x); }
static_assert(kNorm == 4, "FourthPower and the root below are for p = 4");

// p-norm of the overlapping parts and its attribution. Scaled by the largest,
// so that tiny times do not underflow.
Seconds Combine(const PerResource<Seconds>& overlapping, Seconds largest,
                PerResource<Seconds>& attributed) {
  if (largest == Seconds::Zero()) return Seconds::Zero();
  PerResource<double> powers;
  double total = 0;
  for (int i = 0; i < kResourceCount; ++i) {
    const Resource r = static_cast<Resource>(i);
    powers[r] = FourthPower(overlapping[r] / largest);
    total += powers[r];
  }
  const Seconds core = largest * std::sqrt(std::sqrt(total));
  for (int i = 0; i < kResourceCount; ++i) {
    const Resource r = static_cast<Resource>(i);
    attributed[r] = core * (powers[r] / total);
  }
  return core;
}

// No physical time is below the floor: where the parts say so, they are raised
// to it and the attribution grows in proportion.
void RaiseToFloor(OpTime& time) {
  time.overlapped = Max(time.overlapped, time.floor);
  time.serial = Max(time.serial, time.floor);
  if (time.estimate < time.floor) {
    for (int i = 0; i < kResourceCount; ++i) {
      const Resource r = static_cast<Resource>(i);
      time.attributed[r] *= time.floor / time.estimate;
    }
    time.estimate = time.floor;
    time.raised_to_floor = true;
  }
}

void SetInterval(double sigma, OpTime& time) {
  const double factor = std::exp(kTenPercentPoint * sigma);
  time.p10 = Max(time.floor, time.estimate / factor);
  time.p90 = time.estimate * factor;
}

Resource Largest(const PerResource<Seconds>& times) {
  return static_cast<Resource>(std::max_element(times.begin(), times.end()) -
                               times.begin());
}

// Without CUDA graphs the host launches each kernel; what the device's own
// time does not cover is exposed. Added to the host op, the last of the list.
void AddEagerLaunches(const OpList& ops, const HostCost& host,
                      std::vector<OpTime>& times) {
  if (host.cuda_graphs || ops.empty() || ops.back().kind != OpKind::kHost) {
    return;
  }
  Seconds device;
  double launches = 0;
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    device += ops[i].repeat * times[i].estimate;
    launches += ops[i].repeat;
  }
  const Seconds exposed =
      Max(Seconds::Zero(), launches * host.eager_launch - device);
  OpTime& time = times.back();
  time.busy[Resource::kHost] += exposed;
  time.attributed[Resource::kHost] += exposed;
  for (Seconds* total :
       {&time.overlapped, &time.estimate, &time.serial, &time.p10, &time.p90}) {
    *total += exposed;
  }
}

}  // namespace

OpTime Price(const Op& op, const HardwareView& hardware) {
  const Parts parts = PriceParts(op, hardware);
  OpTime time;
  time.traffic = parts.traffic;
  time.family = parts.family;
  time.extrapolated = parts.extrapolated;
  time.tensor_at_peak = TensorTimeAtPeak(op, hardware.device);
  time.floor = FloorOf(op, hardware);

  Seconds fixed;
  Seconds sum;
  Seconds largest;
  for (int i = 0; i < kResourceCount; ++i) {
    const Resource r = static_cast<Resource>(i);
    fixed += parts.fixed[r];
    sum += parts.overlapping[r];
    largest = Max(largest, parts.overlapping[r]);
    time.busy[r] = parts.fixed[r] + parts.overlapping[r];
  }
  const Seconds core = Combine(parts.overlapping, largest, time.attributed);
  for (int i = 0; i < kResourceCount; ++i) {
    const Resource r = static_cast<Resource>(i);
    time.attributed[r] += parts.fixed[r];
  }
  time.overlapped = fixed + largest;
  // The norm lies between the largest and the sum; rounding must not undo it.
  time.estimate = Max(time.overlapped, fixed + core);
  time.serial = Max(time.estimate, fixed + sum);
  RaiseToFloor(time);

  if (time.family != nullptr) {
    time.tier = time.family->tier;
    SetInterval(time.family->sigma, time);
  } else {
    SetInterval(0, time);
  }
  time.limiting =
      op.kind == OpKind::kHost ? Resource::kHost : Largest(time.attributed);
  return time;
}

std::vector<OpTime> PriceAll(const OpList& ops, const HardwareView& hardware) {
  std::vector<OpTime> times;
  times.reserve(ops.size());
  for (const Op& op : ops) times.push_back(Price(op, hardware));
  AddEagerLaunches(ops, hardware.stack.spec().host, times);
  return times;
}

std::string DumpTimes(const OpList& ops, const std::vector<OpTime>& times,
                      const ModelGraph& graph) {
  std::string text;
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpTime& time = times[i];
    absl::StrAppendFormat(
        &text, "%s x%d  floor=%.6g  overlapped=%.6g  us=%.6g  serial=%.6g  %s",
        OpName(ops[i], graph), ops[i].repeat, ToMicroseconds(time.floor),
        ToMicroseconds(time.overlapped), ToMicroseconds(time.estimate),
        ToMicroseconds(time.serial), ResourceName(time.limiting));
    for (int r = 0; r < kResourceCount; ++r) {
      const Resource resource = static_cast<Resource>(r);
      if (time.busy[resource] == Seconds::Zero()) continue;
      absl::StrAppendFormat(&text, "  %s=%.6g/%.6g", ResourceName(resource),
                            ToMicroseconds(time.attributed[resource]),
                            ToMicroseconds(time.busy[resource]));
    }
    if (time.raised_to_floor) text += "  raised";
    if (time.extrapolated) text += "  extrapolated";
    text += "\n";
  }
  return text;
}

}  // namespace mansard::model
