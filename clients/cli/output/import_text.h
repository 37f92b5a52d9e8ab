// What `mansard engine import` shows of flags.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/output/report.h"
#include "clients/import/engine_import.h"

namespace mansard::cli {

// A row a flag, by what becomes of it.
Report FlagsReport(const std::vector<importing::FlagRow>& rows);

// {"engine": ..., "flags": [{"flag", "value", "fate", "becomes"}]}.
absl::StatusOr<std::string> ImportJson(
    const v1::Engine& engine, const std::vector<importing::FlagRow>& rows);

}  // namespace mansard::cli
