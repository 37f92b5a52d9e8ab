// What the command line of an inference engine amounts to as an Engine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/import/flag_table.h"
#include "clients/import/launch_command.h"
#include "mansard/v1/engine.pb.h"

namespace mansard::importing {

// What decides about flags that the command line does not.
struct ModelFacts {
  bool has_experts = false;
  // Of its checkpoint; then --quantization says nothing new.
  bool has_narrow_weights = false;
  // Of its checkpoint; engines run such a model with 16 bits.
  bool has_fp32_weights = false;
};
struct DeviceFacts {
  std::string id = "";      // "h100-sxm".
  double memory_bytes = 0;  // Of one device.
};

struct FlagRow {
  Fate fate;
  std::string flag;   // As written; of a default as the engine calls it.
  std::string value;  // Empty for a switch that is on.
  // What it is now, in the words of `mansard engine create`, or why it is
  // nothing.
  std::string becomes;
};

struct EngineImport {
  // Layout, formats, limits, scheduling, role; the target's model, hardware and
  // stack are the caller's to fill in.
  v1::Engine engine;
  // Flags in the order of their fates, then as written.
  std::vector<FlagRow> rows;
  // Which flag set a field of the engine: "--tp 3" for
  // "target.parallelism.tensor_size".
  std::map<std::string, std::string> flag_of_field;
  // TensorRT-LLM says which share of what is left beside weights and workspace
  // the cache gets: this share of the KV tokens that fit where the engine uses
  // all of the memory.
  std::optional<double> free_memory_ratio;
};

// InvalidArgument, with every wrong or contradicting value, one a line.
absl::StatusOr<EngineImport> ImportEngine(const LaunchCommand& command,
                                          const ModelFacts& model,
                                          const DeviceFacts& device);

}  // namespace mansard::importing
