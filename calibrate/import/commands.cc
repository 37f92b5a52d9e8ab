#include "calibrate/import/commands.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "calibrate/import/cutlass.h"
#include "calibrate/import/kernel_models.h"
#include "calibrate/import/kernels.h"
#include "calibrate/import/links.h"
#include "calibrate/import/nccl_tests.h"
#include "calibrate/import/roofline_svg.h"
#include "calibrate/import/torch_trace.h"
#include "calibrate/tables/names.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

bool IsOfKernels(ToolFormat format) {
  return format == ToolFormat::kNsightCompute ||
         format == ToolFormat::kRocprofCompute;
}

// Options that say nothing of the tool's output.
absl::Status CheckUse(ToolFormat format, const ImportOptions& options) {
  const bool rows =
      format == ToolFormat::kCutlass || format == ToolFormat::kTorchProfiler;
  const bool collectives = format == ToolFormat::kNcclTests;
  const std::pair<const char*, bool> kUses[] = {
      {"--link", options.link.empty() || collectives},
      {"--operation", options.operation.empty() || collectives},
      {"--engine", options.engine.empty() || rows},
      {"--engine_version", options.engine_version.empty() || rows},
      {"--ops", options.ops.empty() || IsOfKernels(format)},
      {"--svg", !options.draws || IsOfKernels(format)},
  };
  std::vector<std::string> useless;
  for (const auto& [flag, used] : kUses) {
    if (!used) useless.push_back(flag);
  }
  if (useless.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(useless, ", "), ": ", useless.size() == 1 ? "is" : "are",
      " of no use with ", ToolFormatName(format)));
}

// Null where no hardware is named.
absl::StatusOr<const model::HardwareProfile*> ProfileOf(
    const ImportOptions& options, const model::ShippedData& data) {
  if (options.hardware.empty()) return nullptr;
  const auto found = data.profiles.find(options.hardware);
  if (found != data.profiles.end()) return found->second.get();
  return absl::InvalidArgumentError(absl::StrCat(
      "--hardware: is \"", options.hardware, "\"; allowed: ",
      absl::StrJoin(data.profiles, ", ", [](std::string* out, const auto& one) {
        absl::StrAppend(out, one.first);
      })));
}

// "NVLink" or "PCIe", as tables spell them.
std::string LinkOf(const model::HardwareProfile& profile) {
  return profile.fabrics().front().FindLink(model::LinkTier::kNvlink) != nullptr
             ? "NVLink"
             : "PCIe";
}

RowContext ContextOf(const ImportOptions& options,
                     const model::HardwareProfile* profile) {
  RowContext context{.device = std::string(TableDevice(options.hardware)),
                     .link = options.link,
                     .operation = options.operation,
                     .engine = options.engine,
                     .engine_version = options.engine_version,
                     .source = options.source};
  if (context.link.empty() && profile != nullptr) {
    context.link = LinkOf(*profile);
  }
  return context;
}

absl::StatusOr<const model::KernelStack*> StackOf(
    const ImportOptions& options, const model::HardwareProfile& profile) {
  if (options.stack.empty()) return &profile.stacks().front();
  const model::KernelStack* stack = profile.FindStack(options.stack);
  if (stack != nullptr) return stack;
  return absl::InvalidArgumentError(absl::StrCat(
      "--stack: is \"", options.stack, "\"; ", profile.id(), " has ",
      absl::StrJoin(profile.stacks(), ", ",
                    [](std::string* out, const model::KernelStack& one) {
                      absl::StrAppend(out, one.spec().id);
                    })));
}

absl::StatusOr<ImportResult> ImportKernels(
    absl::string_view text, ToolFormat format, const ImportOptions& options,
    const model::HardwareProfile* profile) {
  if (profile == nullptr && (options.draws || !options.ops.empty())) {
    return absl::InvalidArgumentError(
        "--hardware: is missing; --svg draws its roofs, and --ops are priced "
        "on it");
  }
  ASSIGN_OR_RETURN(ProfiledKernels profiled,
                   format == ToolFormat::kNsightCompute
                       ? ReadNsightCompute(text)
                       : ReadRocprofCompute(text));
  std::vector<JudgedKernel> judged;
  if (profile == nullptr) {
    for (MeasuredKernel& kernel : profiled.kernels) {
      judged.push_back({.measured = std::move(kernel), .op = ""});
    }
  } else {
    ASSIGN_OR_RETURN(const model::KernelStack* stack,
                     StackOf(options, *profile));
    std::vector<KernelOp> ops;
    if (!options.ops.empty()) {
      ASSIGN_OR_RETURN(ops, ReadKernelOps(options.ops, profile->device()));
    }
    ASSIGN_OR_RETURN(judged,
                     JudgeKernels(profiled.kernels, ops, *profile, *stack));
    if (!ops.empty() &&
        std::none_of(judged.begin(), judged.end(),
                     [](const JudgedKernel& one) { return !one.op.empty(); })) {
      profiled.notes.push_back("no kernel's name holds one of --ops");
    }
  }
  ImportResult result;
  result.imported = {KernelTable(judged), std::move(profiled.notes)};
  if (options.draws) {
    ASSIGN_OR_RETURN(result.svg,
                     RooflineSvg(judged, profile->device(),
                                 absl::StrCat("Measured kernels on ",
                                              profile->display_name())));
  }
  return result;
}

absl::StatusOr<Imported> ImportRows(absl::string_view text, ToolFormat format,
                                    const ImportOptions& options,
                                    const model::HardwareProfile* profile) {
  const RowContext context = ContextOf(options, profile);
  switch (format) {
    case ToolFormat::kNvbandwidth:
      return ImportNvbandwidth(text, options.date);
    case ToolFormat::kPerftest:
      return ImportPerftest(text, options.date);
    case ToolFormat::kNcclTests:
      return ImportNcclTests(text, context);
    case ToolFormat::kCutlass:
      return ImportCutlass(text, context);
    case ToolFormat::kTorchProfiler:
      return ImportTorchTrace(text, context);
    case ToolFormat::kNsightCompute:
    case ToolFormat::kRocprofCompute:
      break;
  }
  return absl::InternalError("no tool of rows");
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(path, ": cannot be written"));
}

absl::Status Named(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl::StrCat(path, ": ", status.message())};
}

// When it was last written, "2026-11-30"; today's where that is not known.
std::string DateOf(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  absl::Time time = absl::Now();
  if (!error) {
    time = absl::FromChrono(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(
            std::chrono::file_clock::to_sys(written)));
  }
  return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<ImportResult> ImportText(absl::string_view text,
                                        const ImportOptions& options,
                                        const model::ShippedData& data) {
  RETURN_IF_ERROR(CheckToolText(text));
  ASSIGN_OR_RETURN(const ToolFormat format,
                   options.format.empty() ? DetectToolFormat(text)
                                          : ParseToolFormat(options.format));
  RETURN_IF_ERROR(CheckUse(format, options));
  ASSIGN_OR_RETURN(const model::HardwareProfile* profile,
                   ProfileOf(options, data));
  if (IsOfKernels(format)) {
    return ImportKernels(text, format, options, profile);
  }
  ASSIGN_OR_RETURN(Imported imported,
                   ImportRows(text, format, options, profile));
  return ImportResult{std::move(imported), ""};
}

absl::Status RunImport(const ImportFiles& files, ImportOptions options) {
  if (files.input.empty()) {
    return absl::InvalidArgumentError(
        "import: names no file; give the output of a tool");
  }
  absl::StatusOr<std::string> text = ReadToolOutput(files.input);
  if (!text.ok()) return Named(files.input, text.status());
  if (!files.ops.empty()) {
    absl::StatusOr<std::string> ops = ReadToolOutput(files.ops);
    if (!ops.ok()) return Named(files.ops, ops.status());
    const absl::Status checked = CheckToolText(*ops);
    if (!checked.ok()) return Named(files.ops, checked);
    options.ops = *std::move(ops);
  }
  options.draws = !files.svg.empty();
  options.source = std::filesystem::path(files.input).filename().string();
  if (options.date.empty()) options.date = DateOf(files.input);
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  const absl::StatusOr<ImportResult> result = ImportText(*text, options, data);
  if (!result.ok()) return Named(files.input, result.status());
  for (const std::string& note : result->imported.notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (!files.svg.empty()) RETURN_IF_ERROR(WriteFile(files.svg, result->svg));
  if (!files.out.empty()) return WriteFile(files.out, result->imported.text);
  std::fputs(result->imported.text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace mansard::calibrate
