#include "calibrate/serving/cost_fit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/tables/names.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::kOpGroupCount;
using model::OpGroup;
using model::Seconds;
using Names = std::vector<std::string>;

// Factors of all groups, then what each op of one adds.
constexpr size_t kStepCosts = 2 * kOpGroupCount;

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
// Levels' shares of these.
constexpr double kOwnShare = 1;
constexpr double kVersionShare = 0.7;

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

enum FirstTokenTerm {
  kPrompt,
  kWait,
  kQueue,
  kBurst,
  kDecodePasses,
  kRequest,
  kInputToken,
  kPromptLayer,
  kConcurrent,
  kFirstTokenTermCount,
};
std::vector<LinearCost> FirstTokenTerms() {
  // The structure is right within a few percent (ibid. §1.4): what the rows
  // tell is the constants.
  return {{"prompt", 0.05},     {"wait", 0.2},          {"queue", 0.2},
          {"burst", 0.1},       {"decode passes", 0.8}, {"request", 2.5},
          {"input token", 1.5}, {"prompt layer", 2.5},  {"concurrent", 1.5}};
}
constexpr double kFirstTokenRidge = 0.03;

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

// Rows with their levels by number, as FitLinear wants them.
class LinearRows {
 public:
  void Add(const Names& levels, std::vector<double> terms, double measured) {
    LinearRow& row = rows_.emplace_back();
    row.terms = std::move(terms);
    row.measured = measured;
    for (const std::string& level : levels) {
      const auto [at, added] = index_.emplace(level, shares_.size());
      if (added) {
        shares_.push_back(absl::StartsWith(level, "version ") ? kVersionShare
                                                              : kOwnShare);
      }
      row.levels.push_back(at->second);
    }
  }
  size_t size() const { return rows_.size(); }

  absl::StatusOr<std::map<std::string, std::vector<double>>> Fit(
      const std::vector<LinearCost>& costs,
      const LinearFitOptions& options) const {
    ASSIGN_OR_RETURN(const LinearMultipliers fitted,
                     FitLinear(rows_, costs, shares_, options));
    std::map<std::string, std::vector<double>> by_name;
    for (const auto& [name, index] : index_) by_name[name] = fitted[index];
    return by_name;
  }

 private:
  std::vector<LinearRow> rows_;
  std::vector<double> shares_;
  std::map<std::string, size_t> index_;
};

std::vector<double> StepTerms(const ServedRun& run) {
  const model::OpCosts priors = UnfittedCosts(run.row->engine).costs;
  model::StepGroups sum = run.parts.decode.groups;
  sum.Add(run.parts.prompt.groups,
          (run.parts.batch - 1) /
              static_cast<double>(run.load.shape.output_tokens));
  std::vector<double> terms(kStepCosts);
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    terms[i] = std::max(0.0, priors[i].factor * sum.times[i].value());
    terms[kOpGroupCount + i] =
        std::max(0.0, (sum.ops[i] * priors[i].each).value());
  }
  return terms;
}

std::vector<double> FirstTokenTermsOf(const ServedRun& run,
                                      const model::OpCosts& steps) {
  const model::FirstTokenCosts priors =
      UnfittedCosts(run.row->engine).first_token;
  const model::ServedTimes times = TimesOfRun(run, steps, priors);
  const model::ServedForm form = FormOf(run, priors);
  std::vector<double> terms(kFirstTokenTermCount);
  terms[kPrompt] = times.first_token.prompt.value();
  terms[kWait] = times.first_token.wait.value();
  terms[kQueue] = times.first_token.queue.value();
  terms[kBurst] = times.first_token.burst.value();
  terms[kDecodePasses] = times.first_token.decode_passes.value();
  terms[kRequest] = priors.request.value();
  terms[kInputToken] = (form.input_tokens * priors.input_token).value();
  terms[kPromptLayer] =
      (form.prompt_passes * form.layers * priors.prompt_layer).value();
  terms[kConcurrent] =
      (run.load.concurrency * priors.concurrent_request).value();
  return terms;
}

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
  LinearRows steps;
  for (const ServedRun& run : runs) {
    if (!fits(run)) continue;
    steps.Add(StepLevels(run), StepTerms(run), run.row->tpot_ms * 1e-3);
    const std::string kind =
        KindLevel(run.architecture, run.experts, run.weight_bits);
    fit.kinds_[kind].experts = run.experts;
    fit.kinds_[kind].weight_bits = run.weight_bits;
    if (!run.row->version.empty()) {
      fit.versions_[VersionLevel(run.row->engine, run.row->version)].version =
          run.row->version;
    }
  }
  fit.tpot_rows_ = steps.size();
  ASSIGN_OR_RETURN(fit.steps_, steps.Fit(StepCosts(), options));
  for (auto* variations : {&fit.kinds_, &fit.versions_}) {
    for (auto& [level, variation] : *variations) {
      SetRatios(fit.steps_.at(level), variation);
    }
  }
  LinearRows first_tokens;
  for (const ServedRun& run : runs) {
    if (!fits(run) || run.row->ttft_ms <= 0 || StartsUp(run)) continue;
    first_tokens.Add(FirstTokenLevels(run),
                     FirstTokenTermsOf(run, fit.CostsOf(run).costs),
                     run.row->ttft_ms * 1e-3);
  }
  fit.ttft_rows_ = first_tokens.size();
  if (first_tokens.size() == 0) return fit;
  LinearFitOptions of_first_tokens = options;
  of_first_tokens.ridge = kFirstTokenRidge;
  ASSIGN_OR_RETURN(fit.first_tokens_,
                   first_tokens.Fit(FirstTokenTerms(), of_first_tokens));
  return fit;
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
