#include "model/estimate/remedies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/lower/lower.h"

namespace mansard::model {
namespace {

// Widest first; of a width, those that most devices run.
constexpr Format kWeightFormats[] = {Format::kFp8E4m3, Format::kInt8,
                                     Format::kNvfp4, Format::kMxfp4,
                                     Format::kInt4};
constexpr Format kKvFormats[] = {Format::kFp8E4m3};

MemoryFootprint FootprintOn(const Target& target, const ForwardPass& pass) {
  if (target.layout().pipeline() > 1)
    return PipelineFootprint(target.setup(), pass);
  const OpList ops = Lower(target.graph(), pass, target.layout(),
                           target.formats(), target.fusion());
  return FootprintOf(ops, target.graph(), pass, target.layout(), 0,
                     target.formats(), target.view());
}

// What the pass needs on a target like this; empty where there is none, or it
// does not fit there either.
std::optional<Bytes> NeededOn(const TargetSpec& spec, const ForwardPass& pass) {
  Violations violations;
  const absl::StatusOr<Target> target = Target::Create(spec, violations);
  if (!target.ok()) return std::nullopt;
  const MemoryFootprint memory = FootprintOn(*target, pass);
  if (!memory.fits) return std::nullopt;
  return memory.needed();
}

// Sizes of pipelines and data parallelism beyond which none is tried.
constexpr int kMostStages = 16;

// The smallest of a size that fits. Experts stay whole on their ranks where
// they were.
std::optional<Remedy> MoreDevices(RemedyKind kind, int Parallelism::*size,
                                  int most, const Target& target,
                                  const ForwardPass& pass) {
  TargetSpec spec = target.spec();
  const Layout& layout = target.layout();
  Parallelism& asked = spec.parallelism;
  asked.nodes = 0;
  for (int number = layout.sizes().*size + 1; number <= most; ++number) {
    asked.*size = number;
    asked.moe_tensor = 0;
    asked.expert = 0;
    if (layout.expert() > 1) {
      const int ranks = std::max(asked.tensor, 1) * std::max(asked.data, 1);
      asked.expert = ranks / layout.moe_tensor();
    }
    if (const std::optional<Bytes> needed = NeededOn(spec, pass)) {
      return Remedy{.kind = kind, .number = number, .needed = *needed};
    }
  }
  return std::nullopt;
}

std::optional<Remedy> TensorSize(const Target& target,
                                 const ForwardPass& pass) {
  return MoreDevices(RemedyKind::kTensorSize, &Parallelism::tensor,
                     target.spec().fabric->NodeDevices(), target, pass);
}

std::optional<Remedy> PipelineSize(const Target& target,
                                   const ForwardPass& pass) {
  return MoreDevices(RemedyKind::kPipelineSize, &Parallelism::pipeline,
                     std::min(kMostStages, target.graph().layer_count()),
                     target, pass);
}

std::optional<Remedy> DataSize(const Target& target, const ForwardPass& pass) {
  return MoreDevices(RemedyKind::kDataSize, &Parallelism::data, kMostStages,
                     target, pass);
}

std::optional<Remedy> Weights(const Target& target, const ForwardPass& pass) {
  TargetSpec spec = target.spec();
  const int bits = TraitsOf(target.formats().precision.weights).element_bits;
  for (Format format : kWeightFormats) {
    if (TraitsOf(format).element_bits >= bits) continue;
    spec.weights = format;
    if (const std::optional<Bytes> needed = NeededOn(spec, pass)) {
      return Remedy{
          .kind = RemedyKind::kWeights, .format = format, .needed = *needed};
    }
  }
  return std::nullopt;
}

std::optional<Remedy> KvCache(const Target& target, const ForwardPass& pass) {
  TargetSpec spec = target.spec();
  const int bits = TraitsOf(target.formats().precision.kv_cache).element_bits;
  for (Format format : kKvFormats) {
    if (TraitsOf(format).element_bits >= bits) continue;
    spec.kv_cache = format;
    if (const std::optional<Bytes> needed = NeededOn(spec, pass)) {
      return Remedy{
          .kind = RemedyKind::kKvCache, .format = format, .needed = *needed};
    }
  }
  return std::nullopt;
}

// The pass with other groups. Routing is no matter to memory.
std::optional<ForwardPass> WithGroups(RequestGroups groups,
                                      const Target& target,
                                      const ForwardPass& pass) {
  Violations violations;
  std::optional<ForwardPass> changed = ForwardPass::Create(
      std::move(groups), target.graph().spec().max_context, violations);
  if (!changed.has_value()) return std::nullopt;
  return changed->WithDrafting(pass.drafting(),
                               target.graph().spec().mtp.modules, violations);
}

std::optional<Remedy> OtherGroups(RemedyKind kind, int64_t number,
                                  RequestGroups groups, const Target& target,
                                  const ForwardPass& pass) {
  const std::optional<ForwardPass> changed =
      WithGroups(std::move(groups), target, pass);
  if (!changed.has_value()) return std::nullopt;
  const MemoryFootprint memory = FootprintOn(target, *changed);
  if (!memory.fits) return std::nullopt;
  return Remedy{.kind = kind, .number = number, .needed = memory.needed()};
}

std::optional<Remedy> Context(const Target& target, const ForwardPass& pass,
                              int64_t context) {
  if (context == 0) return std::nullopt;
  RequestGroups groups = pass.groups();
  for (RequestGroup& group : groups) {
    group.prior_tokens = context - group.new_tokens;
  }
  return OtherGroups(RemedyKind::kContext, context, std::move(groups), target,
                     pass);
}

std::optional<Remedy> RequestCount(const Target& target,
                                   const ForwardPass& pass, int64_t requests) {
  if (requests == 0 || pass.groups().size() != 1) return std::nullopt;
  RequestGroups groups = pass.groups();
  groups.front().request_count = requests;
  return OtherGroups(RemedyKind::kRequestCount, requests, std::move(groups),
                     target, pass);
}

}  // namespace

absl::string_view RemedyKindName(RemedyKind kind) {
  switch (kind) {
    case RemedyKind::kTensorSize:
      return "tensor_size";
    case RemedyKind::kPipelineSize:
      return "pipeline_size";
    case RemedyKind::kDataSize:
      return "data_size";
    case RemedyKind::kWeights:
      return "weights";
    case RemedyKind::kKvCache:
      return "kv_cache";
    case RemedyKind::kContext:
      return "context_token_count";
    case RemedyKind::kRequestCount:
      return "request_count";
  }
  return "";
}

std::vector<Remedy> RemediesFor(const Target& target, const ForwardPass& pass,
                                const MemoryFootprint& memory) {
  std::vector<Remedy> remedies;
  if (memory.fits) return remedies;
  for (const std::optional<Remedy>& remedy :
       {TensorSize(target, pass), PipelineSize(target, pass),
        DataSize(target, pass), Weights(target, pass), KvCache(target, pass),
        Context(target, pass, memory.max_context),
        RequestCount(target, pass, memory.max_requests)}) {
    if (remedy.has_value()) remedies.push_back(*remedy);
  }
  return remedies;
}

}  // namespace mansard::model
