#include "calibrate/fit/fit_stacks.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibrate/fit/host_costs.h"
#include "calibrate/fit/plans.h"
#include "calibrate/fit/scaled_stacks.h"
#include "calibrate/tables/names.h"
#include "model/base/status_macros.h"
#include "model/base/violations.h"
#include "model/io/derived_stack.h"

namespace mansard::calibrate {
namespace {

using model::HardwareProfile;
using model::KernelStack;
using model::KernelStackSpec;
using model::ProvenanceKind;

// What is fitted together.
struct Task {
  std::vector<FitPlan> plans;  // Of which the best stays.
  std::vector<const MeasuredCase*> fitted;
  size_t held_out = 0;
  size_t named = 0;    // By a gate.
  size_t dropped = 0;  // Of those.
};

// In the order of fitting: order of the plan, its name.
using Tasks = std::map<std::pair<int, std::string>, Task>;
// By stack; the device's own stack has the empty name and comes first.
using DeviceTasks = std::map<std::string, Tasks>;

void Sort(const MeasuredCase& measured, const HardwareProfile& profile,
          const FitStacksOptions& options, DeviceTasks& tasks) {
  RowPlans plans = PlansFor(profile.device(), measured);
  if (plans.plans.empty()) return;
  const std::string name = plans.plans.front().name;
  const bool of_device = plans.plans.front().of_device;
  const std::string stack =
      of_device ? "" : StackId(measured.framework, measured.version);
  if (!absl::StartsWith(name, options.plan) || (stack.empty() && !of_device) ||
      (!options.stack.empty() && !of_device && stack != options.stack)) {
    return;
  }
  Task& task = tasks[stack][{plans.order, name}];
  if (task.plans.empty()) task.plans = std::move(plans.plans);
  if (measured.side == Side::kHeldOut) {
    ++task.held_out;
    return;
  }
  task.fitted.push_back(&measured);
}

// Drops what the gates say, and notes all that they name.
void Sieve(const std::string& hardware, const HardwareProfile& profile,
           DeviceTasks& tasks, std::vector<NamedRow>& named) {
  for (auto& [stack, own] : tasks) {
    std::vector<const MeasuredCase*> all;
    for (auto& [key, task] : own) {
      all.insert(all.end(), task.fitted.begin(), task.fitted.end());
      std::set<const MeasuredCase*> dropped;
      std::set<const MeasuredCase*> suspects;
      for (SuspectRow& row : SuspectRows(task.fitted, profile)) {
        suspects.insert(row.row);
        if (row.dropped) dropped.insert(row.row);
        named.push_back({hardware, stack, key.second, std::move(row)});
      }
      std::erase_if(task.fitted, [&](const MeasuredCase* row) {
        return dropped.count(row) > 0;
      });
      task.named = suspects.size();
      task.dropped = dropped.size();
    }
    for (SuspectRow& row : NarrowSlowerRows(all, profile)) {
      named.push_back({hardware, stack, "", std::move(row)});
    }
  }
}

// Of the rows, without paths.
std::set<std::string> SourcesOf(const Task& task) {
  std::set<std::string> sources;
  for (const MeasuredCase* row : task.fitted) {
    sources.insert(row->source.substr(0, row->source.find(':')));
  }
  return sources;
}

void Describe(const Task& task, const std::string& date, FamilyFit& fit) {
  const model::Provenance provenance = {
      ProvenanceKind::kFitted,
      absl::StrFormat("%s: %d rows of a split by shape hash, judged on the "
                      "other %d; mean loss %.4f",
                      absl::StrJoin(SourcesOf(task), ", "), fit.rows,
                      task.held_out, fit.result.mean_loss),
      date};
  for (FitSlot& slot : fit.slots) {
    std::visit(
        [&](auto& family) { Describe(fit, provenance, "rows", family.facts); },
        slot.prior);
  }
}

// What a slot's family is bound for: 16-bit formats run at one rate and move
// the same bytes, a fit to one serves both.
void Bind(model::BoundFamily family, std::vector<model::BoundFamily>& bound) {
  bound.push_back(std::move(family));
  if (bound.back().precision != "bf16") return;
  bound.push_back(bound.back());
  bound.back().precision = "fp16";
}

// Of the parameters, and of what is judged.
bool HasEnoughRows(const Task& task) {
  size_t least = 0;
  for (const FitPlan& plan : task.plans) {
    size_t free = 0;
    for (const FitSlot& slot : plan.slots) free += slot.free.size();
    least = std::max({least, plan.min_rows, free + 2});
  }
  return task.fitted.size() >= least;
}

// How much the prior counts: of few shapes, whose fits would follow their
// noise, the weight that tells most of rows not seen.
constexpr double kPriorWeights[] = {1, 10, 100};
constexpr double kServesNothing = 10;  // More than any loss.

// The plan with the least loss, of few shapes on rows not seen. What leaves too
// much on its own rows comes last: it would serve nothing.
absl::StatusOr<FamilyFit> FitBest(const Task& task,
                                  const HardwareProfile& profile,
                                  const KernelStack& base, size_t& best) {
  double least = std::numeric_limits<double>::infinity();
  double best_weight = 1;
  for (const double weight : kPriorWeights) {
    bool few = false;
    for (size_t i = 0; i < task.plans.size(); ++i) {
      ASSIGN_OR_RETURN(const FamilyFit fit,
                       FitFamilies(task.fitted, profile, base, task.plans[i],
                                   {.max_rows = 256,
                                    .evaluations = 250,
                                    .prior_weight = weight,
                                    .draws = 0}));
      few = fit.cross_loss.has_value();
      double loss = fit.cross_loss.value_or(fit.result.mean_loss);
      if (few && fit.result.mean_loss > kMaxLoss) loss += kServesNothing;
      if (loss >= least) continue;
      least = loss;
      best = i;
      best_weight = weight;
    }
    if (!few) break;
  }
  return FitFamilies(task.fitted, profile, base, task.plans[best],
                     {.prior_weight = best_weight});
}

// Fits that stand on each other, one stack's.
class StackFitter {
 public:
  StackFitter(std::string hardware, std::string stack,
              const HardwareProfile& profile, KernelStack base)
      : hardware_(std::move(hardware)),
        stack_(std::move(stack)),
        profile_(profile),
        current_(std::move(base)) {}

  absl::Status Fit(const Tasks& tasks, const FitStacksOptions& options,
                   std::vector<FitRecord>& records) {
    for (const auto& [key, task] : tasks) {
      if (!HasEnoughRows(task)) continue;
      size_t best = 0;
      ASSIGN_OR_RETURN(FamilyFit fit, FitBest(task, profile_, current_, best));
      if (fit.sigma > kMaxSigma || fit.result.mean_loss > kMaxLoss) {
        Record(key.second, task, std::move(fit), options, records);
        continue;
      }
      Describe(task, options.date, fit);
      KernelStackSpec spec = current_.spec();
      for (const FitSlot& slot : fit.slots) {
        RETURN_IF_ERROR(Place(slot, spec));
        Bind({slot.op_kind, slot.precision, slot.tier, slot.prior}, bound_);
      }
      if (const auto rows = task.plans[best].foreign_expert_rows) {
        spec.fusion.foreign_expert_rows = *rows;
        foreign_expert_rows_ = rows;
      }
      model::Violations violations;
      std::optional<KernelStack> next =
          KernelStack::Create(std::move(spec), violations);
      if (!next.has_value()) return violations.ToStatus();
      current_ = *std::move(next);
      Record(key.second, task, std::move(fit), options, records);
    }
    return absl::OkStatus();
  }

  const KernelStack& current() const { return current_; }
  bool empty() const { return bound_.empty(); }
  std::string Text(const std::string& base) const {
    return model::DerivedStackToText(
        {stack_, base, bound_, foreign_expert_rows_, EngineHostCost(stack_)});
  }

 private:
  void Record(const std::string& plan, const Task& task, FamilyFit fit,
              const FitStacksOptions& options,
              std::vector<FitRecord>& records) const {
    records.push_back({hardware_, stack_, plan, std::move(fit), task.held_out,
                       task.named, task.dropped});
    if (options.done != nullptr) options.done(records.back());
  }

  const std::string hardware_;
  const std::string stack_;
  const HardwareProfile& profile_;
  KernelStack current_;
  std::vector<model::BoundFamily> bound_;
  std::optional<double> foreign_expert_rows_;
};

constexpr char kFileHead[] =
    "# proto-file: mansard/v1/catalog.proto\n"
    "# proto-message: mansard.v1.HardwareProfile\n"
    "# Written by mansard-calibrate fit.\n";

// Every device's, whether it was fitted or not.
void AddScaledStacks(const model::ShippedData& data,
                     const FitStacksOptions& options, FittedStacks& fitted) {
  const auto source = data.profiles.find(kScaleSource);
  if (source == data.profiles.end() || !options.plan.empty() ||
      !options.stack.empty()) {
    return;
  }
  for (const auto& [hardware, profile] : data.profiles) {
    if (!options.hardware.empty() && hardware != options.hardware) continue;
    std::optional<model::BoundFamily> gemm =
        ScaledGemm(*source->second, *profile);
    if (!gemm.has_value()) continue;
    std::vector<model::BoundFamily> bound;
    Bind(*std::move(gemm), bound);
    std::string& text = fitted.files[hardware];
    if (text.empty()) text = kFileHead;
    absl::StrAppend(
        &text, model::DerivedStackToText(
                   {kScaledStack, profile->stacks().front().spec().id, bound}));
  }
}

absl::Status FitDevice(const std::string& hardware,
                       const HardwareProfile& profile, const DeviceTasks& tasks,
                       const FitStacksOptions& options, FittedStacks& fitted) {
  std::string text;
  std::string base_id = profile.stacks().front().spec().id;
  KernelStack base = profile.stacks().front();
  for (const auto& [stack, own] : tasks) {
    StackFitter fitter(hardware, stack.empty() ? kDeviceStack : stack, profile,
                       base);
    RETURN_IF_ERROR(fitter.Fit(own, options, fitted.records));
    if (fitter.empty()) continue;
    absl::StrAppend(&text, fitter.Text(base_id));
    if (stack.empty()) {
      base = fitter.current();
      base_id = kDeviceStack;
    }
  }
  if (text.empty()) return absl::OkStatus();
  fitted.files[hardware] = absl::StrCat(kFileHead, text);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FittedStacks> FitStacks(const std::vector<MeasuredCase>& cases,
                                       const model::ShippedData& data,
                                       const FitStacksOptions& options) {
  std::map<std::string, DeviceTasks> tasks;
  for (const MeasuredCase& measured : cases) {
    const std::string hardware(HardwareId(measured.device));
    const auto profile = data.profiles.find(hardware);
    if (!measured.flag.empty() || profile == data.profiles.end() ||
        (!options.hardware.empty() && hardware != options.hardware)) {
      continue;
    }
    Sort(measured, *profile->second, options, tasks[hardware]);
  }
  FittedStacks fitted;
  for (auto& [hardware, own] : tasks) {
    Sieve(hardware, *data.profiles.at(hardware), own, fitted.named);
    RETURN_IF_ERROR(
        FitDevice(hardware, *data.profiles.at(hardware), own, options, fitted));
  }
  AddScaledStacks(data, options, fitted);
  return fitted;
}

}  // namespace mansard::calibrate
