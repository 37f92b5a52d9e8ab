// What the tests of the config.json importer share: small complete files, and
// the outcomes of reading them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/graph/hf_config.h"

namespace mansard::model {

using Keys = std::map<std::string, std::string>;

// A complete file of 3 layers, hidden size 8, 4 heads of size 2. `changes` are
// raw JSON by key; an empty one takes the key out.
inline std::string Config(const std::string& architecture,
                          const Keys& changes = {}) {
  Keys keys = {
      {"architectures", "[\"" + architecture + "\"]"},
      {"hidden_size", "8"},
      {"vocab_size", "10"},
      {"intermediate_size", "16"},
      {"num_hidden_layers", "3"},
      {"num_attention_heads", "4"},
      {"num_key_value_heads", "2"},
      {"head_dim", "2"},
      {"max_position_embeddings", "8192"},
      {"tie_word_embeddings", "false"},
      {"hidden_act", "\"silu\""},
      {"torch_dtype", "\"bfloat16\""},
  };
  if (architecture == "LlamaForCausalLM") keys["mlp_bias"] = "false";
  if (architecture == "LlamaForCausalLM" ||
      architecture == "Qwen3ForCausalLM") {
    keys["attention_bias"] = "false";
  }
  if (architecture == "MistralForCausalLM") keys["sliding_window"] = "null";
  if (architecture == "Qwen2ForCausalLM" ||
      architecture == "Qwen3ForCausalLM") {
    keys["use_sliding_window"] = "false";
  }
  for (const auto& [key, value] : changes) keys[key] = value;
  std::string text;
  for (const auto& [key, value] : keys) {
    if (value.empty()) continue;
    text += (text.empty() ? "{\"" : ", \"") + key + "\": " + value;
  }
  return text + "}";
}

inline ImportedConfig ImportOrDie(const std::string& text) {
  Violations violations;
  absl::StatusOr<ImportedConfig> imported =
      ImportHuggingFaceConfig(text, violations);
  EXPECT_TRUE(imported.ok()) << imported.status() << "\n" << text;
  EXPECT_TRUE(violations.empty());
  return *std::move(imported);
}

inline const LayerKind& OnlyKind(const ImportedConfig& imported) {
  EXPECT_EQ(imported.graph.spec().layer_kinds.size(), 1u);
  return imported.graph.spec().layer_kinds[0];
}

// The violations, as "field: description".
inline std::vector<std::string> Refusals(const std::string& text) {
  Violations violations;
  const absl::StatusOr<ImportedConfig> imported =
      ImportHuggingFaceConfig(text, violations);
  EXPECT_FALSE(imported.ok()) << text;
  EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(imported.status(), violations.ToStatus());
  std::vector<std::string> refusals;
  for (const Violation& violation : violations.all()) {
    refusals.push_back(violation.field + ": " + violation.description);
  }
  return refusals;
}

}  // namespace mansard::model
