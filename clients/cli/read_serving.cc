// Flags of engines, and of what is asked of them.
#include <utility>

#include "clients/cli/read_flags.h"

namespace mansard::cli {
namespace {

absl::Status Missing(CommandTree& tree, absl::string_view flag) {
  return UsageError(absl::StrCat(flag, " is missing"),
                    HelpHint(tree.Deepest()));
}

absl::Status NeedTarget(CommandTree& tree, const EstimateFlags& flags) {
  if (flags.model.empty()) return Missing(tree, "--model");
  if (flags.hardware.empty()) return Missing(tree, "--hardware");
  return absl::OkStatus();
}

// Layout, kernels and limits.
absl::Status ReadDeployment(CommandTree& tree, Arguments* arguments) {
  EstimateFlags* const estimate = &arguments->estimate;
  absl::Status status =
      ReadRatio(tree, "--overlap-efficiency", tree.raw().overlap_efficiency,
                &estimate->overlap_efficiency);
  if (status.ok()) {
    status =
        ReadRatio(tree, "--memory-utilization", tree.raw().memory_utilization,
                  &arguments->catalog.memory_utilization);
  }
  if (status.ok()) {
    status =
        ReadRatio(tree, "--batch-wait-tokens", tree.raw().batch_wait_tokens,
                  &arguments->catalog.batch_wait_tokens);
  }
  if (status.ok()) {
    status = ReadCounts(tree, AdmissionFlags(), &arguments->catalog);
  }
  for (const auto* flags : {&LayoutFlags(), &OverlapFlags()}) {
    if (status.ok()) status = ReadCounts(tree, *flags, estimate);
  }
  if (!status.ok()) return status;
  return ReadCounts(tree, LimitFlags(), &arguments->catalog);
}

absl::Status ReadCountsOf(
    CommandTree& tree,
    std::initializer_list<const std::vector<ServingCount>*> tables,
    ServingFlags* flags) {
  for (const auto* table : tables) {
    absl::Status status = ReadCounts(tree, *table, flags);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReadBatch(CommandTree& tree, Arguments* arguments) {
  if (arguments->estimate.engine.empty()) {
    const absl::Status target = NeedTarget(tree, arguments->estimate);
    if (!target.ok()) {
      return UsageError("--engine, or --model and --hardware, is missing",
                        HelpHint(tree.Deepest()));
    }
  }
  if (arguments->serving.context.empty()) return Missing(tree, "--context");
  const absl::Status counts =
      ReadCountsOf(tree, {&BatchCounts(), &DraftCounts(), &ShapeCounts()},
                   &arguments->serving);
  return counts.ok() ? ReadDeployment(tree, arguments) : counts;
}

absl::Status NeedShape(CommandTree& tree, const ServingFlags& flags) {
  if (!flags.input.has_value()) return Missing(tree, "--input-tokens");
  if (!flags.output.has_value()) return Missing(tree, "--output-tokens");
  return absl::OkStatus();
}

absl::Status ReadObserve(CommandTree& tree, ServingFlags* flags) {
  if (!flags->apply.empty() && flags->apply != "on" && flags->apply != "off") {
    return UsageError(
        absl::StrCat("--apply is \"", flags->apply, "\"; allowed: on, off"),
        HelpHint(tree.Deepest()));
  }
  absl::Status counts = ReadCounts(tree, ReportCounts(), flags);
  if (!counts.ok()) return counts;
  if (flags->reports.value_or(0) < 0) {
    return UsageError(
        absl::StrCat("--reports is ", *flags->reports, "; allowed: 0 or more"));
  }
  if (!flags->from.empty()) {
    return flags->observations.empty()
               ? absl::OkStatus()
               : UsageError("--from beside --file; allowed: one or the other");
  }
  if (!flags->every.empty() || flags->reports.has_value()) {
    return UsageError("--every and --reports belong to --from",
                      HelpHint(tree.Deepest()));
  }
  if (!flags->observations.empty() || flags->forget || !flags->apply.empty()) {
    return absl::OkStatus();
  }
  return Missing(tree, "--file, --from, --forget or --apply");
}

absl::Status ReadPredict(CommandTree& tree, Arguments* arguments) {
  ServingFlags& flags = arguments->serving;
  absl::Status counts = ReadCountsOf(
      tree, {&ShapeCounts(), &DraftCounts(), &StateCounts()}, &flags);
  if (!counts.ok()) return counts;
  const std::vector<ServingCount> generated = {
      {"--generated", &ServingFlags::generated,
       std::numeric_limits<int32_t>::max(), false, ""}};
  absl::Status made = ReadCounts(tree, generated, &flags);
  if (!made.ok() || !flags.queries.empty()) return made;
  if (arguments->operand.empty()) return Missing(tree, "ENGINE");
  if (!flags.input.has_value()) return Missing(tree, "--input-tokens");
  return absl::OkStatus();
}

absl::Status ReadImport(CommandTree& tree, Arguments* arguments) {
  const ImportFlags& flags = arguments->import;
  int commands = 0;
  for (const std::string* text : {&flags.vllm, &flags.sglang, &flags.trtllm}) {
    commands += text->empty() ? 0 : 1;
  }
  if (commands != 1) {
    return UsageError(
        absl::StrCat(commands,
                     " of --vllm-args, --sglang-args and --trtllm-args are "
                     "given; allowed: one"),
        HelpHint(tree.Deepest()));
  }
  if (arguments->estimate.hardware.empty()) {
    return Missing(tree, "--hardware");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadServing(CommandTree& tree, Command command,
                         Arguments* arguments) {
  if (command == Command::kEngineCreate) {
    const absl::Status target = NeedTarget(tree, arguments->estimate);
    return target.ok() ? ReadDeployment(tree, arguments) : target;
  }
  if (command == Command::kBatch) return ReadBatch(tree, arguments);
  if (command == Command::kEnginePredict) return ReadPredict(tree, arguments);
  if (command == Command::kEngineImport) return ReadImport(tree, arguments);
  if (command == Command::kEngineLoad) {
    absl::Status counts = ReadCountsOf(tree, {&ShapeCounts(), &DraftCounts()},
                                       &arguments->serving);
    return counts.ok() ? NeedShape(tree, arguments->serving) : counts;
  }
  if (command == Command::kEngineObserve) {
    return ReadObserve(tree, &arguments->serving);
  }
  if (command != Command::kEngineCapacity &&
      command != Command::kEngineLatencyModel) {
    return absl::OkStatus();
  }
  const bool capacity = command == Command::kEngineCapacity;
  absl::Status counts = ReadCountsOf(
      tree, {&ShapeCounts(), capacity ? &DraftCounts() : &MaxBatchCounts()},
      &arguments->serving);
  return counts.ok() ? NeedShape(tree, arguments->serving) : counts;
}

}  // namespace mansard::cli
