#include "calibrate/fit/gemm_plan.h"

#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "calibrate/fit/plan_basics.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::GemmTile;
using model::Microseconds;
using model::Seconds;

// Constants of one generation's bf16 kernels, as the performance model's design
// §1.2 fitted them. A pair of Blackwell's multiprocessors shares its operands,
// so that each feeds twice as much as it reads.
struct Generation {
  const char* architecture;  // How the device's begins.
  double launch_us;
  double wave_us;
  double split_us;
  double block_latency_us;
  double peak_fraction;
  double droop;
  double droop_ms;
  double hbm_fraction;
  double l2_feed;    // Bytes per multiprocessor and clock.
  double hbm_share;  // A multiprocessor's feed, of its share of the memory's.
  double smem_feed;  // Bytes per multiprocessor and clock.
  bool wide_tiles;   // 96, 160, 192 and 224 columns too.
};
constexpr Generation kGenerations[] = {
    {"Ampere", .53, 2.91, 1.93, .260, .929, .07, 6.3, .870, 27.6, .78, 128,
     false},
    {"Ada", 1.41, .55, 1.83, .213, .72, .056, 1.05, .84, 62, 1.5, 128, false},
    {"Hopper", 1.70, .97, 2.62, .082, .875, .21, 2.33, .855, 70, 1.09, 128,
     true},
    // Graphics parts run the instructions of the generation before.
    {"Blackwell sm_120", 1.41, .55, 1.83, .213, .85, .06, 1.05, .87, 40, 1.2,
     128, true},
    {"Blackwell", 1.20, .82, 3.06, .069, .868, .257, 2.55, .851, 97, .9, 256,
     true},
};
constexpr size_t kHopper = 2;

std::vector<GemmTile> Tiles(bool wide) {
  std::vector<GemmTile> tiles;
  const auto add = [&](int rows, int columns) {
    tiles.push_back({rows, columns});
    if (rows != columns) tiles.push_back({columns, rows});
  };
  // Large first: they win most often, and the search then drops the others.
  add(128, 256);
  add(128, 128);
  add(64, 256);
  if (wide) {
    for (const int columns : {192, 224, 160, 96}) {
      add(128, columns);
      add(64, columns);
    }
  }
  add(64, 128);
  add(64, 64);
  add(128, 32);
  add(128, 16);
  add(64, 32);
  add(64, 16);
  add(64, 8);
  return tiles;
}

}  // namespace

model::TiledGemmFamily GemmPrior(const model::Device& device) {
  const Generation& generation = GenerationOf(device, kGenerations, kHopper);
  const double multiprocessors = Multiprocessors(device);
  const double clock = Clock(device);
  model::TiledGemmFamily family;
  family.launch = Microseconds(generation.launch_us);
  family.wave = Microseconds(generation.wave_us);
  family.split_cost = Microseconds(generation.split_us);
  family.block_latency = Microseconds(generation.block_latency_us);
  family.peak_fraction = generation.peak_fraction;
  family.droop = generation.droop;
  family.droop_time = Seconds::Of(generation.droop_ms * 1e-3);
  family.hbm_fraction = generation.hbm_fraction;
  family.l2_feed =
      BytesPerSecond::Of(generation.l2_feed * multiprocessors * clock);
  family.sm_hbm_feed =
      generation.hbm_share / multiprocessors * device.HbmBandwidth();
  family.sm_smem_feed = BytesPerSecond::Of(generation.smem_feed * clock);
  family.k_block_bytes = 128;
  family.tiles = Tiles(generation.wide_tiles);
  family.splits = {1, 2, 4, 8, 16, 32};
  return family;
}

namespace {

constexpr double kWide = 0.4;  // Of a logarithm: about 40 %.

std::vector<FreeParameter> FreeOfGemm(bool splits) {
  std::vector<FreeParameter> free = {{"launch_seconds", kWide, 8},
                                     {"wave_seconds", kWide, 8},
                                     {"split_seconds", kWide, 6},
                                     {"block_latency_seconds", kWide, 6},
                                     {"peak_fraction_ratio", 0.15, 2},
                                     {"droop_ratio", kWide, 6},
                                     {"droop_seconds", kWide, 8},
                                     {"hbm_fraction_ratio", 0.05, 1.5},
                                     {"l2_feed_bytes_per_second", kWide, 6},
                                     {"sm_hbm_feed_bytes_per_second", 0.2, 3},
                                     {"sm_smem_feed_bytes_per_second", 0.2, 4}};
  if (!splits) {
    std::erase_if(free, [](const FreeParameter& parameter) {
      return parameter.name == "split_seconds";
    });
  }
  return free;
}

// One read for the largest value, one to convert; more where kernels are
// general ones.
FitSlot QuantizeSlot(const model::Device& device, model::Format format) {
  model::ElementwiseFamily family;
  family.facts.id = absl::StrCat("quantize-", model::TraitsOf(format).name);
  family.launch = Microseconds(4);
  family.hbm_fraction = 0.5;
  family.l2_feed = 1.5 * device.HbmBandwidth();
  return {.op_kind = "quantize",
          .precision = std::string(model::TraitsOf(format).name),
          .prior = family,
          .free = {{"launch_seconds", 0.6, 3},
                   {"hbm_fraction_ratio", 0.4, 6},
                   {"l2_feed_bytes_per_second", 0.6, 8}}};
}

// What a library chooses from.
enum class Choice {
  kAll,
  kNoSplit,
  kFew,  // A few tiles by the number of rows.
};

}  // namespace

std::vector<FitPlan> GemmPlans(const model::Device& device,
                               const MeasuredCase& measured) {
  const std::string slice(absl::StripSuffix(measured.slice, " + quantize"));
  std::vector<FitPlan> plans;
  for (const model::Format weights : model::AllFormats()) {
    const std::string name(model::TraitsOf(weights).name);
    // Kernels that widen weights of four bits are a family of their own.
    const bool widens = weights == model::Format::kInt4;
    const model::Format input = widens ? model::Format::kBf16 : weights;
    if (slice != (widens ? absl::StrCat("bf16 x ", name) : name) ||
        !device.ComputeFor(weights, input)) {
      continue;
    }
    model::TiledGemmFamily family = GemmPrior(device);
    family.facts.id = absl::StrCat("gemm-", name, "-tiled");
    const bool narrow = model::IsLowPrecision(input);
    for (const Choice choice : {Choice::kAll, Choice::kNoSplit, Choice::kFew}) {
      if (choice != Choice::kAll && !narrow && !widens) continue;
      if (choice != Choice::kAll) family.splits = {1};
      if (choice == Choice::kFew) {
        family.tiles = {{64, 64}, {64, 128}, {128, 128}};
      }
      FitPlan plan;
      plan.name = absl::StrCat("gemm ", name);
      plan.slots.push_back({.op_kind = "plain_gemm",
                            .precision = name,
                            .prior = family,
                            .free = FreeOfGemm(choice == Choice::kAll)});
      if (narrow) plan.slots.push_back(QuantizeSlot(device, weights));
      plans.push_back(std::move(plan));
    }
  }
  return plans;
}

}  // namespace mansard::calibrate
