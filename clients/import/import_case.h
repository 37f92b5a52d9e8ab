// A command line and what it must become, for the tests of the importers.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/import/engine_import.h"
#include "clients/import/launch_command.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace mansard::importing {

// More than 70 GiB, as the driver reports it.
inline const DeviceFacts kH100 = {"h100-sxm", 80.0 * 1024 * 1024 * 1024};

inline FileReader NoFiles() {
  return [](const std::string& path) -> absl::StatusOr<std::string> {
    return absl::NotFoundError(path);
  };
}
inline FileReader OneFile(const std::string& text) {
  return [text](const std::string&) -> absl::StatusOr<std::string> {
    return text;
  };
}

inline absl::StatusOr<EngineImport> Imported(
    Runtime runtime, absl::string_view text, const ModelFacts& model = {},
    const DeviceFacts& device = kH100, const FileReader& read = NoFiles()) {
  const absl::StatusOr<LaunchCommand> command =
      ParseLaunch(runtime, text, read);
  if (!command.ok()) return command.status();
  return ImportEngine(*command, model, device);
}

// The engine as text, on one line.
inline std::string EngineText(const absl::StatusOr<EngineImport>& import) {
  if (!import.ok()) return std::string(import.status().message());
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintToString(import->engine, &text);
  return text;
}

// "unknown" of the flag as it was written; "" where it has no row.
inline std::string FateOf(const absl::StatusOr<EngineImport>& import,
                          absl::string_view flag) {
  if (!import.ok()) return std::string(import.status().message());
  for (const FlagRow& row : import->rows) {
    if (row.flag == flag) return std::string(FateWord(row.fate));
  }
  return "";
}
inline std::string BecomesOf(const absl::StatusOr<EngineImport>& import,
                             absl::string_view flag) {
  if (!import.ok()) return std::string(import.status().message());
  for (const FlagRow& row : import->rows) {
    if (row.flag == flag) return row.becomes;
  }
  return "";
}

}  // namespace mansard::importing
