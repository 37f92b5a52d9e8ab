#include "calibrate/fit/collective_plan.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibrate/fit/plan_basics.h"
#include "calibrate/tables/names.h"
#include "model/kernels/protocol_lines.h"

namespace mansard::calibrate {
namespace {

using model::Bytes;
using model::CollectiveFamily;
using model::DirectAllReduceFamily;
using model::ExpertExchangeFamily;
using model::GigabytesPerSecond;
using model::Microseconds;
using Protocol = CollectiveFamily::Protocol;

// A protocol line, as the performance model's design §1.9 fitted it, the
// rank's own copies apart.
struct LinePrior {
  Protocol protocol;
  double alpha_us;
  double step_us;
  double bus;  // GB/s.
};

// One generation's links.
struct Generation {
  const char* architecture;  // How the device's begins.
  LinePrior ll;
  LinePrior ll128;
  LinePrior simple;
  LinePrior in_switch;  // bus 0: it does not add.
  double direct_bus;    // GB/s, of ranks that read each other's buffers.
};
constexpr Generation kGenerations[] = {
    {"Ampere",
     {Protocol::kLl, 8, .95, 14},
     {Protocol::kLl128, 11, .9, 140},
     {Protocol::kSimple, 40, .8, 240},
     {Protocol::kInSwitch, 0, 0, 0},
     166},
    {"Hopper",
     {Protocol::kLl, 4.6, .78, 22},
     {Protocol::kLl128, 5.4, .88, 230},
     {Protocol::kSimple, 20, .5, 400},
     {Protocol::kInSwitch, 40, .5, 320},
     280},
    {"Blackwell",
     {Protocol::kLl, 7.5, 1.3, 58},
     {Protocol::kLl128, 7.6, 1.3, 280},
     {Protocol::kSimple, 30, .5, 730},
     {Protocol::kInSwitch, 45, .5, 480},
     550},
};
// Whatever the device: PCIe, and the network.
constexpr LinePrior kPcie[] = {{Protocol::kLl, 5.5, 1.2, 4.2},
                               {Protocol::kLl128, 4, 1.5, 15},
                               {Protocol::kSimple, 8, 5, 40}};
constexpr LinePrior kNetwork[] = {{Protocol::kLl, 22, 6, 4},
                                  {Protocol::kSimple, 60, 15, 10}};
constexpr LinePrior kNetworkSend[] = {{Protocol::kLl, 12, 1, 8},
                                      {Protocol::kSimple, 18, 1, 25}};

constexpr size_t kHopper = 1;

const char* NameOf(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return "ll";
    case Protocol::kLl128:
      return "ll128";
    case Protocol::kSimple:
      return "simple";
    case Protocol::kTree:
      return "tree";
    case Protocol::kInSwitch:
      return "in_switch";
  }
  return "";
}

constexpr double kWide = 0.7;  // Of a logarithm: a factor of two.
constexpr double kReach = 8;

void AddLine(const LinePrior& prior, FitSlot& slot) {
  std::get<CollectiveFamily>(slot.prior)
      .lines.push_back({Microseconds(prior.alpha_us),
                        Microseconds(prior.step_us),
                        GigabytesPerSecond(prior.bus), prior.protocol});
  const char* name = NameOf(prior.protocol);
  for (const char* parameter :
       {"_alpha_seconds", "_step_seconds", "_bus_bytes_per_second"}) {
    slot.free.push_back({absl::StrCat(name, parameter), kWide, kReach});
  }
}

// What a slice says: "all_reduce nvlink x8".
struct Slice {
  std::string kind;
  std::string tier;
};
std::optional<Slice> SliceOf(const MeasuredCase& measured) {
  const std::vector<std::string> words = absl::StrSplit(measured.slice, ' ');
  if (words.size() < 3) return std::nullopt;
  return Slice{words[0], words[1]};
}

FitSlot LinesSlot(const Slice& slice, const model::Device& device) {
  CollectiveFamily family;
  family.facts.id = absl::StrCat(slice.kind, "-lines-", slice.tier);
  for (char& c : family.facts.id) {
    if (c == '_') c = '-';
  }
  // NCCL adds in the switch only where all eight of a board take part.
  family.in_switch_ranks = 8;
  FitSlot slot{
      .op_kind = slice.kind, .tier = slice.tier, .prior = family, .free = {}};
  const auto free = [&](const char* name, double CollectiveFamily::*member,
                        double prior) {
    std::get<CollectiveFamily>(slot.prior).*member = prior;
    slot.free.push_back({name, kWide, 10});
  };
  const bool sends = slice.kind == "send_receive";
  if (slice.tier == "nvlink") {
    const Generation& generation = GenerationOf(device, kGenerations, kHopper);
    AddLine(generation.ll, slot);
    if (!sends) AddLine(generation.ll128, slot);
    AddLine(generation.simple, slot);
    if (slice.kind == "all_reduce" && generation.in_switch.bus > 0) {
      AddLine(generation.in_switch, slot);
    }
    if (!sends) free("own_share_ratio", &CollectiveFamily::own_share, 0.25);
  } else if (slice.tier == "pcie") {
    for (const LinePrior& line : kPcie) AddLine(line, slot);
    free("crowding_exponent", &CollectiveFamily::crowding, 0.2);
  } else {
    for (const LinePrior& line : kNetwork) {
      if (!sends) AddLine(line, slot);
    }
    for (const LinePrior& line : kNetworkSend) {
      if (sends) AddLine(line, slot);
    }
    if (!sends) free("crowding_exponent", &CollectiveFamily::crowding, 0.5);
  }
  return slot;
}

// Which buffers an engine's own all-reduce takes, as the measured tables show
// its cliffs; in KiB, for up to 2, 4 and 8 ranks. "Below" is a byte less.
// vLLM's second kernel on Blackwell has the switch add: its times at 2, 4 and 8
// ranks go with (n + 1) / n, not with 2 (n - 1) / n. Between its two kernels,
// and beyond, NCCL serves.
constexpr double kBelow = 1 / 1024.;
struct EngineLimits {
  const char* framework;
  const char* architecture;
  const char* device;  // How the tables' name of it begins.
  double one_shot_us;
  std::array<double, 3> one_shot;
  std::array<double, 3> two_shot_from;
  std::array<double, 3> two_shot;
  bool in_switch = false;  // The second.
};
constexpr EngineLimits kLimits[] = {
    {"vLLM",
     "Ampere",
     "",
     4.8,
     {8192 - kBelow, 512 - kBelow, 256 - kBelow},
     {0, 0, 0},
     {0, 8192 - kBelow, 8192 - kBelow}},
    {"vLLM",
     "Hopper",
     "",
     4.2,
     {8192 - kBelow, 512 - kBelow, 256 - kBelow},
     {8192, 0, 0},
     {65536, 32768, 65536}},
    {"vLLM", "Blackwell sm_120", "", 4.2, {8192 - kBelow, 0, 0}, {}, {}},
    {"vLLM",
     "Blackwell",
     "GB200",
     5,
     {8192 - kBelow, 512 - kBelow, 256 - kBelow},
     {0, 512, 1024},
     {0, 32768, 65536},
     true},
    {"vLLM",
     "Blackwell",
     "B300",
     6,
     {8192 - kBelow, 512 - kBelow, 256 - kBelow},
     {0, 4096, 4096},
     {0, 32768, 65536},
     true},
    {"vLLM",
     "Blackwell",
     "",
     6,
     {2048 - kBelow, 512 - kBelow, 256 - kBelow},
     {2048, 2048, 1024},
     {8192, 32768, 65536},
     true},
    {"SGLang",
     "Ampere",
     "",
     4.8,
     {8192, 512 - kBelow, 256 - kBelow},
     {0, 0, 0},
     {0, 8192, 8192}},
    {"SGLang", "Hopper", "", 2.4, {16384, 16384, 16384}, {}, {0, 16384, 16384}},
    {"SGLang", "Blackwell sm_120", "", 4.2, {8192, 0, 0}, {}, {}},
    {"SGLang",
     "Blackwell",
     "",
     4,
     {16384, 16384, 16384},
     {},
     {0, 16384, 16384}},
    {"TensorRT-LLM", "Ampere", "", 4.5, {1024, 1024, 512}, {}, {}},
    {"TensorRT-LLM", "Hopper", "", 2.7, {8192, 1024, 512}, {}, {}},
    {"TensorRT-LLM", "Blackwell sm_120", "", 2.7, {}, {}, {}},
    {"TensorRT-LLM",
     "Blackwell",
     "",
     4.8,
     {8192, 2048, 1024},
     {16384, 4096, 2048},
     {16384, 16384, 32768}},
};

const EngineLimits* LimitsOf(const model::Device& device,
                             const MeasuredCase& measured) {
  for (const EngineLimits& limits : kLimits) {
    if (measured.framework == limits.framework &&
        absl::StartsWith(device.spec().architecture, limits.architecture) &&
        absl::StartsWith(measured.device, limits.device)) {
      return &limits;
    }
  }
  return nullptr;
}

std::array<Bytes, 3> Kibibytes(const std::array<double, 3>& counts) {
  std::array<Bytes, 3> bytes;
  for (size_t i = 0; i < counts.size(); ++i) {
    bytes[i] = Bytes::Of(counts[i] * 1024);
  }
  return bytes;
}

FitSlot DirectSlot(const EngineLimits& limits, const std::string& tier,
                   const model::Device& device) {
  const double bus =
      tier == "pcie" ? 40
                     : GenerationOf(device, kGenerations, kHopper).direct_bus;
  DirectAllReduceFamily family;
  family.facts.id = absl::StrCat("direct-all-reduce-", tier);
  family.one_shot_alpha = Microseconds(limits.one_shot_us);
  family.one_shot_step = Microseconds(0.08);
  family.one_shot_bus = GigabytesPerSecond(bus);
  family.two_shot_alpha = Microseconds(limits.one_shot_us * 1.5);
  family.two_shot_step = Microseconds(0.3);
  family.two_shot_bus = GigabytesPerSecond(bus);
  family.one_shot_limit = Kibibytes(limits.one_shot);
  family.two_shot_in_switch = limits.in_switch ? 1 : 0;
  family.two_shot_start = Kibibytes(limits.two_shot_from);
  family.two_shot_limit = Kibibytes(limits.two_shot);
  FitSlot slot{.op_kind = "direct_all_reduce",
               .tier = tier,
               .prior = family,
               .free = {}};
  for (const char* shot : {"one_shot", "two_shot"}) {
    if (shot[0] == 't' && limits.two_shot[2] == 0 && limits.two_shot[1] == 0) {
      continue;
    }
    for (const char* parameter :
         {"_alpha_seconds", "_step_seconds", "_bus_bytes_per_second"}) {
      slot.free.push_back({absl::StrCat(shot, parameter), kWide, kReach});
    }
  }
  return slot;
}

// One kind of exchange kernels, as fitted to all tables together.
struct ExchangePrior {
  const char* kind;
  double alpha_us;
  double network_alpha_us;
  double token_us;
  double row_us;
  double sm_feed;     // GB/s.
  double token_feed;  // GB/s.
  double bus;         // GB/s.
  double per_rank;
  double multiprocessors;
};
constexpr ExchangePrior kExchanges[] = {
    {"expert_dispatch", 26, 3, .4, .06, 24, 50, 330, 1, 20},
    {"expert_combine", 24, 3, .5, .1, 24, .7, 300, 1, 20},
    {"expert_dispatch_low_latency", 11, 4, 1.5, .1, 20, 50, 250, 0, 0},
    {"expert_combine_low_latency", 11, 8, .5, .07, 50, 50, 230, 0, 0},
};

FitSlot ExchangeSlot(const ExchangePrior& prior, const Slice& slice,
                     const model::Device& device) {
  ExpertExchangeFamily family;
  family.facts.id = absl::StrCat(slice.kind, "-", slice.tier);
  for (char& c : family.facts.id) {
    if (c == '_') c = '-';
  }
  const double scale =
      GenerationOf(device, kGenerations, kHopper).direct_bus / 280;
  family.alpha = Microseconds(prior.alpha_us);
  family.network_alpha = Microseconds(prior.network_alpha_us);
  family.network_step = Microseconds(3);
  family.token = Microseconds(prior.token_us);
  family.row = Microseconds(prior.row_us);
  family.sm_feed = GigabytesPerSecond(prior.sm_feed);
  family.token_feed = GigabytesPerSecond(prior.token_feed);
  family.bus = GigabytesPerSecond(prior.bus * scale);
  family.network = GigabytesPerSecond(48);
  family.crowding = 0.1;
  family.per_rank = prior.per_rank;
  family.multiprocessors = prior.multiprocessors;
  FitSlot slot{.op_kind = slice.kind,
               .tier = slice.tier,
               .prior = family,
               .free = {{"alpha_seconds", kWide, kReach},
                        {"token_seconds", 1, 20},
                        {"row_seconds", 1, 20},
                        {"sm_feed_bytes_per_second", kWide, kReach},
                        {"token_feed_bytes_per_second", 1, 20},
                        {"bus_bytes_per_second", kWide, kReach}}};
  if (slice.tier == "rdma") {
    slot.free.push_back({"network_alpha_seconds", kWide, kReach});
    slot.free.push_back({"network_step_seconds", kWide, kReach});
    slot.free.push_back({"network_bytes_per_second", 0.3, 3});
    slot.free.push_back({"crowding_exponent", 1, 10});
  }
  return slot;
}

// Whether the engine's own kernels serve the row; NCCL's lines are the
// device's, and what they miss is no part of these kernels' interval.
bool Serves(const DirectAllReduceFamily& family, const MeasuredCase& measured) {
  const std::vector<std::string> words = absl::StrSplit(measured.slice, ' ');
  int ranks = 0;
  if (words.size() < 3 || !absl::SimpleAtoi(words[2].substr(1), &ranks)) {
    return false;
  }
  const Bytes buffer = Bytes::Of(measured.size);
  return model::TimeOneShot(family, ranks, buffer, 1).has_value() ||
         model::TimeTwoShot(family, ranks, buffer, 1).has_value();
}

}  // namespace

std::vector<FitPlan> CollectivePlans(const model::Device& device,
                                     const MeasuredCase& measured) {
  const std::optional<Slice> slice = SliceOf(measured);
  if (!slice || absl::EndsWith(measured.slice, " eager")) return {};
  // Whose nodes are joined by what nobody would build today.
  const bool old = absl::StartsWith(device.spec().architecture, "Volta");
  if (old && slice->tier == "rdma") return {};
  FitPlan plan;
  if (measured.framework == "NCCL") {
    const bool told = !measured.version.empty() || slice->tier == "rdma" ||
                      slice->kind == "send_receive";
    if (!told) return {};
    plan.name = absl::StrCat(slice->kind, " ", slice->tier);
    plan.slots.push_back(LinesSlot(*slice, device));
    plan.of_device = true;
    return {plan};
  }
  const EngineLimits* limits = LimitsOf(device, measured);
  if (limits == nullptr) return {};
  FitSlot slot = DirectSlot(*limits, slice->tier, device);
  if (!Serves(std::get<DirectAllReduceFamily>(slot.prior), measured)) return {};
  plan.name = absl::StrCat("direct_all_reduce ", slice->tier);
  // A line of three parameters, measured again and again.
  plan.min_rows = 6;
  plan.slots.push_back(std::move(slot));
  return {plan};
}

std::vector<FitPlan> ExchangePlans(const model::Device& device,
                                   const MeasuredCase& measured) {
  const std::optional<Slice> slice = SliceOf(measured);
  if (!slice) return {};
  for (const ExchangePrior& prior : kExchanges) {
    if (slice->kind != prior.kind) continue;
    FitPlan plan;
    plan.name = absl::StrCat(slice->kind, " ", slice->tier);
    plan.slots.push_back(ExchangeSlot(prior, *slice, device));
    return {plan};
  }
  return {};
}

}  // namespace mansard::calibrate
