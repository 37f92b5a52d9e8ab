// OpTimes -> one step: totals, bounds, waterfall.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "model/price/price.h"

namespace mansard::model {

// Rows of the bandwidth waterfall, in order.
enum class WaterfallRow {
  kCompute,  // tensor, vector, sfu
  kSmem,
  kL2,
  kHbm,
  kNvlink,
  kPcie,
  kRdma,
  kLaunch,
  kSync,
  kHost,
};
inline constexpr int kWaterfallRowCount = 10;
absl::string_view WaterfallRowName(WaterfallRow row);

struct WaterfallTier {
  Bytes moved;  // weights + kv + activations, plus tile re-reads at L2.
  Bytes weights;
  Bytes kv;
  Bytes activations;
  BytesPerSecond peak;  // Datasheet; zero where there is none.
  Seconds busy;
  Seconds exposed;  // Over all rows: the step's estimate.
  Flops flops;      // Compute only.

  // While the row is busy.
  BytesPerSecond busy_rate() const;
  // It is more than the datasheet's: a fitted feed, which counts what tiles
  // share, and no ceiling.
  bool effective_feed() const;
};
using Waterfall = std::array<WaterfallTier, kWaterfallRowCount>;

// How a pass goes through the stages of a pipeline. Of one stage: as without.
struct PipelineEstimate {
  int stages = 1;
  int micro_batches = 1;  // That are not empty.
  int slowest_stage = 0;
  // Of one micro-batch, its transfer to the next stage included, without the
  // host.
  absl::InlinedVector<Seconds, 4> stage_times;
  // Of the devices' time in a pass that finds the pipeline empty and leaves it
  // so, the share in which they wait: (p - 1) / (m + p - 1) where all stages
  // take as long.
  double bubble = 0;
  // From one step of a request to its next while the pipeline never drains: a
  // micro-batch's way through all stages, or the slowest stage's time for all
  // micro-batches, whichever is longer.
  Seconds steady_step;
  double steady_output_tokens_per_second = 0;
};

// Scalars of one step, all on one rank. Of a pipeline, the critical path: the
// first micro-batch to the slowest stage, all of them there, the last one on;
// utilisations are of all devices.
struct PhaseEstimate {
  Phase phase = Phase::kDecode;
  Seconds floor;
  Seconds overlapped;
  Seconds estimate;
  Seconds serial;
  Seconds p10;
  Seconds p90;
  PerResource<Seconds> attributed;                 // Sums to `estimate`.
  std::array<Seconds, kBoundCount> bound_times{};  // Likewise.
  Bound bound = Bound::kMemory;
  Waterfall waterfall{};
  double model_flops_utilization = 0;
  double memory_bandwidth_utilization = 0;
  // Of `estimate`: the ops that draft. The host's costs are not split.
  Seconds draft;
  // What overlap of streams hides: the ops' estimates sum to it and `estimate`.
  Seconds hidden;
  // Tokens that one decoding request gains by the step; only where the caller
  // gave an acceptance rate.
  std::optional<double> tokens_per_decode;
  // One token a request, or as many a decoding one as is expected.
  double output_tokens_per_second = 0;
  Tier tier = Tier::kCalibrated;
  PipelineEstimate pipeline;

  // The model's own pass, and the host's costs.
  Seconds target_model() const { return estimate - draft; }
};

// The step adds its ops; the host op carries what the host adds, plus, without
// CUDA graphs, the launch time that the device does not cover.
PhaseEstimate Aggregate(const OpList& ops, const std::vector<OpTime>& times,
                        const ForwardPass& pass, const HardwareView& hardware);

// By tier, the share of the ops' times whose kernel families have it. They sum
// to 1; all 0 where no op has a family.
std::array<double, kTierCount> TierShares(const OpList& ops,
                                          const std::vector<OpTime>& times);

// The step with one more op after all others.
void AddToStep(const Op& op, const OpTime& time, const ForwardPass& pass,
               const HardwareView& hardware, PhaseEstimate& step);

// Sets the exposed times of the rows, the times of bounds and the bound, from
// `attributed`.
void SpreadAttributed(PhaseEstimate& phase);

// The waterfall of one repeat of an op. Exposed times sum to its estimate.
Waterfall WaterfallOf(const Op& op, const OpTime& time,
                      const HardwareView& hardware);

// One a prompt; one a decoding request, or as many as are expected.
double OutputTokens(const ForwardPass& pass);

// The waterfall and totals as text, for golden tests and people.
std::string DumpEstimate(const PhaseEstimate& estimate);

}  // namespace mansard::model
