// What an engine adds to its kernels while it serves: by kind of work, and on
// the way to a request's first token. Fitted to runs of served models.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

// Kinds of work that an engine's costs differ by.
enum class OpGroup : uint8_t {
  // Dense products of few rows, that stream weights, and of more.
  kGemm,
  kWideGemm,
  // Products of experts, of few rows each and of more, and what lies between.
  kExperts,
  kWideExperts,
  kRouting,  // Choice of experts, once a layer of them.
  kDecodeAttention,
  kPromptAttention,
  kRecurrent,  // States and convolutions.
  kIndex,      // Scores and choices of sparse attention's indexers.
  // Up to what engines have kernels of their own for, and beyond; exchanges of
  // tokens between experts' ranks.
  kCollective,
  kLargeCollective,
  kQuantize,
  kElementwise,  // All others on the device.
  kHost,
};
inline constexpr size_t kOpGroupCount = 14;
// "decode_attention": stable words, as data have them.
absl::string_view OpGroupName(OpGroup group);
std::optional<OpGroup> ParseOpGroup(absl::string_view name);

struct OpCost {
  // Of the kernels' own time: what clocks, other kernels beside them and
  // choices of tiles make of it. 0.1 to 10.
  double factor = 1;
  // Of each op, once: gaps between kernels, small kernels that are not ops of
  // ours. 0 to 10 ms.
  Seconds each;

  static constexpr double kMostFactor = 10;
  static constexpr Seconds kMostEach = Milliseconds(10);

  bool operator==(const OpCost&) const = default;
};
using OpCosts = std::array<OpCost, kOpGroupCount>;

// Ratios over an engine's costs, for some of what it serves.
struct CostVariation {
  // What it is for; empty and 0: whatever.
  std::string version;  // Of the engine: "0.18.0".
  std::optional<bool> experts;
  int weight_bits = 0;  // Of the weights of most layers: 4, 8 or 16.
  std::array<double, kOpGroupCount> factor;
  std::array<double, kOpGroupCount> each;

  CostVariation();  // All ratios 1.
};

// What adds to the passes' times on the way to a first token.
struct FirstTokenCosts {
  // Once a request; the rows do not say why.
  Seconds request = Milliseconds(14);
  // Tokeniser, HTTP and streaming.
  Seconds input_token = Microseconds(3);
  // For each layer, launched outside of graphs, of each pass of a prompt.
  Seconds prompt_layer = Microseconds(20);
  // For each request in flight.
  Seconds concurrent_request = Milliseconds(0.1);
  // Decode passes that a prompt waits for: half a pass to begin with, one for
  // each of its own passes where prompts run beside decodes; times this.
  double decode_passes = 1.5;
  // Of the first requests' arrival all at once.
  double burst = 1.1;
  // Of the prompt's own passes, the wait for others', the wait for a place.
  double prompt = 1;
  double wait = 1;
  double queue = 1;
  // Of prompts among an engine's work: beyond it waiting times are not told
  // by the mean.
  double max_prompt_utilization = 0.95;

  bool operator==(const FirstTokenCosts&) const = default;
};

// Predicted over measured, p10 and p90, of rows that no fit saw.
struct RatioRange {
  double p10 = 1;
  double p90 = 1;
};
// What of a row's kind the fit had seen.
enum class FitSituation : uint8_t { kKnown, kNewModel, kNewDevice };
inline constexpr size_t kFitSituationCount = 3;
absl::string_view FitSituationName(FitSituation situation);

struct EngineCosts {
  OpCosts costs;
  std::vector<CostVariation> variations;
  FirstTokenCosts first_token;
  bool prefill_first = false;  // Decodes stop while prompts are computed.
  // By situation; of time per output token and to the first one.
  std::array<RatioRange, kFitSituationCount> tpot_ranges;
  std::array<RatioRange, kFitSituationCount> ttft_ranges;
  // Models, as tables of runs name them, that the fit saw on this engine.
  std::vector<std::string> fitted_models;
  bool fitted_device = false;
  Provenance provenance;
};

// What the costs are wanted for.
struct CostCase {
  std::string version;
  bool experts = false;
  int weight_bits = 16;
};

// All variations that hold, one on top of the other, without any left.
EngineCosts CostsFor(const EngineCosts& costs, const CostCase& wanted);

// Rules: factors and times within the limits above, ratios 0.05 to 20, ranges
// with 0 < p10 <= p90.
void CheckEngineCosts(const EngineCosts& costs, Violations& violations);

}  // namespace mansard::model
