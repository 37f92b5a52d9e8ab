#include "calibrate/fit/family_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <type_traits>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "calibrate/fit/parameter_intervals.h"
#include "model/base/status_macros.h"
#include "model/base/violations.h"
#include "model/hardware/family_parameters.h"
#include "model/hardware/fine_slots.h"
#include "model/price/op_sizes.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::Formula;
using model::KernelFamily;
using model::KernelStack;
using model::KernelStackSpec;
using model::Range;

// A parameter of one slot.
struct ParameterPlace {
  size_t slot = 0;
  std::string name;
};

void Set(KernelFamily& family, const std::string& name, double value) {
  std::visit(
      [&](auto& typed) {
        using Family = std::remove_reference_t<decltype(typed)>;
        for (const auto& parameter : Formula<Family>::kParameters) {
          if (name == parameter.name) parameter.set(typed, value);
        }
      },
      family);
}

Range RangeOf(const KernelFamily& family, const std::string& name) {
  Range range = Range::kCount;
  std::visit(
      [&](const auto& typed) {
        using Family = std::remove_cvref_t<decltype(typed)>;
        for (const auto& parameter : Formula<Family>::kParameters) {
          if (name == parameter.name) range = parameter.range;
        }
      },
      family);
  return range;
}

model::FamilyFacts& FactsOf(KernelFamily& family) {
  return std::visit(
      [](auto& typed) -> model::FamilyFacts& { return typed.facts; }, family);
}

// Four digits: the rows do not tell more, and data files stay readable.
double Rounded(double value) {
  double rounded = value;
  const bool read = absl::SimpleAtod(absl::StrFormat("%.4g", value), &rounded);
  return read ? rounded : value;
}

// A binding's cases of a table that is keyed as the slot's op kind says.
template <class Slot>
bool Matches(const Slot& table, const FitSlot& slot, size_t index) {
  switch (table.key) {
    case model::SlotKey::kFormat:
      return slot.precision.empty() ||
             slot.precision == model::TraitsOf(static_cast<Format>(index)).name;
    case model::SlotKey::kTier:
      return slot.tier.empty() ||
             slot.tier ==
                 model::LinkTierName(static_cast<model::LinkTier>(index));
    case model::SlotKey::kUse:
      return slot.op_kind == model::ElementwiseUseName(
                                 static_cast<model::ElementwiseUse>(index));
  }
  return false;
}

// The sizes in the row's shape, without what has none: a distribution.
std::string SizesText(const MeasuredCase& measured) {
  std::string sizes;
  for (const absl::string_view column : absl::StrSplit(measured.shape, ' ')) {
    if (absl::StrContains(column, "=")) absl::StrAppend(&sizes, column, " ");
  }
  return sizes;
}

std::vector<size_t> EveryRow(size_t rows) {
  std::vector<size_t> all(rows);
  for (size_t i = 0; i < rows; ++i) all[i] = i;
  return all;
}

// One set of rows with their ops, priced on stacks that differ in the slots.
class Pricer {
 public:
  Pricer(const model::HardwareProfile& profile, const KernelStack& base,
         const FitPlan& plan, double prior_weight)
      : profile_(profile),
        base_(base),
        plan_(plan),
        prior_weight_(prior_weight) {
    for (size_t i = 0; i < plan.slots.size(); ++i) {
      for (const FreeParameter& free : plan.slots[i].free) {
        places_.push_back({i, free.name});
      }
    }
  }

  std::vector<FitParameter> Parameters() const {
    std::vector<FitParameter> parameters;
    for (const FitSlot& slot : plan_.slots) {
      for (const FreeParameter& free : slot.free) {
        FitParameter parameter;
        parameter.name =
            absl::StrCat(model::FactsOf(slot.prior).id, ".", free.name);
        parameter.prior = *ParameterOf(slot.prior, free.name);
        parameter.lower = parameter.prior / free.reach;
        parameter.upper = parameter.prior * free.reach;
        const Range range = RangeOf(slot.prior, free.name);
        if (range == Range::kFraction || range == Range::kShare) {
          parameter.upper = std::min(parameter.upper, 1.0);
        }
        parameter.log_sigma = free.log_sigma;
        parameters.push_back(std::move(parameter));
      }
    }
    return parameters;
  }

  std::vector<FitSlot> SlotsWith(const std::vector<double>& values) const {
    std::vector<FitSlot> slots = plan_.slots;
    for (size_t i = 0; i < places_.size(); ++i) {
      Set(slots[places_[i].slot].prior, places_[i].name, values[i]);
    }
    return slots;
  }

  absl::StatusOr<KernelStack> StackWith(
      const std::vector<FitSlot>& slots) const {
    KernelStackSpec spec = base_.spec();
    for (const FitSlot& slot : slots) RETURN_IF_ERROR(Place(slot, spec));
    if (plan_.foreign_expert_rows.has_value()) {
      spec.fusion.foreign_expert_rows = *plan_.foreign_expert_rows;
    }
    model::Violations violations;
    std::optional<KernelStack> stack =
        KernelStack::Create(std::move(spec), violations);
    if (!stack.has_value()) return violations.ToStatus();
    return *std::move(stack);
  }

  // Of rows that have ops here.
  absl::Status Add(const MeasuredCase& measured) {
    if (!stack_.has_value()) {
      ASSIGN_OR_RETURN(KernelStack stack, StackWith(plan_.slots));
      stack_ = std::move(stack);
    }
    std::optional<model::OpList> ops = measured.ops(profile_.device(), *stack_);
    if (ops.has_value()) rows_.push_back({&measured, *std::move(ops)});
    return absl::OkStatus();
  }

  // The slots' families with the sizes of the ops that `stack` prices on them.
  void AddRanges(const KernelStack& stack, std::vector<FitSlot>& slots) const {
    for (const Row& row : rows_) {
      const model::HardwareView view{profile_.device(),
                                     profile_.fabrics().front(), stack,
                                     row.measured->warm_cache};
      for (const model::Op& op : row.ops) {
        const model::FamilyFacts* family = model::Price(op, view).family;
        for (FitSlot& slot : slots) {
          model::FamilyFacts& facts = FactsOf(slot.prior);
          if (family == nullptr || family->id != facts.id) continue;
          model::VisitSizes(op, [&](model::SizeName name, double size) {
            facts.fitted_ranges.Include(name, size);
          });
        }
      }
    }
  }

  size_t size() const { return rows_.size(); }

  struct Row {
    const MeasuredCase* measured;
    model::OpList ops;
  };
  const std::vector<Row>& rows() const { return rows_; }

  model::Seconds TimeOf(const Row& row, const KernelStack& stack) const {
    const model::HardwareView view{profile_.device(),
                                   profile_.fabrics().front(), stack,
                                   row.measured->warm_cache};
    return model::SumOfEstimates(row.ops, view);
  }

  absl::StatusOr<FitResult> Fit(const std::vector<size_t>& chosen,
                                const std::vector<double>& start,
                                FitOptions options) const {
    options.prior_weight = prior_weight_;
    absl::Status status;
    std::vector<FitParameter> parameters = Parameters();
    for (size_t i = 0; i < start.size(); ++i) {
      // Rounding may have left the bounds.
      parameters[i].prior =
          std::clamp(start[i], parameters[i].lower, parameters[i].upper);
    }
    absl::StatusOr<FitResult> result = FitMap(
        parameters, MeasuredOf(chosen), PredictOf(chosen, status), options);
    RETURN_IF_ERROR(status);
    return result;
  }

  absl::StatusOr<std::vector<ParameterInterval>> Intervals(
      const std::vector<size_t>& groups, const std::vector<double>& fitted,
      IntervalOptions options) const {
    options.prior_weight = prior_weight_;
    const std::vector<size_t> all = EveryRow(size());
    absl::Status status;
    std::vector<ParameterInterval> intervals =
        ParameterIntervals(Parameters(), MeasuredOf(all), groups,
                           PredictOf(all, status), fitted, options);
    RETURN_IF_ERROR(status);
    return intervals;
  }

 private:
  std::vector<double> MeasuredOf(const std::vector<size_t>& chosen) const {
    std::vector<double> measured;
    for (const size_t i : chosen) {
      measured.push_back(rows_[i].measured->measured.value());
    }
    return measured;
  }

  // `status` takes what a stack refuses.
  Predict PredictOf(const std::vector<size_t>& chosen,
                    absl::Status& status) const {
    return [this, &chosen, &status](const std::vector<double>& values,
                                    std::vector<double>& predicted) {
      const absl::StatusOr<KernelStack> stack = StackWith(SlotsWith(values));
      if (!stack.ok()) {
        status.Update(stack.status());
        std::fill(predicted.begin(), predicted.end(), 1.0);
        return;
      }
      for (size_t i = 0; i < chosen.size(); ++i) {
        predicted[i] = TimeOf(rows_[chosen[i]], *stack).value();
      }
    };
  }

  const model::HardwareProfile& profile_;
  const KernelStack& base_;
  const FitPlan& plan_;
  const double prior_weight_;
  std::vector<ParameterPlace> places_;
  std::optional<KernelStack> stack_;
  std::vector<Row> rows_;
};

// Rows that repeat shapes seem to tell more than they do. With fewer shapes for
// each parameter, and as many rows of each, a fit may say more of its own rows
// than of others.
constexpr size_t kFewShapes = 6;
constexpr size_t kRepeats = 2;
// Where half of the rows cannot tell the parameters, all rows' residuals stand
// in for those of rows not seen, this much wider.
constexpr double kSeenRowsFactor = 1.5;

// Two sets of all rows; rows of one shape, which know of each other, are in
// one.
std::array<std::vector<size_t>, 2> Halves(const Pricer& pricer) {
  std::map<std::string, size_t> shapes;
  std::array<std::vector<size_t>, 2> halves;
  for (size_t i = 0; i < pricer.size(); ++i) {
    const size_t shape =
        shapes.emplace(SizesText(*pricer.rows()[i].measured), shapes.size())
            .first->second;
    halves[shape % 2].push_back(i);
  }
  return halves;
}

// What fits of one half leave on the other. `start`: see Pricer::Fit.
absl::StatusOr<std::vector<double>> CrossResiduals(
    const Pricer& pricer, const std::vector<double>& start, int evaluations) {
  std::vector<double> residuals;
  const std::array<std::vector<size_t>, 2> halves = Halves(pricer);
  for (const size_t half : {size_t{0}, size_t{1}}) {
    // Of a single shape.
    if (halves[half].empty()) continue;
    ASSIGN_OR_RETURN(
        const FitResult result,
        pricer.Fit(halves[half], start,
                   {.evaluations = evaluations, .few_rows = start.empty()}));
    ASSIGN_OR_RETURN(const KernelStack stack,
                     pricer.StackWith(pricer.SlotsWith(result.values)));
    for (const size_t i : halves[1 - half]) {
      const Pricer::Row& row = pricer.rows()[i];
      residuals.push_back(
          std::log(row.measured->measured / pricer.TimeOf(row, stack)));
    }
  }
  return residuals;
}

size_t ShapesOf(const Pricer& pricer) {
  std::set<std::string> shapes;
  for (const Pricer::Row& row : pricer.rows()) {
    shapes.insert(SizesText(*row.measured));
  }
  return shapes.size();
}

// How far off rows are that the fit did not see, as SpreadOf; and of few shapes
// that rows repeat the loss that is left on them.
absl::StatusOr<double> AddCrossLoss(const Pricer& pricer, size_t parameters,
                                    const FamilyFitOptions& options,
                                    FamilyFit& fit) {
  std::vector<double> crossed;
  const size_t shapes = ShapesOf(pricer);
  if (shapes < kFewShapes * parameters && pricer.size() >= kRepeats * shapes) {
    // From the priors: what all rows told must not tell on one half.
    ASSIGN_OR_RETURN(
        crossed,
        CrossResiduals(pricer, {}, std::min(options.evaluations, 250)));
    fit.cross_loss = MeanLoss(crossed);
  } else if (pricer.size() / 2 > parameters) {
    ASSIGN_OR_RETURN(crossed, CrossResiduals(pricer, fit.result.values, 120));
  } else {
    return kSeenRowsFactor * SpreadOf(fit.result.residuals, options.coverage);
  }
  return SpreadOf(std::move(crossed), options.coverage);
}

// Rows of one shape know of each other; what names no shape is its own.
std::vector<size_t> GroupsOf(const Pricer& pricer) {
  std::map<std::string, size_t> shapes;
  std::vector<size_t> groups;
  for (size_t i = 0; i < pricer.size(); ++i) {
    std::string shape = SizesText(*pricer.rows()[i].measured);
    if (shape.empty()) shape = absl::StrCat("row ", i);
    groups.push_back(
        shapes.emplace(std::move(shape), shapes.size()).first->second);
  }
  return groups;
}

absl::Status AddIntervals(const Pricer& pricer, const FamilyFitOptions& options,
                          FamilyFit& fit) {
  const std::vector<FitParameter> parameters = pricer.Parameters();
  ASSIGN_OR_RETURN(const std::vector<ParameterInterval> intervals,
                   pricer.Intervals(GroupsOf(pricer), fit.result.values,
                                    {.draws = options.draws}));
  for (size_t i = 0; i < parameters.size(); ++i) {
    fit.intervals[parameters[i].name] = {Rounded(intervals[i].first),
                                         Rounded(intervals[i].second)};
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// Where a binding of a general op kind stands; false: the slot names another.
bool PlaceGeneral(const FitSlot& slot, KernelStackSpec& stack) {
  if (const auto* gemm = std::get_if<model::GemmFamily>(&slot.prior)) {
    if (slot.op_kind != "gemm") return false;
    // In place of one with its id.
    const auto known = std::find_if(
        stack.gemm.begin(), stack.gemm.end(),
        [&](const auto& one) { return one.facts.id == gemm->facts.id; });
    const int index = static_cast<int>(known - stack.gemm.begin());
    if (known == stack.gemm.end()) {
      stack.gemm.push_back(*gemm);
    } else {
      *known = *gemm;
    }
    for (const Format format : model::AllFormats()) {
      if (slot.precision.empty() ||
          slot.precision == model::TraitsOf(format).name) {
        stack.gemm_by_format[static_cast<size_t>(format)] = index;
      }
    }
    return true;
  }
  const auto set = [&](const char* op_kind, auto& place) {
    using Family = std::remove_reference_t<decltype(place)>;
    const auto* family = std::get_if<Family>(&slot.prior);
    if (family == nullptr || slot.op_kind != op_kind ||
        !slot.precision.empty()) {
      return false;
    }
    place = *family;
    return true;
  };
  return set("attention_decode", stack.attention_decode) ||
         set("attention_prefill", stack.attention_prefill) ||
         set("elementwise", stack.elementwise);
}

}  // namespace

absl::Status Place(const FitSlot& slot, KernelStackSpec& stack) {
  bool placed = PlaceGeneral(slot, stack);
  model::VisitFine([&](const auto& table) {
    using Table = std::remove_reference_t<decltype(stack.fine.*table.member)>;
    const auto* family = std::get_if<typename Table::Family>(&slot.prior);
    const bool by_use = table.key == model::SlotKey::kUse;
    if (family == nullptr || (!by_use && slot.op_kind != table.op_kind)) return;
    for (size_t i = 0; i < Table::kCases; ++i) {
      if (!Matches(table, slot, i)) continue;
      (stack.fine.*table.member).Bind(i, *family);
      placed = true;
    }
  });
  if (placed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no table of a stack takes the family \"", model::FactsOf(slot.prior).id,
      "\" for op_kind \"", slot.op_kind, "\" ", slot.precision, slot.tier));
}

std::optional<double> ParameterOf(const KernelFamily& family,
                                  const std::string& name) {
  std::optional<double> value;
  std::visit(
      [&](const auto& typed) {
        using Family = std::remove_cvref_t<decltype(typed)>;
        for (const auto& parameter : Formula<Family>::kParameters) {
          if (name == parameter.name) value = parameter.get(typed);
        }
      },
      family);
  return value;
}

void Describe(const FamilyFit& fit, const model::Provenance& provenance,
              absl::string_view witnesses, model::FamilyFacts& facts) {
  facts.tier = model::Tier::kCalibrated;
  facts.provenance = provenance;
  const std::string prefix = absl::StrCat(facts.id, ".");
  for (const std::string& weak : fit.weak) {
    if (!absl::StartsWith(weak, prefix)) continue;
    facts.parameter_provenance[weak.substr(prefix.size())] = {
        model::ProvenanceKind::kAssumed,
        absl::StrCat("prior of the fit; the ", witnesses,
                     " do not tell otherwise"),
        ""};
  }
  for (const auto& [name, interval] : fit.intervals) {
    if (absl::StartsWith(name, prefix)) {
      facts.parameter_intervals[name.substr(prefix.size())] = interval;
    }
  }
}

absl::StatusOr<FamilyFit> FitFamilies(
    const std::vector<const MeasuredCase*>& cases,
    const model::HardwareProfile& profile, const KernelStack& base,
    const FitPlan& asked, const FamilyFitOptions& options) {
  FitPlan plan = asked;
  // Until the fit is done; a stack takes no family without.
  for (FitSlot& slot : plan.slots) FactsOf(slot.prior).sigma = 1;
  Pricer pricer(profile, base, plan, options.prior_weight);
  const size_t count = std::min(cases.size(), options.max_rows);
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(pricer.Add(*cases[i * cases.size() / count]));
  }
  if (pricer.size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(plan.name, ": no row has work that the device can do"));
  }
  FamilyFit fit;
  fit.rows = pricer.size();
  ASSIGN_OR_RETURN(fit.result,
                   pricer.Fit(EveryRow(pricer.size()), {},
                              {.evaluations = options.evaluations}));
  for (double& value : fit.result.values) value = Rounded(value);
  const std::vector<FitParameter> parameters = pricer.Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (fit.result.weak[i]) fit.weak.push_back(parameters[i].name);
  }
  ASSIGN_OR_RETURN(const double spread,
                   AddCrossLoss(pricer, parameters.size(), options, fit));
  fit.sigma = Rounded(std::clamp(spread, 0.01, 1.0));
  if (options.draws > 0) {
    RETURN_IF_ERROR(AddIntervals(pricer, options, fit));
  }
  fit.slots = pricer.SlotsWith(fit.result.values);
  for (FitSlot& slot : fit.slots) FactsOf(slot.prior).sigma = fit.sigma;
  ASSIGN_OR_RETURN(const KernelStack fitted, pricer.StackWith(fit.slots));
  pricer.AddRanges(fitted, fit.slots);
  return fit;
}

}  // namespace mansard::calibrate
