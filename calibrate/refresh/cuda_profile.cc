#include "calibrate/refresh/cuda_profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/fit/family_fit.h"
#include "calibrate/fit/fit_stacks.h"
#include "calibrate/fit/plans.h"
#include "calibrate/refresh/cuda_device.h"
#include "calibrate/refresh/cuda_rows.h"
#include "model/base/status_macros.h"
#include "model/base/violations.h"

namespace mansard::calibrate {
namespace {

using model::HardwareProfile;
using model::KernelStack;
using model::ProvenanceKind;

struct Task {
  std::vector<FitPlan> plans;  // Of which the best stays.
  std::vector<const MeasuredCase*> rows;
  size_t held_out = 0;
};
// In the order of fitting: order of the plan, its name.
using Tasks = std::map<std::pair<int, std::string>, Task>;

// Of the parameters, and of what is judged.
size_t LeastRows(const Task& task) {
  size_t least = 0;
  for (const FitPlan& plan : task.plans) {
    size_t free = 0;
    for (const FitSlot& slot : plan.slots) free += slot.free.size();
    least = std::max({least, plan.min_rows, free + 2});
  }
  return least;
}

class CudaFitter {
 public:
  CudaFitter(const Record& record, HardwareProfile profile,
             const CudaFitOptions& options)
      : record_(record),
        profile_(std::move(profile)),
        options_(options),
        rows_(CudaRows(record)),
        stack_(profile_.stacks().front().spec()) {
    stack_.id = kCalibratedStack;
  }

  absl::StatusOr<CudaFit> Run() {
    Tasks tasks;
    for (const MeasuredCase& row : rows_) Sort(row, tasks);
    if (tasks.empty()) {
      return absl::FailedPreconditionError(
          "no measured case of a product, attention, element-wise kernel or "
          "collective");
    }
    for (auto& [key, task] : tasks) {
      Sieve(task);
      RETURN_IF_ERROR(Fit(key.second, task));
    }
    if (fit_.refreshed.families.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no family was fitted: ", fit_.unfitted.front()));
    }
    ASSIGN_OR_RETURN(HardwareProfile made, Profile());
    fit_.refreshed.profile =
        std::make_shared<const HardwareProfile>(std::move(made));
    return std::move(fit_);
  }

 private:
  void Sort(const MeasuredCase& row, Tasks& tasks) const {
    RowPlans plans = PlansFor(profile_.device(), row);
    if (plans.plans.empty()) return;
    Task& task = tasks[{plans.order, plans.plans.front().name}];
    if (task.plans.empty()) task.plans = std::move(plans.plans);
    if (IsHeldOut(row, options_)) {
      ++task.held_out;
    } else {
      task.rows.push_back(&row);
    }
  }

  // Drops what the gates say, and keeps all that they name.
  void Sieve(Task& task) {
    DropSuspects(
        profile_,
        [this](const MeasuredCase& row) {
          return CaseId(record_.results[row.row].measured);
        },
        task.rows, fit_.refreshed.named);
  }

  absl::StatusOr<KernelStack> Stack() const {
    model::Violations violations;
    std::optional<KernelStack> stack = KernelStack::Create(stack_, violations);
    if (!stack.has_value()) return violations.ToStatus();
    return *std::move(stack);
  }

  absl::StatusOr<HardwareProfile> Profile() const {
    ASSIGN_OR_RETURN(KernelStack stack, Stack());
    model::Violations violations;
    std::optional<HardwareProfile> made = HardwareProfile::Create(
        "", profile_.display_name(), profile_.device(), profile_.fabrics(),
        {std::move(stack)}, violations);
    if (!made.has_value()) return violations.ToStatus();
    return *std::move(made);
  }

  // The plan with the least loss, of few shapes on rows not seen.
  absl::StatusOr<FamilyFit> FitBest(const Task& task,
                                    const KernelStack& base) const {
    const FitPlan* best = &task.plans.front();
    double least = std::numeric_limits<double>::infinity();
    for (const FitPlan& plan : task.plans) {
      if (task.plans.size() == 1) break;
      ASSIGN_OR_RETURN(
          const FamilyFit fit,
          FitFamilies(task.rows, profile_, base, plan,
                      {.max_rows = 256, .evaluations = 250, .draws = 0}));
      const double loss = fit.cross_loss.value_or(fit.result.mean_loss);
      if (loss >= least) continue;
      least = loss;
      best = &plan;
    }
    return FitFamilies(task.rows, profile_, base, *best,
                       {.draws = options_.draws});
  }

  absl::Status Fit(const std::string& name, const Task& task) {
    const size_t least = LeastRows(task);
    if (task.rows.size() < least) {
      fit_.unfitted.push_back(absl::StrCat(name, ": ", task.rows.size(),
                                           " measured, ", least, " needed"));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const KernelStack base, Stack());
    absl::StatusOr<FamilyFit> fitted = FitBest(task, base);
    if (!fitted.ok()) {
      return absl::Status(fitted.status().code(),
                          absl::StrCat(name, ": ", fitted.status().message()));
    }
    if (fitted->sigma > kMaxSigma || fitted->result.mean_loss > kMaxLoss) {
      fit_.unfitted.push_back(absl::StrFormat(
          "%s: a fit leaves %.0f %% of the mean row, +-%.0f %%", name,
          fitted->result.mean_loss * 100, fitted->sigma * 100));
      return absl::OkStatus();
    }
    for (FitSlot& slot : fitted->slots) {
      std::visit(
          [&](auto& family) {
            Describe(*fitted, ProvenanceOf(*fitted, task), "cases",
                     family.facts);
          },
          slot.prior);
      RETURN_IF_ERROR(PlaceFamily(slot));
      fit_.refreshed.families.push_back({model::FactsOf(slot.prior).id,
                                         fitted->rows, fitted->result.mean_loss,
                                         fitted->sigma, fitted->weak});
    }
    return absl::OkStatus();
  }

  // 16-bit formats run at one rate and move the same bytes: what serves bf16
  // serves fp16, until rows of its own take its place.
  absl::Status PlaceFamily(const FitSlot& slot) {
    RETURN_IF_ERROR(Place(slot, stack_));
    if (slot.precision != "bf16") return absl::OkStatus();
    FitSlot other = slot;
    other.precision = "fp16";
    return Place(other, stack_);
  }

  model::Provenance ProvenanceOf(const FamilyFit& fit, const Task& task) const {
    const MeasuredCase& first = *task.rows.front();
    return {
        ProvenanceKind::kFitted,
        absl::StrFormat(
            "%s %s on %s: %d cases, %d held out; mean loss %.4f",
            first.framework == "own" ? "kernels of our own," : first.framework,
            first.version, record_.device.name, fit.rows, task.held_out,
            fit.result.mean_loss),
        record_.date};
  }

  const Record& record_;
  const HardwareProfile profile_;
  const CudaFitOptions options_;
  const std::vector<MeasuredCase> rows_;
  model::KernelStackSpec stack_;
  CudaFit fit_;
};

}  // namespace

bool IsHeldOut(const MeasuredCase& row, const CudaFitOptions& options) {
  const bool judged = row.table == "gemm" || row.table == "attention_decode" ||
                      row.table == "attention_prefill";
  return options.hold_out && judged && row.side == Side::kHeldOut;
}

absl::StatusOr<CudaFit> FitCudaProfile(const Record& record,
                                       const model::ShippedData& data,
                                       const CudaFitOptions& options) {
  if (record.device.backend != "cuda") {
    return absl::InvalidArgumentError(
        absl::StrCat("backend: the record is of \"", record.device.backend,
                     "\"; this fit takes: cuda"));
  }
  ASSIGN_OR_RETURN(HardwareProfile profile, CudaHardware(record, data));
  return CudaFitter(record, std::move(profile), options).Run();
}

std::string CudaProfileText(const CudaFit& fit, const Record& record) {
  std::string head = ProfileHead(fit.refreshed, record);
  for (const std::string& unfitted : fit.unfitted) {
    absl::StrAppend(&head, "# not fitted: ", unfitted, "\n");
  }
  return absl::StrCat(head, ProfileBody(*fit.refreshed.profile));
}

}  // namespace mansard::calibrate
