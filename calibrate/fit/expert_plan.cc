#include "calibrate/fit/expert_plan.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/fit/plan_basics.h"
#include "model/base/format.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::ElementwiseFamily;
using model::ExpertGemmFamily;
using model::Format;
using model::GemmTile;
using model::Microseconds;

// A generation's kernels. Launch and sorting are a layer's; rates of L2, shared
// memory and element-wise kernels are bytes per multiprocessor and clock.
struct Generation {
  const char* architecture;  // How the device's begins.
  double launch_us;
  double sort_us;
  double wave_us;
  double block_latency_us;
  double peak_fraction;
  double hbm_fraction;
  double l2_feed;
  double hbm_share;  // A multiprocessor's feed, of its share of the memory's.
  double smem_feed;
  double elementwise_feed;
  // Shares of foreign rows: see ForeignExpertRows.
  double foreign_vllm;
  double foreign_sglang;
};
constexpr Generation kGenerations[] = {
    {"Ampere", 20, 14, .2, .15, .45, .8, 30, 1.5, 128, 5, .8, .8},
    {"Hopper", 25, 8, .8, .1, .7, .9, 90, 1.5, 128, 4.5, .5, .8},
    // Graphics parts run the instructions of the generation before.
    {"Blackwell sm_120", 22, 5, .6, .3, .6, .9, 60, 2, 128, 2.7, .05, .8},
    {"Blackwell", 20, 12, .4, .07, .7, .92, 120, 1.3, 160, 8, .15, .3},
    {"CDNA", 18, 8, .2, .08, .4, .93, 30, 1, 128, 7.5, .5, .5},
};
constexpr size_t kHopper = 1;
constexpr double kTypicalSigma = 0.2;  // Until a fit knows better.

// Most columns first: they win most often.
std::vector<GemmTile> Tiles() {
  std::vector<GemmTile> tiles = {{128, 256}, {256, 128}};
  for (const int rows : {128, 64, 32, 16, 8}) {
    tiles.push_back({rows, 128});
    tiles.push_back({rows, 64});
  }
  return tiles;
}

std::vector<FreeParameter> FreeOfGemm() {
  constexpr double kWide = 0.8;  // Of a logarithm.
  return {{"launch_seconds", kWide, 6},
          {"sort_seconds", 1, 12},
          {"wave_seconds", kWide, 20},
          {"block_latency_seconds", kWide, 10},
          {"peak_fraction_ratio", 0.3, 6},
          {"hbm_fraction_ratio", 0.15, 5},
          {"l2_feed_bytes_per_second", kWide, 10},
          {"sm_hbm_feed_bytes_per_second", 0.5, 20},
          {"sm_smem_feed_bytes_per_second", 0.25, 3}};
}

// Weights of four bits that other kernels multiply with narrow inputs.
constexpr char kWidened[] = "bf16 x mxfp4";

// The weights' format of a slice; empty where none is fitted to it.
std::optional<Format> WeightsOf(const std::string& slice) {
  if (slice == "bf16 x int4") return Format::kInt4;
  if (slice == "mxfp8 x mxfp4" || slice == kWidened) return Format::kMxfp4;
  return model::ParseFormat(slice);
}

}  // namespace

ExpertGemmFamily ExpertGemmPrior(const model::Device& device,
                                 ExpertStart start) {
  const Generation& generation = GenerationOf(device, kGenerations, kHopper);
  const double count = Multiprocessors(device);
  const double clock = Clock(device);
  ExpertGemmFamily family;
  family.facts.sigma = kTypicalSigma;
  family.launch = Microseconds(generation.launch_us / 2);
  family.sort = Microseconds(generation.sort_us / 2);
  family.wave = Microseconds(generation.wave_us);
  family.block_latency = Microseconds(generation.block_latency_us);
  family.peak_fraction = generation.peak_fraction;
  family.hbm_fraction = generation.hbm_fraction;
  family.l2_feed = BytesPerSecond::Of(generation.l2_feed * count * clock);
  family.sm_hbm_feed = generation.hbm_share / count * device.HbmBandwidth();
  family.sm_smem_feed = BytesPerSecond::Of(generation.smem_feed * clock);
  family.k_block_bytes = 128;
  // Up, down and what is between share L2.
  family.warm_share = 1.0 / 3;
  family.tiles = Tiles();
  switch (start) {
    case ExpertStart::kTuned:
      break;
    case ExpertStart::kCompiled:
      family.wave = Microseconds(.15);
      family.peak_fraction = .35;
      family.l2_feed *= 0.4;
      break;
    case ExpertStart::kSerial:
      family.wave = Microseconds(5);
      family.peak_fraction = .25;
      family.hbm_fraction = .35;
      break;
  }
  return family;
}

ElementwiseFamily ExpertElementwisePrior(const model::Device& device) {
  ElementwiseFamily family;
  family.facts.sigma = kTypicalSigma;
  family.launch = Microseconds(0);  // The layer's launch has it.
  family.hbm_fraction = 0.6;
  family.l2_feed = BytesPerSecond::Of(
      GenerationOf(device, kGenerations, kHopper).elementwise_feed *
      Multiprocessors(device) * Clock(device));
  return family;
}

double ForeignExpertRows(const model::Device& device,
                         absl::string_view framework) {
  const Generation& generation = GenerationOf(device, kGenerations, kHopper);
  if (framework == "vLLM") return generation.foreign_vllm;
  if (framework == "SGLang") return generation.foreign_sglang;
  return 0;
}

std::vector<FitPlan> ExpertPlans(const model::Device& device,
                                 const MeasuredCase& measured) {
  const std::optional<Format> weights = WeightsOf(measured.slice);
  if (!weights.has_value()) return {};
  const std::string name(model::TraitsOf(*weights).name);
  const bool widens = measured.slice == kWidened;
  const std::string op_kind = widens ? "widened_experts" : "experts";
  ElementwiseFamily elementwise = ExpertElementwisePrior(device);
  elementwise.facts.id = absl::StrCat("expert-elementwise-", name);
  std::vector<FitPlan> plans;
  for (const ExpertStart start :
       {ExpertStart::kTuned, ExpertStart::kCompiled, ExpertStart::kSerial}) {
    ExpertGemmFamily family = ExpertGemmPrior(device, start);
    family.facts.id =
        absl::StrCat(widens ? "widened-expert-gemm-" : "expert-gemm-", name);
    FitPlan plan;
    plan.name = absl::StrCat(op_kind, " ", name);
    plan.slots.push_back({.op_kind = op_kind,
                          .precision = name,
                          .prior = std::move(family),
                          .free = FreeOfGemm()});
    // What is between the products does not see the weights.
    if (!widens) {
      plan.slots.push_back({.op_kind = "expert_elementwise",
                            .precision = name,
                            .prior = elementwise,
                            .free = {{"l2_feed_bytes_per_second", 0.5, 10}}});
    }
    plan.foreign_expert_rows = ForeignExpertRows(device, measured.framework);
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace mansard::calibrate
