// What a command line asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace mansard::cli {

enum class Command {
  kHelp,
  kVersion,
  kStatus,
  kEstimate,
  kModelImport,
  kModelList,
  kModelGet,
  kHardwareList,
  kHardwareGet,
};

enum class OutputFormat { kTable, kJson, kTextproto };

enum class Phase { kPrefill, kDecode, kMixed };

// Counts are as typed; they fit the request's fields, their ranges are the
// server's to check. Empty: not given.
struct EstimateFlags {
  std::string model = "";
  std::string hardware = "";
  std::string fabric = "";
  std::string stack = "";
  Phase phase = Phase::kDecode;
  std::optional<int64_t> batch = std::nullopt;
  std::optional<int64_t> context = std::nullopt;
  std::optional<int64_t> tokens = std::nullopt;
  std::optional<int64_t> prefill_batch = std::nullopt;
  std::optional<int64_t> prefill_context = std::nullopt;
  std::optional<int64_t> prefill_tokens = std::nullopt;
  std::optional<int64_t> tp = std::nullopt;
  std::optional<int64_t> pp = std::nullopt;
  std::optional<int64_t> ep = std::nullopt;
  std::optional<int64_t> dp = std::nullopt;
  std::optional<int64_t> nodes = std::nullopt;
  std::optional<int64_t> kv_heads = std::nullopt;
  std::string weights = "";
  std::string activations = "";
  std::string kv = "";
  bool require_fit = false;
  bool ops = false;
  bool waterfall = false;
};

struct Arguments {
  Command command = Command::kHelp;
  // "host:port", or empty: the embedded engine.
  std::string server;
  absl::Duration timeout = absl::Seconds(10);
  OutputFormat output = OutputFormat::kTable;
  bool no_color = false;
  bool quiet = false;
  bool fail_if_infeasible = false;
  EstimateFlags estimate;
  // The id or file that the command is about.
  std::string operand;
  // kHelp: what to print.
  std::string help;
};

}  // namespace mansard::cli
