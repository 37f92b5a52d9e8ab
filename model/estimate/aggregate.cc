#include "model/estimate/aggregate.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

WaterfallRow RowOf(Resource resource) {
  switch (resource) {
    case Resource::kTensor:
    case Resource::kVector:
    case Resource::kSfu:
      return WaterfallRow::kCompute;
    case Resource::kSmem:
      return WaterfallRow::kSmem;
    case Resource::kL2:
      return WaterfallRow::kL2;
    case Resource::kHbm:
      return WaterfallRow::kHbm;
    case Resource::kNvlink:
      return WaterfallRow::kNvlink;
    case Resource::kPcie:
      return WaterfallRow::kPcie;
    case Resource::kRdma:
      return WaterfallRow::kRdma;
    case Resource::kLaunch:
      return WaterfallRow::kLaunch;
    case Resource::kSync:
      return WaterfallRow::kSync;
    case Resource::kHost:
      return WaterfallRow::kHost;
  }
  return WaterfallRow::kHost;
}

class Aggregation {
 public:
  explicit Aggregation(const HardwareView& hardware) : hardware_(hardware) {
    SetPeaks();
  }
  // Of ops after those of `step`.
  Aggregation(const HardwareView& hardware, const PhaseEstimate& step)
      : hardware_(hardware), step_(step) {}

  void Add(const Op& op, const OpTime& time) { Add(op, time, op.repeat); }

  // `n` repeats of it.
  void Add(const Op& op, const OpTime& time, double n) {
    step_.floor += n * time.floor;
    step_.overlapped += n * time.overlapped;
    step_.estimate += n * time.estimate;
    if (op.draft) step_.draft += n * time.estimate;
    step_.serial += n * time.serial;
    step_.p10 += n * time.p10;
    step_.p90 += n * time.p90;
    tensor_at_peak_ += n * time.tensor_at_peak;
    if (time.family != nullptr) step_.tier = std::min(step_.tier, time.tier);
    for (int i = 0; i < kResourceCount; ++i) {
      const Resource r = static_cast<Resource>(i);
      busy_[r] += n * time.busy[r];
      step_.attributed[r] += n * time.attributed[r];
    }
    AddTraffic(op, time.traffic, n);
  }

  const Waterfall& FinishWaterfall() {
    for (int i = 0; i < kResourceCount; ++i) {
      const Resource r = static_cast<Resource>(i);
      Row(RowOf(r)).busy += busy_[r];
    }
    SpreadAttributed(step_);
    return step_.waterfall;
  }

  PhaseEstimate Finish(const ForwardPass& pass) {
    FinishWaterfall();
    step_.phase = pass.phase();
    const Seconds time = step_.estimate;
    step_.model_flops_utilization = tensor_at_peak_ / time;
    step_.memory_bandwidth_utilization =
        Row(WaterfallRow::kHbm).moved / hardware_.device.HbmBandwidth() / time;
    step_.tokens_per_decode = pass.ExpectedTokensPerDecode();
    step_.output_tokens_per_second = OutputTokens(pass) / time.value();
    return step_;
  }

 private:
  WaterfallTier& Row(WaterfallRow row) {
    return step_.waterfall[static_cast<size_t>(row)];
  }

  void SetPeaks() {
    const DeviceSpec& device = hardware_.device.spec();
    Row(WaterfallRow::kHbm).peak = hardware_.device.HbmBandwidth();
    if (device.l2.has_value() && device.l2->bandwidth.has_value()) {
      Row(WaterfallRow::kL2).peak = device.l2->bandwidth->value;
    }
    if (device.smem.has_value() && device.smem->bandwidth.has_value()) {
      Row(WaterfallRow::kSmem).peak = device.smem->bandwidth->value;
    }
    for (const Link& link : hardware_.fabric.spec().links) {
      Row(RowOf(ResourceOf(link.tier))).peak = link.bandwidth.value;
    }
  }

  void AddTraffic(const Op& op, const Traffic& traffic, double n) {
    Row(WaterfallRow::kCompute).flops += n * op.work.tensor;
    WaterfallTier& hbm = Row(WaterfallRow::kHbm);
    hbm.moved += n * traffic.hbm();
    hbm.weights += n * traffic.hbm_weights;
    hbm.kv += n * traffic.hbm_kv;
    hbm.activations += n * traffic.hbm_activations;
    Row(WaterfallRow::kL2).moved += n * traffic.l2;
    if (const auto* shape = std::get_if<CollectiveShape>(&op.shape)) {
      AddLinks(*shape, n, traffic, op.part == Part::kKvTransfer);
    }
    if (const auto* shape = std::get_if<ExchangeShape>(&op.shape)) {
      AddLinks(*shape, n, traffic, false);
    }
  }

  // Of ranks in one node or several: then `link` is inside the nodes.
  template <class Shape>
  void AddLinks(const Shape& shape, double n, const Traffic& traffic,
                bool of_cache) {
    if (shape.nodes() == 1) {
      AddLink(shape.tier, n * traffic.link, of_cache);
      return;
    }
    AddLink(shape.tier, n * traffic.network, of_cache);
    const Link* inside = hardware_.fabric.LinkFor(shape.node_ranks);
    if (inside != nullptr) AddLink(inside->tier, n * traffic.link, of_cache);
  }

  // Of activations, unless an op moves what a cache holds.
  void AddLink(LinkTier tier, Bytes moved, bool of_cache) {
    WaterfallTier& link = Row(RowOf(ResourceOf(tier)));
    link.moved += moved;
    (of_cache ? link.kv : link.activations) += moved;
  }

  const HardwareView& hardware_;
  PhaseEstimate step_;
  PerResource<Seconds> busy_;
  Seconds tensor_at_peak_;
};

}  // namespace

absl::string_view WaterfallRowName(WaterfallRow row) {
  switch (row) {
    case WaterfallRow::kCompute:
      return "compute";
    case WaterfallRow::kSmem:
      return "smem";
    case WaterfallRow::kL2:
      return "l2";
    case WaterfallRow::kHbm:
      return "hbm";
    case WaterfallRow::kNvlink:
      return "nvlink";
    case WaterfallRow::kPcie:
      return "pcie";
    case WaterfallRow::kRdma:
      return "rdma";
    case WaterfallRow::kLaunch:
      return "launch";
    case WaterfallRow::kSync:
      return "sync";
    case WaterfallRow::kHost:
      return "host";
  }
  return "";
}

double OutputTokens(const ForwardPass& pass) {
  const double per_decode = pass.ExpectedTokensPerDecode().value_or(1);
  double tokens = 0;
  for (const RequestGroup& group : pass.groups()) {
    tokens += static_cast<double>(group.request_count) *
              (group.role == Role::kDecode ? per_decode : 1);
  }
  return tokens;
}

PhaseEstimate Aggregate(const OpList& ops, const std::vector<OpTime>& times,
                        const ForwardPass& pass, const HardwareView& hardware) {
  Aggregation aggregation(hardware);
  for (size_t i = 0; i < ops.size(); ++i) aggregation.Add(ops[i], times[i]);
  return aggregation.Finish(pass);
}

std::array<double, kTierCount> TierShares(const OpList& ops,
                                          const std::vector<OpTime>& times) {
  std::array<double, kTierCount> shares{};
  double whole = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (times[i].family == nullptr) continue;
    const double time = (ops[i].repeat * times[i].estimate).value();
    shares[static_cast<size_t>(times[i].tier)] += time;
    whole += time;
  }
  if (whole == 0) return shares;
  for (double& share : shares) share /= whole;
  return shares;
}

void AddToStep(const Op& op, const OpTime& time, const ForwardPass& pass,
               const HardwareView& hardware, PhaseEstimate& step) {
  const Seconds before = step.estimate;
  const Seconds tensor_at_peak = step.model_flops_utilization * before;
  const Seconds hbm_at_peak = step.memory_bandwidth_utilization * before;
  Aggregation aggregation(hardware, step);
  aggregation.Add(op, time);
  step = aggregation.Finish(pass);
  // Those of a pipeline are of all its devices: they are kept as they were.
  step.model_flops_utilization = tensor_at_peak / step.estimate;
  step.memory_bandwidth_utilization =
      (hbm_at_peak +
       op.repeat * (time.traffic.hbm() / hardware.device.HbmBandwidth())) /
      step.estimate;
}

void SpreadAttributed(PhaseEstimate& phase) {
  for (WaterfallTier& row : phase.waterfall) row.exposed = Seconds::Zero();
  phase.bound_times = {};
  for (int i = 0; i < kResourceCount; ++i) {
    const Resource r = static_cast<Resource>(i);
    const Seconds time = phase.attributed[r];
    phase.waterfall[static_cast<size_t>(RowOf(r))].exposed += time;
    phase.bound_times[static_cast<size_t>(BoundOf(r))] += time;
  }
  phase.bound = static_cast<Bound>(
      std::max_element(phase.bound_times.begin(), phase.bound_times.end()) -
      phase.bound_times.begin());
}

Waterfall WaterfallOf(const Op& op, const OpTime& time,
                      const HardwareView& hardware) {
  Aggregation aggregation(hardware);
  aggregation.Add(op, time, 1);
  return aggregation.FinishWaterfall();
}

BytesPerSecond WaterfallTier::busy_rate() const {
  return busy > Seconds::Zero() ? moved / busy : BytesPerSecond::Zero();
}

bool WaterfallTier::effective_feed() const {
  return peak > BytesPerSecond::Zero() && busy_rate() > peak;
}

std::string DumpEstimate(const PhaseEstimate& estimate) {
  std::string text = absl::StrFormat(
      "%s  floor=%.6g  overlapped=%.6g  ms=%.6g  serial=%.6g  p10=%.6g  "
      "p90=%.6g  %s  tier=%s  mfu=%.4f  mbu=%.4f\n",
      PhaseName(estimate.phase), ToMilliseconds(estimate.floor),
      ToMilliseconds(estimate.overlapped), ToMilliseconds(estimate.estimate),
      ToMilliseconds(estimate.serial), ToMilliseconds(estimate.p10),
      ToMilliseconds(estimate.p90), BoundName(estimate.bound),
      TierName(estimate.tier), estimate.model_flops_utilization,
      estimate.memory_bandwidth_utilization);
  for (int i = 0; i < kWaterfallRowCount; ++i) {
    const WaterfallTier& row = estimate.waterfall[static_cast<size_t>(i)];
    absl::StrAppendFormat(
        &text,
        "%-8s moved=%.15g weights=%.15g kv=%.15g act=%.15g flops=%.15g "
        "busy_us=%.6g exposed_us=%.6g\n",
        WaterfallRowName(static_cast<WaterfallRow>(i)), row.moved.value(),
        row.weights.value(), row.kv.value(), row.activations.value(),
        row.flops.value(), ToMicroseconds(row.busy),
        ToMicroseconds(row.exposed));
  }
  return text;
}

}  // namespace mansard::model
