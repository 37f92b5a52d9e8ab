#include "calibrate/refresh/cpu_plans.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::Microseconds;

constexpr double kWide = 0.7;  // Of a logarithm.
// Where the caches set no limit of their own.
constexpr double kNoLimit = 1e15;

template <class Family>
Family Prior(const char* id) {
  Family family;
  family.facts.id = id;
  family.facts.sigma = 1;
  family.facts.tier = model::Tier::kCalibrated;
  family.facts.provenance = {model::ProvenanceKind::kAssumed,
                             "prior of the fit", ""};
  return family;
}

CpuPlan GemmPlan() {
  auto family = Prior<model::GemmFamily>("gemm-fp32");
  family.launch = Microseconds(2);
  family.peak_fraction = 0.8;
  family.hbm_fraction = 0.8;
  family.l2_feed = BytesPerSecond::Of(kNoLimit);
  family.tile_rows = 4;
  family.tile_columns = 16;
  family.copied_weights = 1;
  // Of BLAS' register tiles.
  family.whole_rows = 4;
  return {CaseKind::kGemm,
          {.name = "gemm fp32",
           .slots = {{.op_kind = "gemm",
                      .precision = "fp32",
                      .prior = family,
                      .free = {{"launch_seconds", kWide, 20},
                               {"peak_fraction_ratio", kWide, 6},
                               {"hbm_fraction_ratio", kWide, 6}}}}}};
}

CpuPlan DecodePlan() {
  auto family = Prior<model::DecodeAttentionFamily>("attention-decode");
  family.launch = Microseconds(2);
  family.peak_fraction = 0.1;
  family.hbm_fraction = 0.8;
  family.l2_feed = BytesPerSecond::Of(kNoLimit);
  return {CaseKind::kDecodeAttention,
          {.name = "attention decode",
           .slots = {{.op_kind = "attention_decode",
                      .prior = family,
                      .free = {{"launch_seconds", kWide, 50},
                               {"peak_fraction_ratio", kWide, 8},
                               {"hbm_fraction_ratio", kWide, 6}}}}}};
}

CpuPlan PrefillPlan(int head_size) {
  auto family = Prior<model::PrefillAttentionFamily>("attention-prefill");
  family.launch = Microseconds(10);
  family.peak_fractions = {{head_size, 0.3}};
  family.hbm_fraction = 0.9;
  return {
      CaseKind::kPrefillAttention,
      {.name = "attention prefill",
       .slots = {
           {.op_kind = "attention_prefill",
            .prior = family,
            .free = {{"launch_seconds", kWide, 50},
                     {absl::StrCat("peak_fraction_head_", head_size, "_ratio"),
                      kWide, 8}}}}}};
}

CpuPlan ElementwisePlan(CaseKind kind, const char* id,
                        const model::Device& device) {
  auto family = Prior<model::ElementwiseFamily>(id);
  family.launch = Microseconds(0.2);
  family.hbm_fraction = 0.9;
  family.l2_feed = 2 * device.HbmBandwidth();
  const std::string op_kind(CaseKindName(kind));
  return {kind,
          {.name = absl::StrCat("elementwise ", op_kind),
           .slots = {{.op_kind = op_kind,
                      .prior = family,
                      .free = {{"launch_seconds", kWide, 50},
                               {"l2_feed_bytes_per_second", kWide, 20}}}}}};
}

}  // namespace

std::vector<CpuPlan> CpuPlans(const model::Device& device, int head_size) {
  std::vector<CpuPlan> plans;
  plans.push_back(GemmPlan());
  plans.push_back(DecodePlan());
  plans.push_back(PrefillPlan(head_size));
  plans.push_back(ElementwisePlan(CaseKind::kNorm, "elementwise-norm", device));
  plans.push_back(
      ElementwisePlan(CaseKind::kActivation, "elementwise-activation", device));
  plans.push_back(
      ElementwisePlan(CaseKind::kResidual, "elementwise-residual", device));
  return plans;
}

model::KernelStackSpec CpuBaseStack(const std::vector<CpuPlan>& plans) {
  model::KernelStackSpec stack;
  stack.gemm_by_format.fill(-1);
  for (const CpuPlan& plan : plans) {
    for (const FitSlot& slot : plan.plan.slots) {
      // Every slot of the table above has its place.
      (void)Place(slot, stack);
      // All other element-wise work is priced as a residual's.
      const auto* family = std::get_if<model::ElementwiseFamily>(&slot.prior);
      if (family != nullptr) stack.elementwise = *family;
    }
  }
  stack.elementwise.facts.id = "elementwise";
  stack.host.cuda_graphs = true;
  stack.host.provenance = {model::ProvenanceKind::kAssumed,
                           "no engine: what is measured is called directly",
                           ""};
  stack.fusion.residual_into_norm = false;
  return stack;
}

}  // namespace mansard::calibrate
