#include "model/hardware/default_stack.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

constexpr double kSigma = 0.35;
constexpr const char* kRules = "Mansard design, performance model §1.11";

// A device whose feeds are known, for others to be scaled from.
struct FeedReference {
  const char* name;
  double multiprocessors;
  double hertz;
  BytesPerSecond gemm;
  BytesPerSecond stream;
};
// Both fitted, and effective: multicast lets a GEMM's exceed the L2's rate.
constexpr FeedReference kH100 = {"H100", 132, 1.83e9, GigabytesPerSecond(16900),
                                 GigabytesPerSecond(7800)};
// A fit, and RRZE-HPC/gpu-benches at 1038c5d0.
constexpr FeedReference kA100 = {"A100", 108, 1.41e9, GigabytesPerSecond(4200),
                                 GigabytesPerSecond(5400)};
// Without multicast and with a small L2.
constexpr const char* kArchitecturesLikeA100[] = {"Volta", "Turing", "Ampere"};
// Where nothing is known of the L2 but that it is faster than what it caches.
constexpr double kL2OverHbm = 4;

Provenance Scaled(absl::string_view rule) {
  return {ProvenanceKind::kScaled,
          absl::StrCat("generic stack: ", rule, " (", kRules, ")"), ""};
}

FamilyFacts Facts(absl::string_view id, absl::string_view rule) {
  return {.id = std::string(id),
          .tier = Tier::kSpec,
          .sigma = kSigma,
          .provenance = Scaled(rule)};
}

// A rate with where it comes from.
using Feed = Sourced<BytesPerSecond>;

std::optional<Feed> ScaledFeed(const DeviceSpec& spec,
                               BytesPerSecond FeedReference::*feed) {
  if (spec.vendor != "NVIDIA" || !spec.multiprocessor_count ||
      !spec.clock_hertz) {
    return std::nullopt;
  }
  const FeedReference* reference = &kH100;
  for (const char* architecture : kArchitecturesLikeA100) {
    if (absl::StartsWith(spec.architecture, architecture)) reference = &kA100;
  }
  const double scale = spec.multiprocessor_count->value *
                       spec.clock_hertz->value /
                       (reference->multiprocessors * reference->hertz);
  return Feed{reference->*feed * scale,
              Scaled(absl::StrFormat(
                  "%g TB/s of the %s by multiprocessors x clock",
                  (reference->*feed).value() * 1e-12, reference->name))};
}

std::optional<Feed> MeasuredFeed(const DeviceSpec& spec) {
  if (!spec.l2 || !spec.l2->bandwidth) return std::nullopt;
  return spec.l2->bandwidth;
}

Feed FeedFromHbm(const DeviceSpec& spec) {
  return {spec.hbm.bandwidth->value * kL2OverHbm,
          Scaled("4 x HBM bandwidth, no source measures the L2")};
}

Feed GemmFeed(const DeviceSpec& spec) {
  if (auto feed = ScaledFeed(spec, &FeedReference::gemm)) return *feed;
  if (auto feed = MeasuredFeed(spec)) return *feed;
  return FeedFromHbm(spec);
}

Feed StreamFeed(const DeviceSpec& spec) {
  if (auto feed = MeasuredFeed(spec)) return *feed;
  if (auto feed = ScaledFeed(spec, &FeedReference::stream)) return *feed;
  return FeedFromHbm(spec);
}

// Sets the family's feed and says where it comes from.
template <class Family>
void SetFeed(const Feed& feed, Family& family) {
  family.l2_feed = feed.value;
  family.facts.parameter_provenance["l2_feed_bytes_per_second"] =
      feed.provenance;
}

struct WidthClass {
  int least_bits;  // Of an element of the formats that it serves.
  int most_bits;
  const char* id;
  double fraction;
  std::optional<Sourced<double>> AchievedFractions::*achieved;
};
constexpr WidthClass kWidthClasses[] = {
    {16, 32, "gemm-16bit", 0.75, &AchievedFractions::gemm_16bit},
    {8, 8, "gemm-8bit", 0.65, &AchievedFractions::gemm_8bit},
    {4, 4, "gemm-4bit", 0.55, &AchievedFractions::gemm_4bit},
};

bool Serves(const WidthClass& width, Format format) {
  const int bits = TraitsOf(format).element_bits;
  return bits >= width.least_bits && bits <= width.most_bits;
}

GemmFamily MakeGemm(const WidthClass& width, const DeviceSpec& spec,
                    const AchievedFractions& achieved) {
  GemmFamily family{
      .facts = Facts(width.id,
                     "fixed times of the H100, share of the tensor rate by "
                     "operand width, of HBM .85, tiles 128 x 256"),
      .launch = Microseconds(1.7),
      .wave = Microseconds(0.97),
      .peak_fraction = width.fraction,
      .hbm_fraction = 0.85,
      .l2_feed = {},
      .tile_rows = 128,
      .tile_columns = 256};
  SetFeed(GemmFeed(spec), family);
  if (const auto& measured = achieved.*width.achieved) {
    family.peak_fraction = measured->value;
    family.facts.parameter_provenance["peak_fraction_ratio"] =
        measured->provenance;
  }
  return family;
}

// The 16-bit family serves what has none of its own; narrower ones are there
// where the device has a tensor rate for them.
void AddGemms(const Device& device, const AchievedFractions& achieved,
              KernelStackSpec& stack) {
  stack.gemm_by_format.fill(0);
  for (const WidthClass& width : kWidthClasses) {
    bool needed = stack.gemm.empty();
    for (Format format : AllFormats()) {
      needed |= Serves(width, format) && device.HasTensor(format);
    }
    if (!needed) continue;
    for (Format format : AllFormats()) {
      if (!Serves(width, format)) continue;
      stack.gemm_by_format[static_cast<size_t>(format)] =
          static_cast<int>(stack.gemm.size());
    }
    stack.gemm.push_back(MakeGemm(width, device.spec(), achieved));
  }
}

void AddAttentionAndElementwise(const DeviceSpec& spec,
                                KernelStackSpec& stack) {
  stack.attention_decode = {
      .facts = Facts("attention-decode",
                     "fixed times of the H100, share of HBM .90"),
      .launch = Microseconds(7.4),
      .combine = Microseconds(1),
      .peak_fraction = 0.6,
      .hbm_fraction = 0.90,
      .l2_feed = {}};
  SetFeed(StreamFeed(spec), stack.attention_decode);
  stack.attention_prefill = {
      .facts = Facts("attention-prefill",
                     "fixed time and share of HBM of the H100, share of the "
                     "tensor rate by head size"),
      .launch = Microseconds(9.3),
      .peak_fractions = {{64, 0.45}, {128, 0.65}, {192, 0.75}, {256, 0.70}},
      .hbm_fraction = 0.62};
  stack.elementwise = {
      .facts = Facts("elementwise", "fixed time of the H100, share of HBM .80"),
      .launch = Microseconds(1.6),
      .hbm_fraction = 0.80,
      .l2_feed = {}};
  SetFeed(StreamFeed(spec), stack.elementwise);
}

// Microseconds of NCCL's src/graph/tuning.cc for a ring: once, and per step.
struct ProtocolPrior {
  CollectiveFamily::Protocol protocol;
  double base_us;
  double step_us;
  double share;  // Of the link, that is payload and not flags.
};

std::vector<ProtocolPrior> PriorsOf(LinkTier tier) {
  using enum CollectiveFamily::Protocol;
  constexpr double kLlShare = 0.5;  // Every second word is a flag.
  constexpr double kLl128Share = 120.0 / 128;
  switch (tier) {
    case LinkTier::kNvlink:
      return {{kLl, 6.6, 0.6, kLlShare},
              {kLl128, 14, 1.9, kLl128Share},
              {kSimple, 8.4, 3.4, 1}};
    // NCCL keeps LL128 to NVLink by default.
    case LinkTier::kPcie:
      return {{kLl, 6.6, 1.0, kLlShare}, {kSimple, 8.4, 5.7, 1}};
    case LinkTier::kRdma:
      return {{kLl, 6.6, 2.7, kLlShare}, {kSimple, 8.4, 14, 1}};
  }
  return {};
}

CollectiveFamily MakeCollective(const Link& link) {
  constexpr double kLatency = 1.3;
  constexpr double kBandwidth = 0.65;
  CollectiveFamily family{
      .facts = Facts(absl::StrCat("all-reduce-", LinkTierName(link.tier)),
                     "ring constants of NCCL src/graph/tuning.cc, latency x "
                     "1.3, link bandwidth x 0.65"),
      .lines = {}};
  for (const ProtocolPrior& prior : PriorsOf(link.tier)) {
    family.lines.push_back(
        {.alpha = Microseconds(prior.base_us * kLatency),
         .step = Microseconds(prior.step_us * kLatency),
         .bus = link.bandwidth.value * (kBandwidth * prior.share),
         .protocol = prior.protocol});
  }
  return family;
}

HostCost DefaultHost() {
  return {.step = Seconds::Zero(),
          .request = Microseconds(5),
          .prefill_token = Microseconds(0.5),
          .eager_launch = Microseconds(5),
          .cuda_graphs = true,
          .provenance = {ProvenanceKind::kAssumed,
                         "Mansard design, end to end §2 (default weights), "
                         "performance model §1.8",
                         ""}};
}

}  // namespace

std::optional<KernelStack> DefaultStack(const Device& device,
                                        const std::vector<Fabric>& fabrics,
                                        const AchievedFractions& achieved,
                                        Violations& violations) {
  KernelStackSpec stack;
  stack.id = "generic";
  AddGemms(device, achieved, stack);
  AddAttentionAndElementwise(device.spec(), stack);
  for (const Fabric& fabric : fabrics) {
    for (const Link& link : fabric.spec().links) {
      auto& family = stack.collectives[static_cast<size_t>(link.tier)];
      if (!family) family = MakeCollective(link);
    }
  }
  stack.host = DefaultHost();
  stack.memory = DefaultEngineMemory(device);
  return KernelStack::Create(std::move(stack), violations);
}

}  // namespace mansard::model
