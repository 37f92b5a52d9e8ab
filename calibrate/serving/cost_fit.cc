#include "calibrate/serving/cost_fit.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/serving/cost_terms.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::kOpGroupCount;
using model::OpGroup;
using Names = std::vector<std::string>;

// Standard deviations of the priors' logarithms (Mansard design, end to end
// §2): of factors by group, of what each op adds.
double FactorSigma(OpGroup group) {
  switch (group) {
    case OpGroup::kGemm:
    case OpGroup::kWideGemm:
      return 0.2;
    case OpGroup::kExperts:
    case OpGroup::kWideExperts:
    case OpGroup::kRouting:
    case OpGroup::kDecodeAttention:
    case OpGroup::kPromptAttention:
    case OpGroup::kRecurrent:
    case OpGroup::kIndex:
      return 0.3;
    case OpGroup::kCollective:
    case OpGroup::kLargeCollective:
    case OpGroup::kQuantize:
    case OpGroup::kElementwise:
      return 0.4;
    case OpGroup::kHost:
      return 0.6;
  }
  return 0.4;
}
constexpr double kEachSigma = 0.5;

std::vector<LinearCost> StepCosts() {
  std::vector<LinearCost> costs;
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    const auto group = static_cast<OpGroup>(i);
    costs.push_back(
        {std::string(model::OpGroupName(group)), FactorSigma(group)});
  }
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    costs.push_back(
        {absl::StrCat(model::OpGroupName(static_cast<OpGroup>(i)), " each"),
         kEachSigma});
  }
  return costs;
}

std::vector<LinearCost> FirstTokenTerms() {
  // The structure is right within a few percent (ibid. §1.4): what the rows
  // tell is the constants.
  return {{"prompt", 0.05},     {"wait", 0.2},          {"queue", 0.2},
          {"burst", 0.1},       {"decode passes", 0.8}, {"request", 2.5},
          {"input token", 1.5}, {"prompt layer", 2.5},  {"concurrent", 1.5}};
}
// Of the ridges from 0.02 to 0.3, whose cross-validated errors differ by less
// than half a point.
constexpr double kFirstTokenRidge = 0.1;

std::string EngineLevel(absl::string_view framework) {
  return absl::StrCat("engine ", framework);
}
std::string GenerationLevel(absl::string_view generation) {
  return absl::StrCat("generation ", generation);
}
std::string KindLevel(absl::string_view generation, bool experts, int bits) {
  return absl::StrCat("kind ", generation, experts ? " experts " : " dense ",
                      bits);
}
std::string VersionLevel(absl::string_view framework,
                         absl::string_view version) {
  return absl::StrCat("version ", framework, " ", version);
}
constexpr char kAll[] = "all";

Names StepLevels(const ServedRun& run) {
  Names levels = {kAll, EngineLevel(run.row->engine),
                  GenerationLevel(run.architecture),
                  KindLevel(run.architecture, run.experts, run.weight_bits)};
  if (!run.row->version.empty()) {
    levels.push_back(VersionLevel(run.row->engine, run.row->version));
  }
  return levels;
}
Names FirstTokenLevels(const ServedRun& run) {
  return {kAll, EngineLevel(run.row->engine)};
}

// Of start-up that stands in a measured time, no cost tells.
bool HasFirstToken(const ServedRun& run) {
  return run.row->ttft_ms > 0 && !StartsUp(run);
}

// Rows with their levels by number, as FitLinear wants them.
class LinearRows {
 public:
  void Add(const Names& levels, std::vector<double> terms, double measured) {
    LinearRow& row = rows_.emplace_back();
    row.terms = std::move(terms);
    row.measured = measured;
    for (const std::string& level : levels) {
      row.levels.push_back(index_.emplace(level, index_.size()).first->second);
    }
  }
  size_t size() const { return rows_.size(); }

  absl::StatusOr<std::map<std::string, std::vector<double>>> Fit(
      const std::vector<LinearCost>& costs,
      const LinearFitOptions& options) const {
    ASSIGN_OR_RETURN(const LinearMultipliers fitted,
                     FitLinear(rows_, costs, index_.size(), options));
    std::map<std::string, std::vector<double>> by_name;
    for (const auto& [name, index] : index_) by_name[name] = fitted[index];
    return by_name;
  }

 private:
  std::vector<LinearRow> rows_;
  std::map<std::string, size_t> index_;
};

std::vector<double> Product(
    const std::map<std::string, std::vector<double>>& fitted,
    const Names& levels, size_t size) {
  std::vector<double> product(size, 1);
  for (const std::string& level : levels) {
    const auto found = fitted.find(level);
    if (found == fitted.end()) continue;
    for (size_t i = 0; i < size; ++i) product[i] *= found->second[i];
  }
  return product;
}

void Apply(const std::vector<double>& by, model::OpCosts& costs) {
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    costs[i].factor *= by[i];
    costs[i].each *= by[kOpGroupCount + i];
  }
}

void Apply(const std::vector<double>& by, model::FirstTokenCosts& costs) {
  costs.prompt *= by[kPrompt];
  costs.wait *= by[kWait];
  costs.queue *= by[kQueue];
  costs.burst *= by[kBurst];
  costs.decode_passes *= by[kDecodePasses];
  costs.request *= by[kRequest];
  costs.input_token *= by[kInputToken];
  costs.prompt_layer *= by[kPromptLayer];
  costs.concurrent_request *= by[kConcurrent];
}

void SetRatios(const std::vector<double>& by, model::CostVariation& variation) {
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    variation.factor[i] = by[i];
    variation.each[i] = by[kOpGroupCount + i];
  }
}

}  // namespace

absl::StatusOr<CostFit> CostFit::Fit(
    const std::vector<ServedRun>& runs,
    const std::function<bool(const ServedRun&)>& fits,
    const LinearFitOptions& options) {
  CostFit fit;
  std::vector<const ServedRun*> fitted;
  for (const ServedRun& run : runs) {
    if (fits(run)) fitted.push_back(&run);
  }
  RETURN_IF_ERROR(fit.FitSteps(fitted, options));
  RETURN_IF_ERROR(fit.FitFirstTokens(fitted, options));
  return fit;
}

absl::Status CostFit::FitSteps(const std::vector<const ServedRun*>& runs,
                               const LinearFitOptions& options) {
  LinearRows rows;
  for (const ServedRun* run : runs) {
    rows.Add(StepLevels(*run), TermsOfOutputToken(*run),
             run->row->tpot_ms * 1e-3);
    const std::string kind =
        KindLevel(run->architecture, run->experts, run->weight_bits);
    kinds_[kind].experts = run->experts;
    kinds_[kind].weight_bits = run->weight_bits;
    if (!run->row->version.empty()) {
      versions_[VersionLevel(run->row->engine, run->row->version)].version =
          run->row->version;
    }
  }
  tpot_rows_ = rows.size();
  ASSIGN_OR_RETURN(steps_, rows.Fit(StepCosts(), options));
  for (auto* variations : {&kinds_, &versions_}) {
    for (auto& [level, variation] : *variations) {
      SetRatios(steps_.at(level), variation);
    }
  }
  return absl::OkStatus();
}

absl::Status CostFit::FitFirstTokens(const std::vector<const ServedRun*>& runs,
                                     const LinearFitOptions& options) {
  LinearRows rows;
  for (const ServedRun* run : runs) {
    if (!HasFirstToken(*run)) continue;
    rows.Add(FirstTokenLevels(*run),
             TermsOfFirstToken(*run, CostsOf(*run).costs),
             run->row->ttft_ms * 1e-3);
  }
  ttft_rows_ = rows.size();
  if (rows.size() == 0) return absl::OkStatus();
  LinearFitOptions of_first_tokens = options;
  of_first_tokens.ridge = kFirstTokenRidge;
  ASSIGN_OR_RETURN(first_tokens_, rows.Fit(FirstTokenTerms(), of_first_tokens));
  return absl::OkStatus();
}

model::EngineCosts CostFit::CostsOf(absl::string_view framework,
                                    absl::string_view generation) const {
  model::EngineCosts costs = UnfittedCosts(framework);
  const std::string engine = EngineLevel(framework);
  Apply(
      Product(steps_, {kAll, engine, GenerationLevel(generation)}, kStepCosts),
      costs.costs);
  Apply(Product(first_tokens_, {kAll, engine}, kFirstTokenTermCount),
        costs.first_token);
  const std::string kinds = absl::StrCat("kind ", generation, " ");
  for (const auto& [level, variation] : kinds_) {
    if (absl::StartsWith(level, kinds)) costs.variations.push_back(variation);
  }
  const std::string versions = absl::StrCat("version ", framework, " ");
  for (const auto& [level, variation] : versions_) {
    if (absl::StartsWith(level, versions)) {
      costs.variations.push_back(variation);
    }
  }
  return costs;
}

model::EngineCosts CostFit::CostsOf(const ServedRun& run) const {
  return model::CostsFor(CostsOf(run.row->engine, run.architecture),
                         {run.row->version, run.experts, run.weight_bits});
}

}  // namespace mansard::calibrate
