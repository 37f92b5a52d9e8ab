// Where in a command line an engine's own arguments begin.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "clients/import/flag_table.h"

namespace mansard::importing {

// The index behind "vllm serve", "-m sglang.launch_server", "trtllm-serve" or
// their kin, whatever stands before; nothing where there is none of `runtime`.
std::optional<size_t> BehindProgram(Runtime runtime,
                                    const std::vector<std::string>& words);

}  // namespace mansard::importing
