#include "model/estimate/gemm_overlap.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/lower/lower.h"
#include "model/price/price.h"
#include "model/price/scaled_hardware.h"

namespace mansard::model {
namespace {

constexpr double kTileSide = 128;

// A GEMM and the collective beside it, by place in the list of ops.
struct Pair {
  size_t gemm = 0;
  size_t collective = 0;
  int chunks = 1;

  // Of one repeat and one kind of time: what perfect overlap hides.
  Seconds Hideable(const std::vector<OpTime>& times,
                   Seconds OpTime::*time) const {
    return (chunks - 1.0) *
           Min(times[gemm].*time / chunks, times[collective].*time);
  }
};

bool FollowsGemm(OpKind kind) {
  return kind == OpKind::kAllReduce || kind == OpKind::kReduceScatter;
}

bool Beside(const Op& one, const Op& next) {
  return one.repeat == next.repeat && one.layer_kind == next.layer_kind &&
         one.draft == next.draft;
}

std::vector<Pair> PairsOf(const OpList& ops) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    const Op& one = ops[i];
    const Op& next = ops[i + 1];
    if (!Beside(one, next)) continue;
    if (one.kind == OpKind::kGemm && FollowsGemm(next.kind)) {
      pairs.push_back({i, i + 1});
    } else if (one.kind == OpKind::kAllGather && next.kind == OpKind::kGemm) {
      pairs.push_back({i + 1, i});
    } else {
      continue;
    }
    ++i;
  }
  return pairs;
}

// A wave of tiles each.
double MostChunks(const Op& gemm, const Device& device) {
  const auto& shape = std::get<GemmShape>(gemm.shape);
  const double tiles = std::ceil(static_cast<double>(shape.m) / kTileSide) *
                       std::ceil(static_cast<double>(shape.n) / kTileSide) *
                       static_cast<double>(shape.batch);
  const auto& known = device.spec().multiprocessor_count;
  const double waves =
      std::floor(tiles / (known.has_value() ? known->value : 1));
  return std::clamp(waves, 1.0, static_cast<double>(Overlap::kMostChunks));
}

Op ChunkOf(const Op& op, int chunks) {
  Op chunk = op;
  chunk.repeat *= chunks;
  chunk.work.message = op.work.message / chunks;
  chunk.work.activations_in = op.work.activations_in / chunks;
  chunk.work.activations_out = op.work.activations_out / chunks;
  return chunk;
}

// The ops of a pass, some in chunks, and their times.
class Chunked {
 public:
  Chunked(const PassSetup& setup, OpList& ops, std::vector<OpTime>& times)
      : setup_(setup), ops_(ops), times_(times), pairs_(PairsOf(ops)) {}

  // Every pair the fastest way. `beside`: times of GEMMs that leave the
  // collective its multiprocessors.
  void Choose(const std::vector<OpTime>& beside) {
    for (Pair& pair : pairs_) {
      const Op whole = ops_[pair.collective];
      const OpTime alone = times_[pair.gemm];
      Seconds best = alone.estimate + times_[pair.collective].estimate;
      const double most = MostChunks(ops_[pair.gemm], setup_.view.device);
      for (int chunks = 2; chunks <= most; chunks *= 2) {
        const Op chunk = ChunkOf(whole, chunks);
        const OpTime time = Price(chunk, setup_.view);
        const OpTime& gemm = beside[pair.gemm];
        const Seconds together = gemm.estimate + chunks * time.estimate -
                                 setup_.overlap->efficiency * (chunks - 1.0) *
                                     Min(gemm.estimate / chunks, time.estimate);
        if (together >= best) continue;
        best = together;
        pair.chunks = chunks;
        ops_[pair.collective] = chunk;
        times_[pair.collective] = time;
        times_[pair.gemm] = gemm;
      }
    }
  }

  // Of all repeats, at an efficiency of one.
  Seconds Hideable(Seconds OpTime::*time, bool drafts_alone = false) const {
    Seconds sum;
    for (const Pair& pair : pairs_) {
      const Op& gemm = ops_[pair.gemm];
      if (drafts_alone && !gemm.draft) continue;
      sum += gemm.repeat * pair.Hideable(times_, time);
    }
    return sum;
  }

  // The shorter of a pair shrinks, at every resource, to what is not hidden.
  void Hide(PhaseEstimate& phase) const {
    for (const Pair& pair : pairs_) {
      const OpTime& gemm = times_[pair.gemm];
      const OpTime& chunk = times_[pair.collective];
      const double hidden =
          setup_.overlap->efficiency * (pair.chunks - 1.0) / pair.chunks;
      const bool communication = pair.chunks * chunk.estimate <= gemm.estimate;
      const size_t shorter = communication ? pair.collective : pair.gemm;
      for (int r = 0; r < kResourceCount; ++r) {
        const Resource resource = static_cast<Resource>(r);
        phase.attributed[resource] += (-hidden * ops_[shorter].repeat) *
                                      times_[shorter].attributed[resource];
      }
    }
    for (int r = 0; r < kResourceCount; ++r) {
      Seconds& time = phase.attributed[static_cast<Resource>(r)];
      time = Max(time, Seconds::Zero());
    }
  }

 private:
  const PassSetup& setup_;
  OpList& ops_;
  std::vector<OpTime>& times_;
  std::vector<Pair> pairs_;
};

// Of a pair the longer floor; all others one after another.
Seconds FloorOf(const OpList& ops, const std::vector<OpTime>& times) {
  Seconds floor;
  for (size_t i = 0; i < ops.size(); ++i) {
    floor += ops[i].repeat * times[i].floor;
  }
  for (const Pair& pair : PairsOf(ops)) {
    floor = floor - ops[pair.gemm].repeat * Min(times[pair.gemm].floor,
                                                times[pair.collective].floor);
  }
  return floor;
}

std::vector<OpTime> TimesBeside(const PassSetup& setup, const OpList& ops,
                                const std::vector<OpTime>& alone) {
  const int taken = setup.overlap->multiprocessors;
  if (taken == 0) return alone;
  return PriceAll(ops, WithoutMultiprocessors(setup.view, taken).view());
}

}  // namespace

std::string NoGemmOverlapReason(const OpList& ops) {
  return PairsOf(ops).empty()
             ? "no collective stands beside a product of matrices"
             : "";
}

PhaseEstimate EstimateBehindGemms(const PassSetup& setup,
                                  const ForwardPass& pass, OpList& ops,
                                  std::vector<OpTime>& times) {
  const Overlap& overlap = *setup.overlap;
  ops = Lower(setup.graph, pass, setup.layout, setup.formats, setup.fusion);
  PriceAll(ops, setup.view, times);
  times.back() = Price(ops.back(), setup.view);
  const Seconds floor = FloorOf(ops, times);
  Chunked chunked(setup, ops, times);
  chunked.Choose(TimesBeside(setup, ops, times));

  const Seconds hidden =
      overlap.efficiency * chunked.Hideable(&OpTime::estimate);
  // Launches: what overlap leaves of the device's time is known here only.
  Seconds device;
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    device += ops[i].repeat * times[i].estimate;
  }
  AddExposedLaunches(
      ExposedLaunches(ops, setup.view.stack.spec().host, device - hidden),
      times.back());

  PhaseEstimate phase = Aggregate(ops, times, pass, setup.view);
  chunked.Hide(phase);
  SpreadAttributed(phase);
  const double faster = phase.estimate / (phase.estimate - hidden);
  phase.estimate = phase.estimate - hidden;
  phase.hidden = hidden;
  phase.overlapped = phase.overlapped - chunked.Hideable(&OpTime::overlapped);
  phase.p10 = phase.p10 - overlap.Best() * chunked.Hideable(&OpTime::p10);
  phase.p90 = phase.p90 - overlap.Worst() * chunked.Hideable(&OpTime::p90);
  phase.floor = Min(floor, phase.overlapped);
  phase.draft = phase.draft -
                overlap.efficiency * chunked.Hideable(&OpTime::estimate, true);
  phase.model_flops_utilization *= faster;
  phase.memory_bandwidth_utilization *= faster;
  phase.output_tokens_per_second = OutputTokens(pass) / phase.estimate.value();
  return phase;
}

}  // namespace mansard::model
