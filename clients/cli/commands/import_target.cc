#include "clients/cli/commands/import_target.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mansard::cli {
namespace {

bool IsNarrow(const std::string& format) {
  return !format.empty() && format != "fp32" && format != "tf32" &&
         format != "bf16" && format != "fp16";
}

// Numbers in a version, for comparing: "1.3.0rc20" is 1, 3, 0, 20.
std::vector<int> VersionOf(absl::string_view text) {
  std::vector<int> numbers;
  for (const absl::string_view part :
       absl::StrSplit(text, absl::ByAnyChar(".-abcdefghijklmnopqrstuvwxyz"),
                      absl::SkipEmpty())) {
    int number = 0;
    if (absl::SimpleAtoi(part, &number)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

absl::StatusOr<importing::ModelMatch> FindModel(
    const Session& session, const importing::LaunchCommand& command,
    const char* flag, const EstimateFlags& flags) {
  if (!flags.model.empty()) return importing::ModelMatch{flags.model, "", {}};
  if (command.model.empty()) {
    return UsageError(absl::StrCat(flag,
                                   " names no model; allowed: a model in it, "
                                   "or --model ID"));
  }
  const auto listed = session.ListAll(
      session.client().catalog(), &v1::CatalogService::Stub::ListModelGraphs,
      v1::ListModelGraphsRequest());
  if (!listed.ok()) return listed.status();
  std::vector<importing::KnownModel> known;
  for (const v1::ModelGraph& graph : listed->model_graphs()) {
    known.push_back(
        {std::string(absl::StripPrefix(graph.name(), "modelGraphs/")),
         graph.source()});
  }
  importing::ModelMatch match = importing::MatchModel(command.model, known);
  if (!match.id.empty()) return match;
  return UsageError(
      absl::StrCat("no model of the catalog is \"", command.model, "\"",
                   match.closest.empty()
                       ? ""
                       : absl::StrCat("; closest: ",
                                      absl::StrJoin(match.closest, ", "))),
      "--model ID names one; mansard model apply ID -f config.json adds one");
}

importing::ModelFacts FactsOf(const v1::ModelGraph& graph) {
  importing::ModelFacts facts;
  facts.has_narrow_weights = IsNarrow(graph.native_precision().weights());
  facts.has_fp32_weights = graph.native_precision().weights() == "fp32";
  for (const v1::LayerKind& kind : graph.layer_kinds()) {
    facts.has_experts = facts.has_experts || kind.has_experts();
    for (const v1::LinearPrecision& linear : kind.formats()) {
      facts.has_narrow_weights =
          facts.has_narrow_weights || IsNarrow(linear.weights());
    }
  }
  return facts;
}

importing::DeviceFacts FactsOf(const v1::HardwareProfile& profile) {
  importing::DeviceFacts facts;
  facts.id =
      std::string(absl::StripPrefix(profile.name(), "hardwareProfiles/"));
  for (const v1::MemoryLevel& level : profile.device().memory_levels()) {
    if (level.level() == "hbm") {
      facts.memory_bytes = level.capacity_bytes().value();
    }
  }
  return facts;
}

std::string NewestStack(const v1::HardwareProfile& profile,
                        importing::Runtime runtime) {
  const absl::string_view prefix = importing::StackPrefix(runtime);
  std::string newest;
  for (const v1::KernelStack& stack : profile.kernel_stacks()) {
    const std::string& id = stack.stack();
    if (absl::StartsWith(id, prefix) &&
        (newest.empty() || VersionOf(id.substr(prefix.size())) >
                               VersionOf(newest.substr(prefix.size())))) {
      newest = id;
    }
  }
  return newest;
}

}  // namespace mansard::cli
