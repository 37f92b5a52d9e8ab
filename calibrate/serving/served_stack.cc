#include "calibrate/serving/served_stack.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/fit/fit_stacks.h"
#include "calibrate/tables/names.h"
#include "model/base/violations.h"

namespace mansard::calibrate {
namespace {

using model::Bytes;
using model::BytesPerSecond;
using model::DirectAllReduceFamily;
using model::Microseconds;

// Beyond, engines take NCCL.
constexpr Bytes kOwnKernels = Bytes::Of(8e6);
// What such lines leave of their tables' rows (one standard deviation).
constexpr double kSigma = 0.15;

// Times in us, rates in GB/s.
struct Line {
  double alpha;
  double step;
  double bus;
};
struct Lines {
  const char* engine;
  const char* architecture;  // How it begins.
  Line one_shot;
  Line two_shot;
  bool has_two_shots;
};
// Mansard design, performance model §1.8 and end to end §1.2: TensorRT-LLM
// takes one shot for whatever its own kernels serve. SGLang's are vLLM's.
constexpr Lines kLines[] = {
    {"trtllm", "Blackwell", {4.8, .08, 589}, {7.5, .3, 640}, false},
    {"trtllm", "Hopper", {2.7, .07, 292}, {6.9, .27, 288}, false},
    {"vllm", "Blackwell", {4.8, .08, 589}, {7.5, .3, 640}, true},
    {"vllm", "Hopper", {4.2, .07, 262}, {6.9, .27, 288}, true},
    {"vllm", "Ampere", {4.8, .13, 167}, {5.6, 1.1, 165}, true},
    {"sglang", "Blackwell", {4.8, .08, 589}, {7.5, .3, 640}, true},
    {"sglang", "Hopper", {4.2, .07, 262}, {6.9, .27, 288}, true},
};

DirectAllReduceFamily FamilyOf(const Lines& lines) {
  DirectAllReduceFamily family;
  family.facts = {
      .id = "direct-all-reduce-served",
      .tier = model::Tier::kTransferred,
      .sigma = kSigma,
      .provenance = {model::ProvenanceKind::kFitted,
                     "Mansard design, performance model §1.8, end to end §1.2",
                     ""}};
  family.one_shot_alpha = Microseconds(lines.one_shot.alpha);
  family.one_shot_step = Microseconds(lines.one_shot.step);
  family.one_shot_bus = BytesPerSecond::Of(lines.one_shot.bus * 1e9);
  family.two_shot_alpha = Microseconds(lines.two_shot.alpha);
  family.two_shot_step = Microseconds(lines.two_shot.step);
  family.two_shot_bus = BytesPerSecond::Of(lines.two_shot.bus * 1e9);
  family.one_shot_limit.fill(kOwnKernels);
  if (lines.has_two_shots) family.two_shot_limit.fill(kOwnKernels);
  return family;
}

const Lines* LinesOf(absl::string_view engine, absl::string_view architecture) {
  for (const Lines& lines : kLines) {
    if (engine == lines.engine &&
        absl::StartsWith(architecture, lines.architecture)) {
      return &lines;
    }
  }
  return nullptr;
}

}  // namespace

std::string ServedStackId(absl::string_view framework) {
  const absl::string_view engine = EngineId(framework);
  return engine.empty() ? "" : absl::StrCat("served-", engine);
}

const model::KernelStack& ServedBase(const model::HardwareProfile& profile) {
  const model::KernelStack* measured = profile.FindStack(kDeviceStack);
  return measured != nullptr ? *measured : *profile.FindStack("");
}

std::vector<model::BoundFamily> ServedFamilies(
    const model::HardwareProfile& profile, absl::string_view framework) {
  const Lines* lines =
      LinesOf(EngineId(framework), profile.device().spec().architecture);
  const auto nvlink = model::LinkTier::kNvlink;
  if (lines == nullptr ||
      profile.fabrics().front().FindLink(nvlink) == nullptr) {
    return {};
  }
  return {{"direct_all_reduce", "", std::string(model::LinkTierName(nvlink)),
           FamilyOf(*lines)}};
}

std::optional<model::KernelStack> UnfittedServedStack(
    const model::HardwareProfile& profile, absl::string_view framework) {
  model::KernelStackSpec spec = ServedBase(profile).spec();
  spec.id = ServedStackId(framework);
  for (const model::BoundFamily& bound : ServedFamilies(profile, framework)) {
    spec.fine.direct_all_reduce.Bind(
        static_cast<size_t>(model::LinkTier::kNvlink),
        std::get<DirectAllReduceFamily>(bound.family));
  }
  model::Violations none;
  return model::KernelStack::Create(std::move(spec), none);
}

double MemoryShareOf(absl::string_view framework) {
  return EngineId(framework) == "trtllm" ? 0.92 : 0.9;
}

int64_t TokenBudgetOf(absl::string_view framework) {
  return EngineId(framework) == "sglang" ? 16384 : 8192;
}

}  // namespace mansard::calibrate
