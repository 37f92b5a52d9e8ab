#include "model/estimate/overlapped.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "model/estimate/gemm_overlap.h"
#include "model/lower/lower.h"
#include "model/price/price.h"
#include "model/price/scaled_hardware.h"

namespace mansard::model {
namespace {

bool Communicates(OpKind kind) {
  return kind == OpKind::kAllReduce || kind == OpKind::kAllGather ||
         kind == OpKind::kReduceScatter || kind == OpKind::kAllToAll ||
         kind == OpKind::kBroadcast || kind == OpKind::kSendReceive ||
         kind == OpKind::kExpertDispatch || kind == OpKind::kExpertCombine;
}

OpList WholePass(const PassSetup& setup, const ForwardPass& pass) {
  return Lower(setup.graph, pass, setup.layout, setup.formats, setup.fusion);
}

// The pass with other numbers of requests, whose routing and drafts suit it,
// too.
ForwardPass WithGroups(const ForwardPass& pass, RequestGroups groups,
                       const ModelGraph& graph) {
  Violations none;
  std::optional<ForwardPass> part = ForwardPass::Create(
      std::move(groups), std::numeric_limits<int64_t>::max(), none);
  if (part.has_value()) {
    part = part->WithRouting(pass.routing(), graph.ExpertCount(), none);
  }
  if (part.has_value() && part->phase() != Phase::kPrefill) {
    part = part->WithDrafting(pass.drafting(), graph.spec().mtp.modules, none);
  }
  return part.value_or(pass);
}

// The larger half of each group, or what it leaves.
ForwardPass HalfOf(const ForwardPass& pass, bool larger,
                   const ModelGraph& graph) {
  RequestGroups groups;
  for (RequestGroup group : pass.groups()) {
    group.request_count = (group.request_count + (larger ? 1 : 0)) / 2;
    if (group.request_count > 0) groups.push_back(group);
  }
  return WithGroups(pass, std::move(groups), graph);
}

void LowerHalves(const PassSetup& setup, const ForwardPass& pass, OpList& ops) {
  const OpList whole = WholePass(setup, pass);
  ops = WholePass(setup, HalfOf(pass, true, setup.graph));
  const bool equal = std::all_of(
      pass.groups().begin(), pass.groups().end(),
      [](const RequestGroup& g) { return g.request_count % 2 == 0; });
  if (equal) {
    for (Op& op : ops) op.repeat *= 2;
    ops.back() = whole.back();
    return;
  }
  // Without its host, whose costs are of the whole.
  ops.pop_back();
  const OpList rest = WholePass(setup, HalfOf(pass, false, setup.graph));
  ops.insert(ops.end(), rest.begin(), rest.end());
  ops.back() = whole.back();
}

// Of one kind of time: what computes and what communicates.
struct Streams {
  Seconds computes;
  Seconds communicates;

  void Add(const Op& op, Seconds time) {
    if (op.kind == OpKind::kHost) return;
    (Communicates(op.kind) ? communicates : computes) += op.repeat * time;
  }
  Seconds Shorter() const { return Min(computes, communicates); }
  Seconds Longer() const { return Max(computes, communicates); }
  Seconds Together(double efficiency) const {
    return Longer() + (1 - efficiency) * Shorter();
  }
};

Streams StreamsOf(const OpList& ops, const std::vector<OpTime>& times,
                  Seconds OpTime::*time) {
  Streams streams;
  for (size_t i = 0; i < ops.size(); ++i) streams.Add(ops[i], times[i].*time);
  return streams;
}

void PriceStreams(const PassSetup& setup, const OpList& ops,
                  std::vector<OpTime>& times) {
  PriceAll(ops, setup.view, times);
  const int taken = setup.overlap->multiprocessors;
  if (taken > 0) {
    const OwnedHardware left = WithoutMultiprocessors(setup.view, taken);
    const std::vector<OpTime> slower = PriceAll(ops, left.view());
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!Communicates(ops[i].kind)) times[i] = slower[i];
    }
  }
  // Launches: what overlap leaves of the device's time is known here only.
  const Seconds device = StreamsOf(ops, times, &OpTime::estimate)
                             .Together(setup.overlap->efficiency);
  times.back() = Price(ops.back(), setup.view);
  AddExposedLaunches(ExposedLaunches(ops, setup.view.stack.spec().host, device),
                     times.back());
}

// The shorter stream's part of every resource shrinks to what is not hidden.
void Hide(const OpList& ops, const std::vector<OpTime>& times,
          double efficiency, PhaseEstimate& phase) {
  const Streams streams = StreamsOf(ops, times, &OpTime::estimate);
  const bool hides_communication = streams.communicates <= streams.computes;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == OpKind::kHost) continue;
    if (Communicates(ops[i].kind) != hides_communication) continue;
    for (int r = 0; r < kResourceCount; ++r) {
      const Resource resource = static_cast<Resource>(r);
      phase.attributed[resource] +=
          (-efficiency * ops[i].repeat) * times[i].attributed[resource];
    }
  }
  for (int r = 0; r < kResourceCount; ++r) {
    Seconds& time = phase.attributed[static_cast<Resource>(r)];
    time = Max(time, Seconds::Zero());
  }
  phase.hidden = efficiency * streams.Shorter();
}

Seconds FloorOf(const OpList& ops, const HardwareView& view) {
  Streams floors;
  for (const Op& op : ops) floors.Add(op, FloorOf(op, view));
  return floors.Longer();
}

}  // namespace

std::string NoOverlapReason(const PassSetup& setup, const ForwardPass& pass,
                            Overlap::Kind kind) {
  const OpList ops = WholePass(setup, pass);
  if (std::none_of(ops.begin(), ops.end(),
                   [](const Op& op) { return Communicates(op.kind); })) {
    return "one rank communicates nothing";
  }
  if (kind == Overlap::Kind::kGemm) return NoGemmOverlapReason(ops);
  if (pass.LargestPart(setup.layout.data()).PartsNeeded(2) < 2) {
    return "no rank has two requests of a kind to go in two halves";
  }
  return "";
}

PhaseEstimate EstimateOverlapped(const PassSetup& setup,
                                 const ForwardPass& pass, OpList& ops,
                                 std::vector<OpTime>& times) {
  if (setup.overlap->kind == Overlap::Kind::kGemm) {
    return EstimateBehindGemms(setup, pass, ops, times);
  }
  LowerHalves(setup, pass, ops);
  PriceStreams(setup, ops, times);
  PhaseEstimate phase = Aggregate(ops, times, pass, setup.view);
  const double efficiency = setup.overlap->efficiency;
  Hide(ops, times, efficiency, phase);
  SpreadAttributed(phase);

  const Seconds serial = phase.estimate;
  const OpTime& host = times.back();
  const auto together = [&](Seconds OpTime::*time, double share) {
    return StreamsOf(ops, times, time).Together(share) + host.*time;
  };
  phase.estimate = together(&OpTime::estimate, efficiency);
  phase.overlapped = together(&OpTime::overlapped, 1);
  phase.serial = together(&OpTime::serial, 0);
  phase.p10 = together(&OpTime::p10, setup.overlap->Best());
  phase.p90 = together(&OpTime::p90, setup.overlap->Worst());
  // What no way of running the pass beats: of the whole, not of its halves.
  phase.floor = Min(FloorOf(WholePass(setup, pass), setup.view) + host.floor,
                    phase.overlapped);
  const double faster = serial / phase.estimate;
  phase.draft = phase.draft / faster;
  phase.model_flops_utilization *= faster;
  phase.memory_bandwidth_utilization *= faster;
  phase.output_tokens_per_second = OutputTokens(pass) / phase.estimate.value();
  return phase;
}

}  // namespace mansard::model
