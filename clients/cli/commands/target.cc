#include "clients/cli/commands/target.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/input.h"

namespace mansard::cli {
std::string FullName(const char* collection, const std::string& id) {
  return absl::StrContains(id, '/') ? id : absl::StrCat(collection, "/", id);
}

absl::Status FillHardware(const EstimateFlags& flags, v1::Target* target) {
  if (NamesFile(flags.hardware)) {
    auto loaded = LoadHardwareFile(flags.hardware);
    if (!loaded.ok()) return loaded.status();
    *target->mutable_inline_hardware_profile() = *std::move(loaded);
  } else {
    target->set_hardware_profile(FullName("hardwareProfiles", flags.hardware));
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
    target->set_model_graph(FullName("modelGraphs", flags.model));
  }
  return FillHardware(flags, target);
}

absl::Status FillEstimateSubject(const Session& session,
                                 const EstimateFlags& flags,
                                 v1::EstimateRequest* request,
                                 std::vector<std::string>* assumptions) {
  if (flags.engine.empty()) {
    const absl::Status filled =
        FillSubject(session, flags, request->mutable_target(), assumptions);
    if (!filled.ok()) return filled;
    FillTarget(flags, request->mutable_target());
    return absl::OkStatus();
  }
  v1::Target target;
  v1::Target nothing;
  FillTarget(flags, &target);
  FillTarget(EstimateFlags(), &nothing);
  if (!flags.model.empty() || !flags.hardware.empty() ||
      target.SerializeAsString() != nothing.SerializeAsString()) {
    return UsageError(
        absl::StrCat("--engine ", flags.engine,
                     " stands beside flags that say what runs where, or how; "
                     "allowed: one or the other"),
        "mansard engine get ID shows what an engine is");
  }
  request->set_engine(FullName("engines", flags.engine));
  return absl::OkStatus();
}

std::string CatalogHint(const absl::Status& status) {
  if (!absl::IsNotFound(status)) return "";
  if (absl::StartsWith(status.message(), "No model graph")) {
    return "mansard model list shows what is there";
  }
  if (absl::StartsWith(status.message(), "No engine")) {
    return "mansard engine list shows what is there";
  }
  if (absl::StartsWith(status.message(), "No hardware profile")) {
    return "mansard hardware list shows what is there";
  }
  return "mansard hardware get ID shows its fabrics and stacks";
}

}  // namespace mansard::cli
