#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/estimate/overlapped.h"
#include "model/estimate/tile_choice.h"
#include "model/estimate/what_if.h"

namespace mansard::model {
namespace {

class Variants {
 public:
  Variants(const Target& target, const ForwardPass& pass)
      : target_(target), pass_(pass) {}

  void AddFormats();
  void AddRequests();
  void AddTensor();
  void AddExperts();
  void AddKernels();
  void AddOverlap();
  void AddRecompute();
  void AddTiles();
  void AddFabric(const std::vector<const Fabric*>& fabrics);
  void AddDevices(const WhatIfChoices& choices);

  std::vector<Variant> Take() { return std::move(all_); }

 private:
  Variant& Add(absl::string_view kind, absl::string_view value,
               absl::string_view reason = "") {
    all_.push_back({std::string(kind), std::string(value), target_.spec(),
                    pass_, std::string(reason)});
    return all_.back();
  }
  void AddWeights(Format format);
  void AddTensor(int size, absl::string_view reason);
  void AddRecompute(absl::string_view value, Role role);
  void SetGroups(RequestGroups groups, Variant& variant);

  const Target& target_;
  const ForwardPass& pass_;
  std::vector<Variant> all_;
};

// Weights and activations: what makes both memory and tensor units faster.
void Variants::AddWeights(Format format) {
  const Precision& now = target_.formats().precision;
  const bool same = now.weights == format && now.activations == format;
  Variant& variant = Add("weights", TraitsOf(format).name,
                         same ? "the model runs in it already" : "");
  variant.spec.weights = variant.spec.activations = format;
}

void Variants::AddFormats() {
  AddWeights(Format::kFp8E4m3);
  AddWeights(Format::kNvfp4);
  const bool narrow =
      TraitsOf(target_.formats().precision.kv_cache).element_bits <= 8;
  Add("kv_cache", TraitsOf(Format::kFp8E4m3).name,
      narrow ? "the cache is as narrow already" : "")
      .spec.kv_cache = Format::kFp8E4m3;
}

void Variants::AddRequests() {
  RequestGroups groups = pass_.groups();
  for (RequestGroup& group : groups) group.request_count *= 2;
  SetGroups(std::move(groups),
            Add("request_count", absl::StrCat(2 * pass_.request_count())));
}

// Of the pass, with its routing and drafts; the reason where that cannot be.
void Variants::SetGroups(RequestGroups groups, Variant& variant) {
  Violations violations;
  const ModelGraphSpec& graph = target_.graph().spec();
  std::optional<ForwardPass> pass =
      ForwardPass::Create(std::move(groups), graph.max_context, violations);
  if (pass.has_value()) {
    pass = pass->WithRouting(pass_.routing(), target_.graph().ExpertCount(),
                             violations);
  }
  if (pass.has_value()) {
    pass = pass->WithDrafting(pass_.drafting(), graph.mtp.modules, violations);
  }
  if (pass.has_value()) {
    variant.pass = *std::move(pass);
  } else {
    variant.reason = std::string(violations.ToStatus().message());
  }
}

// Experts stay whole on their ranks where they were.
void Variants::AddTensor(int size, absl::string_view reason) {
  const Layout& layout = target_.layout();
  Parallelism& asked =
      Add("tensor_size", absl::StrCat(size), reason).spec.parallelism;
  asked.tensor = size;
  asked.nodes = asked.moe_tensor = asked.expert = 0;
  if (layout.expert() > 1) {
    asked.expert = std::max(1, size * layout.data() / layout.moe_tensor());
  }
}

void Variants::AddTensor() {
  const int size = target_.layout().tensor();
  AddTensor(2 * size, "");
  if (size == 1) {
    Add("tensor_size", "1/2", "there is one tensor rank");
  } else {
    AddTensor(size / 2, size % 2 != 0 ? "the tensor ranks are odd" : "");
  }
}

void Variants::AddExperts() {
  if (target_.graph().ExpertCount() == 0) return;
  const Layout& layout = target_.layout();
  const int ranks = layout.tensor() * layout.data();
  const int size = layout.expert() == 1 ? ranks : 1;
  Parallelism& asked = Add("expert_size", absl::StrCat(size),
                           ranks == 1 ? "one rank holds all experts" : "")
                           .spec.parallelism;
  asked.expert = size;
  asked.moe_tensor = 0;
}

void Variants::AddKernels() {
  const bool fused = target_.fusion().residual_into_norm;
  Add("residual_into_norm", fused ? "off" : "on").spec.residual_into_norm =
      !fused;
  Add("flash_attention", "off",
      target_.fusion().attention ? "" : "it is off already")
      .spec.unfused_attention = true;
  const bool graphs = target_.view().stack.spec().host.cuda_graphs;
  Add("cuda_graphs", graphs ? "off" : "on").spec.cuda_graphs = !graphs;
}

void Variants::AddOverlap() {
  for (const auto kind : {Overlap::Kind::kTwoBatch, Overlap::Kind::kGemm}) {
    const std::optional<Overlap>& now = target_.spec().overlap;
    std::string reason;
    if (now.has_value() && now->kind == kind) {
      reason = "it is on already";
    } else if (target_.layout().pipeline() == 1) {
      reason = NoOverlapReason(target_.setup(), pass_, kind);
    }
    Variant& variant = Add("overlap", OverlapKindName(kind), reason);
    if (reason.empty()) {
      variant.spec.overlap = Overlap{};
      variant.spec.overlap->kind = kind;
    }
  }
}

// Of the prompts' prefixes, and of all that decodes have cached.
void Variants::AddRecompute() {
  AddRecompute("prompts", Role::kPrefill);
  AddRecompute("decodes", Role::kDecode);
}

void Variants::AddRecompute(absl::string_view value, Role role) {
  RequestGroups groups = pass_.groups();
  bool any = false;
  for (RequestGroup& group : groups) {
    if (group.role != role || group.prior_tokens == 0) continue;
    any = true;
    group.role = Role::kPrefill;
    group.new_tokens += group.prior_tokens;
    group.prior_tokens = 0;
  }
  Variant& variant = Add("recompute", value);
  if (!any) {
    variant.reason = absl::StrCat("no ", value, " have earlier tokens");
    return;
  }
  SetGroups(std::move(groups), variant);
}

void Variants::AddTiles() {
  const TileChoice choice = RankTiles(target_, pass_);
  if (choice.tiles.empty()) {
    Add("gemm_tile", "another", choice.reason);
    return;
  }
  for (const GemmTile& tile : choice.tiles) {
    Add("gemm_tile", absl::StrCat(tile.rows, "x", tile.columns))
        .spec.gemm_tile = tile;
  }
}

// The links inside a node are alike.
bool SameNode(const Fabric& a, const Fabric& b) {
  for (LinkTier tier : {LinkTier::kNvlink, LinkTier::kPcie}) {
    const Link* of_a = a.FindLink(tier);
    const Link* of_b = b.FindLink(tier);
    if ((of_a == nullptr) != (of_b == nullptr)) return false;
    if (of_a == nullptr) continue;
    if (of_a->bandwidth.value != of_b->bandwidth.value ||
        of_a->domain_devices != of_b->domain_devices ||
        of_a->in_network_reduction != of_b->in_network_reduction) {
      return false;
    }
  }
  return true;
}

void Variants::AddFabric(const std::vector<const Fabric*>& fabrics) {
  const Fabric& now = target_.view().fabric;
  const Link* network = now.FindLink(LinkTier::kRdma);
  const auto tiers = target_.layout().Tiers();
  if (network == nullptr ||
      std::find(tiers.begin(), tiers.end(), LinkTier::kRdma) == tiers.end()) {
    Add("fabric", "faster network", "nothing goes over the network");
    return;
  }
  const Fabric* next = nullptr;
  const auto rate = [](const Fabric& fabric) {
    return fabric.FindLink(LinkTier::kRdma)->bandwidth.value;
  };
  for (const Fabric* fabric : fabrics) {
    if (fabric->FindLink(LinkTier::kRdma) == nullptr ||
        rate(*fabric) <= rate(now) || !SameNode(*fabric, now)) {
      continue;
    }
    if (next == nullptr || rate(*fabric) < rate(*next)) next = fabric;
  }
  if (next == nullptr) {
    Add("fabric", "faster network",
        "the catalog has none with the same links inside a node");
    return;
  }
  Add("fabric", next->spec().id).spec.fabric = next;
}

void Variants::AddDevices(const WhatIfChoices& choices) {
  for (const auto& device : choices.devices) {
    const bool same = device->id() == target_.hardware().id();
    TargetSpec& spec =
        Add("hardware", device->id(), same ? "it is the target's" : "").spec;
    const auto or_first = [](const auto* named, const auto* first) {
      return named != nullptr ? named : first;
    };
    spec.stack = or_first(device->FindStack(target_.spec().stack->spec().id),
                          device->FindStack(""));
    spec.fabric = or_first(device->FindFabric(target_.spec().fabric->spec().id),
                           device->FindFabric(""));
    spec.parallelism.nodes = 0;
    spec.hardware = device;
  }
}

}  // namespace

std::vector<Variant> VariantsOf(const Target& target, const ForwardPass& pass,
                                const WhatIfChoices& choices) {
  Variants variants(target, pass);
  variants.AddFormats();
  variants.AddRequests();
  variants.AddTensor();
  variants.AddExperts();
  variants.AddKernels();
  variants.AddOverlap();
  variants.AddRecompute();
  variants.AddTiles();
  variants.AddFabric(choices.fabrics);
  variants.AddDevices(choices);
  return variants.Take();
}

std::shared_ptr<const HardwareProfile> NextDevice(
    const HardwareProfile& hardware,
    const std::vector<std::shared_ptr<const HardwareProfile>>& profiles) {
  const auto tensor_rate = [](const Device& device) {
    return device.HasTensor(Format::kBf16)   ? device.TensorRate(Format::kBf16)
           : device.HasTensor(Format::kFp16) ? device.TensorRate(Format::kFp16)
                                             : FlopsPerSecond::Zero();
  };
  const Device& now = hardware.device();
  std::shared_ptr<const HardwareProfile> next;
  for (const auto& profile : profiles) {
    const Device& device = profile->device();
    if (device.spec().vendor != now.spec().vendor ||
        device.spec().architecture == now.spec().architecture ||
        device.HbmBandwidth() <= now.HbmBandwidth() ||
        device.HbmCapacity() < now.HbmCapacity() ||
        tensor_rate(device) < tensor_rate(now)) {
      continue;
    }
    const auto size = [&](const Device& of) {
      return std::make_pair(of.HbmBandwidth(), tensor_rate(of));
    };
    if (next == nullptr || size(device) < size(next->device())) next = profile;
  }
  return next;
}

}  // namespace mansard::model
