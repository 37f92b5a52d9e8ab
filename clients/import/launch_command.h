// The command line that starts an inference engine, as flags with their values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/import/flag_table.h"

namespace mansard::importing {

struct GivenFlag {
  // As FlagSpec's first name; of an unknown one as it was written, without
  // leading dashes.
  std::string name;
  // "--tp", or "kv_cache_config.dtype" of a file.
  std::string shown;
  // "true" and "false" of a switch.
  std::string value;
  const FlagSpec* spec = nullptr;  // Null: unknown.
};

struct LaunchCommand {
  Runtime runtime;
  std::string model;  // As the command names it; may be empty.
  // Each once, in order.
  std::vector<GivenFlag> flags;
  // NAME=VALUE before the program.
  std::vector<std::string> environment;

  const GivenFlag* Find(absl::string_view name) const;
};

// The text of a file that the command names.
using FileReader =
    std::function<absl::StatusOr<std::string>(const std::string& path)>;

// Reads "vllm serve MODEL --flag ...", "python -m sglang.launch_server ...",
// "trtllm-serve MODEL ..." and what stands before them, or the flags alone.
// Values stand behind "=" or a blank; dashes and underscores in names are the
// same. Files with more of them (--config; of TensorRT-LLM also
// --extra_llm_api_options) are read: of vLLM and SGLang the command's own flags
// win, of TensorRT-LLM the file's.
//
// InvalidArgument, with all that is wrong, one a line: text that is no command,
// a command of another engine, a flag without its value, two models, one flag
// with two values. What `read` fails with.
absl::StatusOr<LaunchCommand> ParseLaunch(Runtime runtime,
                                          absl::string_view text,
                                          const FileReader& read);

}  // namespace mansard::importing
