// OpTimes -> one step: totals, bounds, waterfall.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

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
};

// Scalars of one step, all on one rank.
struct PhaseEstimate {
  Phase phase = Phase::kDecode;
  Seconds floor;
  Seconds overlapped;
  Seconds estimate;
  Seconds serial;
  Seconds p10;
  Seconds p90;
  std::array<Seconds, kBoundCount> bound_times{};  // Sum to `estimate`.
  Bound bound = Bound::kMemory;
  std::array<WaterfallTier, kWaterfallRowCount> waterfall{};
  double model_flops_utilization = 0;
  double memory_bandwidth_utilization = 0;
  // Of `estimate`: the ops that draft. The host's costs are not split.
  Seconds draft;
  // Tokens that one decoding request gains by the step; only where the caller
  // gave an acceptance rate.
  std::optional<double> tokens_per_decode;
  // One token a request, or as many a decoding one as is expected.
  double output_tokens_per_second = 0;
  Tier tier = Tier::kCalibrated;

  // The model's own pass, and the host's costs.
  Seconds target_model() const { return estimate - draft; }
};

// The step adds its ops; the host op carries what the host adds, plus, without
// CUDA graphs, the launch time that the device does not cover.
PhaseEstimate Aggregate(const OpList& ops, const std::vector<OpTime>& times,
                        const ForwardPass& pass, const HardwareView& hardware);

// The waterfall and totals as text, for golden tests and people.
std::string DumpEstimate(const PhaseEstimate& estimate);

}  // namespace mansard::model
