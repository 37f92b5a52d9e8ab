// Turns flags into an Engine, one by one, and keeps book of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/import/engine_import.h"
#include "clients/import/launch_command.h"

namespace mansard::importing {

// What does not fit a field is its largest value: no rule allows as much, and
// the service names the flag.
int32_t Clamped(int64_t count);

class Mapping {
 public:
  Mapping(const LaunchCommand& command, const ModelFacts& model,
          const DeviceFacts& device)
      : command_(command), model_(model), device_(device) {}

  const ModelFacts& model() const { return model_; }
  const DeviceFacts& device() const { return device_; }
  v1::Engine& engine() { return import_.engine; }
  v1::Parallelism& parallelism() {
    return *import_.engine.mutable_target()->mutable_parallelism();
  }
  v1::Precision& precision() {
    return *import_.engine.mutable_target()->mutable_precision();
  }
  v1::EngineLimits& limits() { return *import_.engine.mutable_limits(); }
  std::optional<double>& free_memory_ratio() {
    return import_.free_memory_ratio;
  }

  // Values of flags by their first names; nothing where the flag is not there.
  // A wrong value is an error of Finish, and nothing here. Counts may end in k
  // and m (1,000s) or K and M (1,024s).
  std::optional<int64_t> Count(absl::string_view name, int64_t least = 1);
  std::optional<double> Ratio(absl::string_view name);
  std::optional<bool> Switch(absl::string_view name);
  std::optional<std::string> Word(absl::string_view name) const;
  // The member of `known` that the flag names.
  using Words = std::map<std::string, std::string>;
  std::optional<std::string> OneOf(absl::string_view name, const Words& known);

  // The flag is `becomes` now; `field` of the engine holds it.
  void Became(absl::string_view name, absl::string_view becomes,
              absl::string_view field = "");
  // It is there, and not part of the engine all the same.
  void Without(absl::string_view name, Fate fate, absl::string_view why);
  // It is not there, and its default is `becomes`.
  void Assumed(absl::string_view flag, absl::string_view value,
               absl::string_view becomes);
  void Error(absl::string_view message) {
    errors_.push_back(std::string(message));
  }
  // "--tp 8", as typed.
  std::string Typed(absl::string_view name) const;

  // Rows of the flags that nobody has named, and all that was wrong.
  absl::StatusOr<EngineImport> Finish();

  // --kv-cache-dtype and its kin: formats of caches by their engines' names.
  void TakeKvFormat(absl::string_view name);
  // --quantization: formats of weights, unless the checkpoint has them.
  void TakeQuantization(absl::string_view name);
  // float16 and bfloat16 are alike; float32 is not. For what the calls before
  // have left open.
  void TakeDtype(absl::string_view name);
  void TakeState(absl::string_view name);

 private:
  void AddGivenRows();

  const LaunchCommand& command_;
  const ModelFacts& model_;
  const DeviceFacts& device_;
  EngineImport import_;
  std::set<std::string> done_;  // First names.
  std::vector<std::string> errors_;
};

// By engine; each names the flags of its table whose fate is kEngine.
void MapVllm(Mapping& mapping);
void MapSglang(Mapping& mapping);
void MapTrtllm(Mapping& mapping);

}  // namespace mansard::importing
