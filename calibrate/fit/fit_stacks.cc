#include "calibrate/fit/fit_stacks.h"

#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibrate/tables/names.h"
#include "model/base/status_macros.h"
#include "model/io/derived_stack.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::ProvenanceKind;
using model::TraitsOf;

// The formats whose plain products are fitted.
bool IsFitted(const RowFormats& formats) {
  return formats.input == Format::kBf16 && formats.weights == Format::kBf16 &&
         !formats.quantizes;
}

// Hardware, stack, format.
using Key = std::tuple<std::string, std::string, Format>;

struct Rows {
  std::vector<GemmRow> fitted;
  size_t held_out = 0;
  std::set<std::string> sources;  // Without paths.
};

std::map<Key, Rows> Sort(const std::vector<GemmRow>& rows) {
  std::map<Key, Rows> sorted;
  for (const GemmRow& row : rows) {
    const std::string hardware(HardwareId(row.device));
    const std::string stack = StackId(row.framework, row.version);
    const std::optional<RowFormats> formats = FormatsOf(row);
    if (!row.flag.empty() || row.batch != 1 || hardware.empty() ||
        stack.empty() || !formats || !IsFitted(*formats)) {
      continue;
    }
    Rows& own = sorted[Key(hardware, stack, formats->input)];
    if (SideOf({row.m, row.n, row.k}) == Side::kHeldOut) {
      ++own.held_out;
      continue;
    }
    own.sources.insert(row.source.substr(0, row.source.find(':')));
    own.fitted.push_back(row);
  }
  return sorted;
}

model::Provenance ProvenanceOf(const Rows& rows, const GemmFit& fit,
                               const std::string& date) {
  return {ProvenanceKind::kFitted,
          absl::StrFormat("%s: %d shapes of a split by shape hash, judged on "
                          "the other %d; mean loss %.4f",
                          absl::StrJoin(rows.sources, ", "), fit.rows,
                          rows.held_out, fit.result.mean_loss),
          date};
}

}  // namespace

absl::StatusOr<FittedStacks> FitStacks(const std::vector<GemmRow>& rows,
                                       const model::ShippedData& data,
                                       const std::string& date) {
  FittedStacks fitted;
  for (const auto& [key, own] : Sort(rows)) {
    const auto& [hardware, stack, format] = key;
    const auto profile = data.profiles.find(hardware);
    if (own.fitted.size() < kMinFitRows || profile == data.profiles.end() ||
        !profile->second->device().HasTensor(format)) {
      continue;
    }
    const model::Device& device = profile->second->device();
    ASSIGN_OR_RETURN(GemmFit fit, FitTiledGemm(own.fitted, device, format,
                                               GemmPrior(device, format)));
    model::FamilyFacts& facts = fit.family.facts;
    facts.id = absl::StrCat("gemm-", TraitsOf(format).name, "-tiled");
    facts.tier = model::Tier::kCalibrated;
    facts.provenance = ProvenanceOf(own, fit, date);
    for (const std::string& name : fit.weak) {
      facts.parameter_provenance[name] = {
          ProvenanceKind::kAssumed,
          "prior of the fit; the rows do not tell otherwise", ""};
    }
    std::string& file = fitted.files[hardware];
    if (file.empty()) {
      file =
          "# proto-file: mansard/v1/catalog.proto\n"
          "# proto-message: mansard.v1.HardwareProfile\n"
          "# Written by mansard-calibrate fit.\n";
    }
    absl::StrAppend(&file,
                    model::DerivedStackToText(
                        stack, profile->second->stacks().front().spec().id,
                        {{format, fit.family}}));
    fitted.records.push_back({hardware, stack, format, std::move(fit)});
  }
  return fitted;
}

}  // namespace mansard::calibrate
