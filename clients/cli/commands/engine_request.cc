#include "clients/cli/commands/engine_request.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/command_status.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/input.h"

namespace mansard::cli {
namespace {

absl::Status TakeWords(const CatalogFlags& flags, v1::Engine* engine) {
  if (flags.scheduling == "mixed") {
    engine->set_scheduling(v1::Engine::SCHEDULING_MIXED);
  } else if (flags.scheduling == "prefill-first") {
    engine->set_scheduling(v1::Engine::SCHEDULING_PREFILL_FIRST);
  } else if (!flags.scheduling.empty()) {
    return UsageError(absl::StrCat("--scheduling is \"", flags.scheduling,
                                   "\"; allowed: mixed, prefill-first"));
  }
  if (flags.role == "aggregated") {
    engine->set_role(v1::Engine::ROLE_AGGREGATED);
  } else if (flags.role == "prefill") {
    engine->set_role(v1::Engine::ROLE_PREFILL);
  } else if (flags.role == "decode") {
    engine->set_role(v1::Engine::ROLE_DECODE);
  } else if (!flags.role.empty()) {
    return UsageError(absl::StrCat("--role is \"", flags.role,
                                   "\"; allowed: aggregated, prefill, decode"));
  }
  return absl::OkStatus();
}

void TakeLimits(const CatalogFlags& flags, v1::EngineLimits* limits) {
  const auto narrow = [](const std::optional<int64_t>& count) {
    return static_cast<int32_t>(count.value_or(0));
  };
  limits->set_max_batched_token_count(narrow(flags.max_batched_tokens));
  limits->set_max_sequence_count(narrow(flags.max_sequences));
  limits->set_kv_block_token_count(narrow(flags.block_tokens));
  limits->set_kv_token_capacity_count(flags.kv_tokens.value_or(0));
  if (flags.memory_utilization.has_value()) {
    limits->set_memory_utilization_ratio(*flags.memory_utilization);
  }
}

void TakeAdmission(const CatalogFlags& flags, v1::Engine* engine) {
  if (flags.poll_passes.has_value()) {
    engine->mutable_admission()->set_poll_pass_count(
        static_cast<int32_t>(*flags.poll_passes));
  }
  if (flags.batch_wait_passes.has_value()) {
    engine->mutable_admission()->set_batch_wait_pass_count(
        static_cast<int32_t>(*flags.batch_wait_passes));
  }
  if (flags.batch_wait_tokens.has_value()) {
    engine->mutable_admission()->set_batch_wait_token_ratio(
        *flags.batch_wait_tokens);
  }
}

}  // namespace

absl::Status RefuseFiles(const EstimateFlags& flags) {
  for (const auto& [flag, value] : {std::pair("--model", &flags.model),
                                    std::pair("--hardware", &flags.hardware)}) {
    if (NamesFile(*value)) {
      return UsageError(absl::StrCat(flag, " is \"", *value,
                                     "\", a file; allowed: an id, as an engine "
                                     "follows what is in the catalog"),
                        absl::StrCat("mansard ", absl::StripPrefix(flag, "--"),
                                     " apply -f FILE puts it there"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Engine> EngineOfFlags(const Arguments& arguments) {
  const EstimateFlags& flags = arguments.estimate;
  v1::Engine engine;
  engine.set_display_name(arguments.catalog.display_name);
  engine.mutable_target()->set_model_graph(
      FullName("modelGraphs", flags.model));
  engine.mutable_target()->set_hardware_profile(
      FullName("hardwareProfiles", flags.hardware));
  FillTarget(flags, engine.mutable_target());
  TakeLimits(arguments.catalog, engine.mutable_limits());
  TakeAdmission(arguments.catalog, &engine);
  const absl::Status words = TakeWords(arguments.catalog, &engine);
  if (!words.ok()) return words;
  return engine;
}

std::string FlagOfEngineField(const Arguments& arguments,
                              const std::string& field) {
  absl::string_view path = field;
  if (path == "engine_id") return absl::StrCat("ID ", arguments.operand);
  if (!absl::ConsumePrefix(&path, "engine.")) return "";
  const CatalogFlags& flags = arguments.catalog;
  const std::pair<const char*, std::pair<const char*, std::string>> table[] = {
      {"limits.max_batched_token_count",
       {"--max-batched-tokens",
        absl::StrCat(flags.max_batched_tokens.value_or(0))}},
      {"limits.max_sequence_count",
       {"--max-sequences", absl::StrCat(flags.max_sequences.value_or(0))}},
      {"limits.kv_block_token_count",
       {"--kv-block-tokens", absl::StrCat(flags.block_tokens.value_or(0))}},
      {"limits.kv_token_capacity_count",
       {"--kv-tokens", absl::StrCat(flags.kv_tokens.value_or(0))}},
      {"limits.memory_utilization_ratio",
       {"--memory-utilization",
        absl::StrCat(flags.memory_utilization.value_or(0))}},
      {"admission.poll_pass_count",
       {"--poll-passes", absl::StrCat(flags.poll_passes.value_or(0))}},
      {"admission.batch_wait_pass_count",
       {"--batch-wait-passes",
        absl::StrCat(flags.batch_wait_passes.value_or(0))}},
      {"admission.batch_wait_token_ratio",
       {"--batch-wait-tokens",
        absl::StrCat(flags.batch_wait_tokens.value_or(0))}}};
  for (const auto& [known, flag] : table) {
    if (path == known) return absl::StrCat(flag.first, " ", flag.second);
  }
  return FlagOfField(arguments.estimate, std::string(path));
}

}  // namespace mansard::cli
