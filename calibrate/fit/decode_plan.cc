#include "calibrate/fit/decode_plan.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "calibrate/fit/plan_basics.h"
#include "model/base/format.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::Format;
using model::Microseconds;
using model::Seconds;
using model::SplitDecodeFamily;

// Constants of one generation's kernels on bf16 caches.
struct Generation {
  const char* architecture;  // How the device's begins.
  double launch_us;
  double start_us;
  double head_share;
  double window_start_us;
  double block_latency_us;
  double combine_us;
  double query_ps;
  double peak_fraction;
  double hbm_fraction;
  double l2_feed;    // Bytes per multiprocessor and clock.
  double part_feed;  // Of a multiprocessor's share of the memory's rate.
  double warm_share;
};
constexpr Generation kGenerations[] = {
    {"Ampere", 10, 4, .4, 2, .3, 5, 2, .5, .91, 23, 3, .6},
    {"Ada", 8, 3, .4, 2, .2, 3, 2, .5, .91, 10, 3, .6},
    {"Hopper", 6.5, 4, .4, 2.5, .15, 1.2, 2, .65, .92, 23, 1.6, .5},
    // Graphics parts run the instructions of Ampere.
    {"Blackwell sm_120", 6, 3, .4, 1, .2, 3, 3, .6, .87, 12, 5, .7},
    {"Blackwell", 8, 1.8, .4, .3, .08, 4, 2.5, .65, .9, 45, 8, .5},
};
constexpr Generation kLatentGenerations[] = {
    {"Ampere", 5, 5, 0, 0, 4, 4, 3, .3, .91, 23, 1.2, .6},
    {"Ada", 5, 5, 0, 0, 4, 4, 3, .3, .91, 10, 1.2, .6},
    {"Hopper", 6.5, 5, 0, 0, .6, 4, 1.5, .9, .9, 25, 2.5, .6},
    {"Blackwell sm_120", 5, 3, 0, 0, 2, 4, 2, .35, .87, 10, 2.5, .6},
    {"Blackwell", 5, 4.6, 0, 0, 1.2, 1.2, 1.2, .9, .93, 24, 3, .55},
};
constexpr size_t kHopper = 2;  // In both tables.

bool IsDatacenterBlackwell(const model::DeviceSpec& spec) {
  return absl::StartsWith(spec.architecture, "Blackwell") &&
         !absl::StartsWith(spec.architecture, "Blackwell sm_12");
}

SplitDecodeFamily Base(const model::Device& device,
                       const Generation& generation) {
  const double multiprocessors = Multiprocessors(device);
  const double clock = Clock(device);
  SplitDecodeFamily family{};
  family.facts.sigma = 0.2;  // Until a fit says.
  family.launch = Microseconds(generation.launch_us);
  family.start = Microseconds(generation.start_us);
  family.head_share = generation.head_share;
  family.window_start = Microseconds(generation.window_start_us);
  family.block_latency = Microseconds(generation.block_latency_us);
  family.combine = Microseconds(generation.combine_us);
  family.combine_part = Microseconds(0.03);
  family.query = Seconds::Of(generation.query_ps * 1e-12);
  family.peak_fraction = generation.peak_fraction;
  family.hbm_fraction = generation.hbm_fraction;
  family.l2_feed =
      BytesPerSecond::Of(generation.l2_feed * multiprocessors * clock);
  family.part_feed =
      generation.part_feed / multiprocessors * device.HbmBandwidth();
  family.wide_feed = 1;
  family.occupancy = 1.3;
  family.block_tokens = 128;
  family.head_rows = 64;
  family.alone_launch = 1;
  family.alone_start = 1;
  family.warm_share = generation.warm_share;
  family.splits = {1,  2,  3,  4,  5,  6,  8,  10, 12,
                   16, 20, 24, 32, 48, 64, 96, 128};
  return family;
}

std::vector<FreeParameter> FreeOfBoth() {
  return {{"launch_seconds", 0.5, 8},
          {"start_seconds", 0.6, 20},
          {"block_latency_seconds", 0.7, 30},
          {"combine_seconds", 0.7, 30},
          {"combine_part_seconds", 0.8, 50},
          {"query_seconds", 1, 50},
          {"peak_fraction_ratio", 0.4, 20},
          {"hbm_fraction_ratio", 0.1, 3},
          {"l2_feed_bytes_per_second", 0.5, 10},
          {"part_feed_bytes_per_second", 0.8, 30},
          {"occupancy", 0.3, 2.2},
          {"warm_share_ratio", 0.4, 8}};
}

std::vector<FreeParameter> FreeOfDecode() {
  std::vector<FreeParameter> free = FreeOfBoth();
  for (const FreeParameter& own :
       {FreeParameter{"head_share_ratio", 0.5, 10},
        FreeParameter{"window_start_seconds", 0.8, 20},
        FreeParameter{"wide_feed_ratio", 0.5, 8},
        FreeParameter{"alone_launch_ratio", 0.5, 3},
        FreeParameter{"alone_start_ratio", 0.5, 12}}) {
    free.push_back(own);
  }
  return free;
}

std::vector<FitPlan> PlansOf(std::vector<SplitDecodeFamily> priors,
                             const std::string& op_kind, Format cache,
                             const std::vector<FreeParameter>& free) {
  const std::string format(model::TraitsOf(cache).name);
  std::vector<FitPlan> plans;
  for (SplitDecodeFamily& family : priors) {
    family.facts.id =
        absl::StrCat(op_kind == "latent_decode" ? "latent-decode-" : "decode-",
                     format, "-split");
    FitPlan plan;
    plan.name = absl::StrCat(op_kind, " ", format);
    plan.slots.push_back({.op_kind = op_kind,
                          .precision = format,
                          .prior = std::move(family),
                          .free = free});
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace

std::vector<SplitDecodeFamily> DecodePriors(const model::Device& device,
                                            double cache_bytes) {
  SplitDecodeFamily shared =
      Base(device, GenerationOf(device, kGenerations, kHopper));
  // What widens the cache to the format of the arithmetic passes fewer bytes.
  if (cache_bytes < 2) shared.part_feed *= 0.6;
  // Kernels for up to 32 query heads of a KV head; beyond, and where no heads
  // share one, other kernels, which before datacenter Blackwell run on vector
  // units.
  SplitDecodeFamily limited = shared;
  limited.group_limit = 32;
  if (!IsDatacenterBlackwell(device.spec())) {
    limited.launch = Microseconds(4.5);
    limited.combine = Microseconds(6);
    limited.alone_launch = 1.7;
    limited.alone_start = 0.4;
  }
  // FlashAttention-2: query heads share a read only without a window.
  SplitDecodeFamily windowed = shared;
  windowed.window_group_limit = 1;
  return {shared, limited, windowed};
}

std::vector<SplitDecodeFamily> LatentDecodePriors(const model::Device& device) {
  SplitDecodeFamily base =
      Base(device, GenerationOf(device, kLatentGenerations, kHopper));
  base.combine_part = Microseconds(0.08);
  std::vector<SplitDecodeFamily> priors;
  for (const double rows : {64, 128, 16}) {
    priors.push_back(base);
    priors.back().head_rows = rows;
  }
  priors.push_back(base);
  priors.back().splits = {1};
  return priors;
}

std::vector<FitPlan> DecodePlans(const model::Device& device,
                                 const MeasuredCase& measured) {
  const std::optional<Format> cache = CacheOf(measured.slice);
  if (!cache) return {};
  return PlansOf(DecodePriors(device, model::ElementBytes(*cache, 1).value()),
                 "attention_decode", *cache, FreeOfDecode());
}

std::vector<FitPlan> LatentDecodePlans(const model::Device& device,
                                       const MeasuredCase& measured) {
  absl::string_view slice = measured.slice;
  if (!absl::ConsumePrefix(&slice, "decode ")) return {};
  const std::optional<Format> cache = CacheOf(slice);
  if (!cache) return {};
  return PlansOf(LatentDecodePriors(device), "latent_decode", *cache,
                 FreeOfBoth());
}

}  // namespace mansard::calibrate
