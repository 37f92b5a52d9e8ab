#include "calibrate/fit/prefill_plan.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "calibrate/fit/plan_basics.h"
#include "model/base/format.h"

namespace mansard::calibrate {
namespace {

using model::HeadTile;
using model::Microseconds;
using model::Seconds;
using model::TiledPrefillFamily;

constexpr double kWide = 0.6;  // Of a logarithm.
constexpr double kFraction = 0.3;
// Half of a tile's time is exponentials: 1 / (2 (1/2 + 1/4)).
constexpr double kNarrowFraction = 2.0 / 3;

// Constants of one generation's bf16 kernels: launch, start, fractions, solo,
// bandwidth and droop as the performance model's design §1.5 fitted them (H100,
// A100, B200); of head sizes that it lacks the next, less where only generic
// kernels serve them.
struct Generation {
  const char* architecture;  // How the device's begins.
  double launch_us;
  double start_us;
  double head_64;
  double head_128;
  double head_192;
  double head_256;
  double head_512;
  double solo;
  double hbm_fraction;
  double droop;
  double droop_ms;
};
constexpr Generation kGenerations[] = {
    {"Ampere", 5.8, .29, .50, .68, .68, .60, .40, .7, .64, .154, 4.1},
    {"Ada", 5.8, .29, .50, .68, .68, .60, .40, .7, .64, .154, 4.1},
    {"Hopper", 9.3, 1, .532, .757, .886, .836, .60, .29, .62, .069, 11},
    // Graphics parts run the instructions of Ampere.
    {"Blackwell sm_120", 5.8, .29, .50, .68, .68, .60, .40, .7, .64, .154, 4.1},
    {"Blackwell", 8.7, 1, .396, .722, .85, .849, .60, .9, .43, .10, 6.9},
};

constexpr size_t kHopper = 2;

bool RunsAmpereKernels(const model::DeviceSpec& spec) {
  for (const char* architecture : {"Ampere", "Ada", "Blackwell sm_120"}) {
    if (absl::StartsWith(spec.architecture, architecture)) return true;
  }
  return false;
}

TiledPrefillFamily Base(const Generation& generation) {
  TiledPrefillFamily family;
  family.facts.sigma = 0.35;  // Until a fit says.
  family.launch = Microseconds(generation.launch_us);
  family.start = Microseconds(generation.start_us);
  family.peak_fractions = {{64, generation.head_64},
                           {128, generation.head_128},
                           {192, generation.head_192},
                           {256, generation.head_256},
                           {512, generation.head_512}};
  family.solo = generation.solo;
  family.window_blocks = 0.2;
  family.hbm_fraction = generation.hbm_fraction;
  // Read and written once; a block of up to 512 threads a token, a few of
  // which every multiprocessor works off in about a microsecond.
  family.append_passes = 1;
  family.append_token = Microseconds(1e-3);
  family.append_elements = 512;
  family.droop = generation.droop;
  family.droop_time = Seconds::Of(generation.droop_ms * 1e-3);
  return family;
}

// Of FlashAttention-3 on Hopper; heads share tiles in batches of requests, and
// its scheduler splits positions where there are few tiles.
const std::vector<HeadTile>& HopperTiles() {
  static const auto& tiles = *new std::vector<HeadTile>{{64, 192, 128, 128},
                                                        {128, 128, 128, 128},
                                                        {192, 128, 112, 96},
                                                        {256, 128, 80, 64}};
  return tiles;
}

struct Kernel {
  std::vector<HeadTile> tiles;
  bool packs_and_splits;
};

std::vector<Kernel> KernelsOf(const model::DeviceSpec& spec) {
  std::vector<Kernel> kernels;
  if (absl::StartsWith(spec.architecture, "Hopper")) {
    kernels.push_back({HopperTiles(), true});
    kernels.push_back({HopperTiles(), false});
  }
  kernels.push_back({{{128, 128, 128, 128}, {256, 128, 64, 64}}, false});
  kernels.push_back({{{128, 128, 128, 128},
                      {128, 64, 128, 128},
                      {256, 128, 64, 64},
                      {256, 64, 64, 64}},
                     false});
  kernels.push_back({{{256, 64, 64, 64}}, false});
  kernels.push_back({{{256, 128, 64, 64}}, true});
  return kernels;
}

}  // namespace

std::vector<TiledPrefillFamily> PrefillPriors(const model::Device& device) {
  const model::DeviceSpec& spec = device.spec();
  std::vector<TiledPrefillFamily> families;
  for (Kernel& kernel : KernelsOf(spec)) {
    TiledPrefillFamily family =
        Base(GenerationOf(device, kGenerations, kHopper));
    family.head_tiles = std::move(kernel.tiles);
    family.decodes_as_prompts = 0;
    family.packs_heads = kernel.packs_and_splits ? 1 : 0;
    family.splits_positions = kernel.packs_and_splits ? 1 : 0;
    families.push_back(std::move(family));
  }
  return families;
}

std::vector<FreeParameter> FreeOfPrefill() {
  return {{"launch_seconds", kWide, 30},
          {"start_seconds", kWide, 30},
          {"peak_fraction_head_64_ratio", kFraction, 6},
          {"peak_fraction_head_128_ratio", kFraction, 6},
          {"peak_fraction_head_192_ratio", kFraction, 10},
          {"peak_fraction_head_256_ratio", kFraction, 6},
          {"peak_fraction_head_512_ratio", kWide, 10},
          {"solo_ratio", kWide, 20},
          {"window_blocks", kWide, 30},
          {"hbm_fraction_ratio", kFraction, 4},
          {"append_passes", 0.8, 30},
          {"append_token_seconds", 1.2, 50},
          {"append_elements", 1.5, 32},
          {"droop_ratio", 0.4, 8},
          {"droop_seconds", 0.4, 30}};
}

namespace {

std::vector<FitPlan> PlansOf(std::vector<TiledPrefillFamily> families,
                             const char* op_kind, model::Format cache,
                             const std::vector<FreeParameter>& free) {
  const std::string format(model::TraitsOf(cache).name);
  std::vector<FitPlan> plans;
  for (TiledPrefillFamily& family : families) {
    family.facts.id = absl::StrCat(absl::StrReplaceAll(op_kind, {{"_", "-"}}),
                                   "-", format, "-tiled");
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

// FlashAttention-2 has one call for a mixed batch; what came after it has two,
// or a kernel of its own for the decodes.
bool HasOneCall(const model::Device& device, const MeasuredCase& measured) {
  return measured.framework == "vLLM" && measured.slice == "bf16" &&
         RunsAmpereKernels(device.spec());
}

// Arithmetic in fewer bits: matrices multiply at twice the rate, exponentials
// and their sums between them do not.
void Narrow(TiledPrefillFamily& family) {
  for (auto& [head_size, fraction] : family.peak_fractions) {
    fraction *= kNarrowFraction;
  }
}

// Prompts of latent attention have one head size and fewer rows.
std::vector<FreeParameter> FreeOfLatentPrefill() {
  return {{"launch_seconds", kWide, 30},
          {"start_seconds", kWide, 30},
          {"peak_fraction_head_192_ratio", kFraction, 10},
          {"solo_ratio", kWide, 20},
          {"hbm_fraction_ratio", kFraction, 4},
          {"append_token_seconds", 1.2, 50},
          {"droop_ratio", 0.4, 8}};
}

}  // namespace

std::vector<FitPlan> PrefillPlans(const model::Device& device,
                                  const MeasuredCase& measured) {
  std::vector<TiledPrefillFamily> families = PrefillPriors(device);
  if (measured.slice == "fp8" && device.HasTensor(model::Format::kFp8E4m3)) {
    for (TiledPrefillFamily& family : families) Narrow(family);
    return PlansOf(std::move(families), "narrow_prefill",
                   model::Format::kFp8E4m3, FreeOfPrefill());
  }
  const std::optional<model::Format> cache = CacheOf(measured.slice);
  if (!cache || !device.HasTensor(model::Format::kBf16)) return {};
  for (TiledPrefillFamily& family : families) {
    family.decodes_as_prompts = HasOneCall(device, measured) ? 1 : 0;
  }
  return PlansOf(std::move(families), "attention_prefill", *cache,
                 FreeOfPrefill());
}

std::vector<FitPlan> LatentPrefillPlans(const model::Device& device,
                                        const MeasuredCase& measured) {
  absl::string_view slice = measured.slice;
  if (!absl::ConsumePrefix(&slice, "prefill ")) return {};
  const std::optional<model::Format> cache = CacheOf(slice);
  if (!cache || !device.HasTensor(model::Format::kBf16)) return {};
  // SGLang serves them on latent vectors there: the general family's.
  if (measured.framework == "SGLang" &&
      absl::StartsWith(device.spec().architecture, "Hopper")) {
    return {};
  }
  return PlansOf(PrefillPriors(device), "latent_prefill", *cache,
                 FreeOfLatentPrefill());
}

}  // namespace mansard::calibrate
