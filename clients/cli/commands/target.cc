#include "clients/cli/commands/target.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/input.h"

namespace mansard::cli {
namespace {

// "modelGraphs/x" for x; a whole name stays.
std::string ResourceName(const char* collection, const std::string& id) {
  return absl::StrContains(id, '/') ? id : absl::StrCat(collection, "/", id);
}

}  // namespace

absl::Status FillHardware(const EstimateFlags& flags, v1::Target* target) {
  if (NamesFile(flags.hardware)) {
    auto loaded = LoadHardwareFile(flags.hardware);
    if (!loaded.ok()) return loaded.status();
    *target->mutable_inline_hardware_profile() = *std::move(loaded);
  } else {
    target->set_hardware_profile(
        ResourceName("hardwareProfiles", flags.hardware));
  }
  return absl::OkStatus();
}

absl::Status FillSubject(const Session& session, const EstimateFlags& flags,
                         v1::Target* target,
                         std::vector<std::string>* assumptions) {
  if (flags.model == "-" && flags.hardware == "-") {
    return UsageError("--model and --hardware are both \"-\"; allowed: one",
                      "standard input holds one file");
  }
  if (NamesFile(flags.model)) {
    auto loaded = LoadModelFile(session, flags.model);
    if (!loaded.ok()) return loaded.status();
    *target->mutable_inline_model_graph() = loaded->model_graph();
    // The graph travels without these: they are about the file.
    assumptions->assign(loaded->assumptions().begin(),
                        loaded->assumptions().end());
    ClearOutputOnly(target->mutable_inline_model_graph());
  } else {
    target->set_model_graph(ResourceName("modelGraphs", flags.model));
  }
  return FillHardware(flags, target);
}

std::string CatalogHint(const absl::Status& status) {
  if (!absl::IsNotFound(status)) return "";
  if (absl::StartsWith(status.message(), "No model graph")) {
    return "mansard model list shows what is there";
  }
  if (absl::StartsWith(status.message(), "No hardware profile")) {
    return "mansard hardware list shows what is there";
  }
  return "mansard hardware get ID shows its fabrics and stacks";
}

}  // namespace mansard::cli
