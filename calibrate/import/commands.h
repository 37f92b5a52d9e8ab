// What mansard-calibrate import does.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/tool_output.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

struct ImportOptions {
  std::string format = "";    // Empty: by the content.
  std::string hardware = "";  // Id of a profile.
  std::string link = "";      // Empty: as the hardware's first fabric has it.
  std::string operation = "";
  std::string engine = "";
  std::string engine_version = "";
  std::string stack = "";  // That answers for the model; empty: the first.
  std::string date = "";   // When it was measured.
  std::string source = "";
  // A table of kernels and their ops, as text; empty: none.
  std::string ops = "";
  bool draws = false;
};

struct ImportResult {
  Imported imported;
  std::string svg;  // Where the options ask for it.
};

// A tool's output -> rows of a measured table, a fragment of a fabric, or a
// table of kernels. Error: INVALID_ARGUMENT for options that are missing, not
// known or of no use here, and for what the tool's reader refuses.
absl::StatusOr<ImportResult> ImportText(absl::string_view text,
                                        const ImportOptions& options,
                                        const model::ShippedData& data);

struct ImportFiles {
  std::string input;
  std::string out;  // Empty: standard output.
  std::string ops;  // Empty: none.
  std::string svg;  // Empty: none.
};

// From file to file; notes go to standard error. Without a date, the file's.
// Error: of ImportText, with the file; a file that cannot be read or written.
absl::Status RunImport(const ImportFiles& files, ImportOptions options);

}  // namespace mansard::calibrate
