#include "model/price/price.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "model/base/p_norm.h"
#include "model/price/op_sizes.h"
#include "model/price/parts.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

// Of the normal distribution: ten percent lie below -1.2816 sigma.
constexpr double kTenPercentPoint = 1.2815515655446004;

// Parts put together. All times of one repeat.
struct Combination {
  static constexpr int kOverlapping = 9;

  Seconds fixed;
  std::array<Seconds, kOverlapping> times;       // That overlap.
  Seconds largest;                               // Of those.
  std::array<double, kOverlapping> powers = {};  // (time / largest)^p.
  double power_sum = 0;
  Seconds core;  // The p-norm.
  Seconds overlapped;
  Seconds estimate;  // Not below `overlapped`; may be below the floor.
};

// Scaled by the largest time, so that tiny times do not underflow. Where even
// its reciprocal is no number, it stands alone.
Combination Combine(const Parts& parts) {
  Combination all;
  all.fixed = parts.launch + parts.sync + parts.host + parts.droop +
              parts.l2_fix_up + parts.hbm_after;
  all.times = {parts.tensor, parts.vector, parts.sfu,   parts.l2,     parts.hbm,
               parts.link,   parts.smem,   parts.chain, parts.network};
  for (Seconds time : all.times) all.largest = Max(all.largest, time);
  if (all.largest.value() >= std::numeric_limits<double>::min()) {
    const double scale = 1 / all.largest.value();
    for (size_t i = 0; i < all.times.size(); ++i) {
      all.powers[i] = FourthPower(all.times[i].value() * scale);
      all.power_sum += all.powers[i];
    }
    all.core = all.largest * FourthRoot(all.power_sum);
  }
  all.overlapped = all.fixed + all.largest;
  // The norm lies between the largest and the sum; rounding must not undo it.
  all.estimate = Max(all.overlapped, all.fixed + all.core);
  return all;
}

void Attribute(const Parts& parts, const Combination& all, OpTime& time) {
  const std::array<Resource, Combination::kOverlapping> resources = {
      Resource::kTensor, Resource::kVector, Resource::kSfu,
      Resource::kL2,     Resource::kHbm,    parts.link_resource,
      Resource::kSmem,   Resource::kSync,   parts.network_resource};
  const Seconds per_power =
      all.power_sum > 0 ? all.core / all.power_sum : Seconds::Zero();
  for (size_t i = 0; i < resources.size(); ++i) {
    time.busy[resources[i]] += all.times[i];
    time.attributed[resources[i]] += all.powers[i] * per_power;
  }
  const std::pair<Resource, Seconds> fixed[] = {
      {Resource::kLaunch, parts.launch}, {Resource::kSync, parts.sync},
      {Resource::kHost, parts.host},     {Resource::kTensor, parts.droop},
      {Resource::kL2, parts.l2_fix_up},  {Resource::kHbm, parts.hbm_after}};
  for (const auto& [resource, cost] : fixed) {
    time.busy[resource] += cost;
    time.attributed[resource] += cost;
  }
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
// time does not cover is exposed.
class EagerLaunches {
 public:
  explicit EagerLaunches(const HostCost& host) : host_(host) {}

  void Add(const Op& op, Seconds estimate) {
    device_ += op.repeat * estimate;
    launches_ += op.repeat;
  }

  // Of the ops added so far.
  Seconds Exposed() const {
    if (host_.cuda_graphs) return Seconds::Zero();
    return Max(Seconds::Zero(), launches_ * host_.eager_launch - device_);
  }

 private:
  const HostCost& host_;
  Seconds device_;
  double launches_ = 0;
};

// To the host op, the last of the list.
void AddEagerLaunches(const OpList& ops, const HostCost& host,
                      std::vector<OpTime>& times) {
  if (host.cuda_graphs || ops.empty() || ops.back().kind != OpKind::kHost) {
    return;
  }
  EagerLaunches eager(host);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    eager.Add(ops[i], times[i].estimate);
  }
  AddExposedLaunches(eager.Exposed(), times.back());
}

// The estimate alone: PriceInto's, bit for bit.
Seconds EstimateOf(const Op& op, const ResolvedHardware& hardware) {
  const Parts parts = PartsOf(op, hardware);
  return Max(Combine(parts).estimate,
             FloorOf(op, parts.tensor_at_peak, hardware));
}

// Whether one of the op's sizes lies outside what its family was fitted on.
bool LiesOutside(const Op& op, const FamilyFacts* family) {
  if (family == nullptr || family->fitted_ranges.empty()) return false;
  bool inside = true;
  VisitSizes(op, [&](SizeName name, double size) {
    inside &= family->fitted_ranges[name].Holds(size);
  });
  return !inside;
}

void PriceInto(const Op& op, const ResolvedHardware& hardware, OpTime& time) {
  const Parts parts = PartsOf(op, hardware);
  const Combination all = Combine(parts);
  time.traffic = parts.traffic;
  time.family = parts.family;
  time.extrapolated = parts.extrapolated || LiesOutside(op, parts.family);
  time.way = parts.way;
  time.tensor_at_peak = parts.tensor_at_peak;
  time.floor = FloorOf(op, parts.tensor_at_peak, hardware);
  Attribute(parts, all, time);
  time.overlapped = all.overlapped;
  time.estimate = all.estimate;
  Seconds sum;
  for (Seconds busy : all.times) sum += busy;
  time.serial = Max(time.estimate, all.fixed + sum);
  RaiseToFloor(time);

  double sigma = 0;
  if (time.family != nullptr) {
    time.tier = parts.transferred
                    ? std::min(time.family->tier, Tier::kTransferred)
                    : time.family->tier;
    sigma = time.family->sigma;
  }
  SetInterval(sigma, time);
  time.limiting =
      op.kind == OpKind::kHost ? Resource::kHost : Largest(time.attributed);
}

}  // namespace

OpTime Price(const Op& op, const HardwareView& hardware) {
  OpTime time;
  PriceInto(op, ResolvedHardware(hardware), time);
  return time;
}

std::vector<OpTime> PriceAll(const OpList& ops, const HardwareView& hardware) {
  std::vector<OpTime> times;
  PriceAll(ops, hardware, times);
  return times;
}

void PriceAll(const OpList& ops, const HardwareView& hardware,
              std::vector<OpTime>& times) {
  const ResolvedHardware resolved(hardware);
  times.clear();
  times.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    PriceInto(ops[i], resolved, times[i]);
  }
  AddEagerLaunches(ops, hardware.stack.spec().host, times);
}

Seconds OpPricer::Estimate(const Op& op) const {
  return EstimateOf(op, hardware_);
}

Seconds ExposedLaunches(const OpList& ops, const HostCost& host,
                        Seconds device) {
  EagerLaunches eager(host);
  for (const Op& op : ops) {
    if (op.kind != OpKind::kHost) eager.Add(op, Seconds::Zero());
  }
  return Max(Seconds::Zero(), eager.Exposed() - device);
}

void AddExposedLaunches(Seconds exposed, OpTime& host) {
  host.busy[Resource::kHost] += exposed;
  host.attributed[Resource::kHost] += exposed;
  for (Seconds* total :
       {&host.overlapped, &host.estimate, &host.serial, &host.p10, &host.p90}) {
    *total += exposed;
  }
}

Seconds SumOfEstimates(const OpList& ops, const HardwareView& hardware) {
  const ResolvedHardware resolved(hardware);
  EagerLaunches eager(hardware.stack.spec().host);
  Seconds sum;
  for (const Op& op : ops) {
    Seconds estimate = EstimateOf(op, resolved);
    if (op.kind == OpKind::kHost && &op == &ops.back()) {
      estimate += eager.Exposed();
    }
    eager.Add(op, estimate);
    sum += op.repeat * estimate;
  }
  return sum;
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
