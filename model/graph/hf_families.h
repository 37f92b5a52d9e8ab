// What tells the supported model classes of Hugging Face transformers apart,
// and which keys of their config.json matter.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace mansard::model {

enum class WindowRule {
  kNone,         // The class has no window.
  kEveryLayer,   // `sliding_window`, in every layer.
  kUpperLayers,  // `sliding_window` from layer `max_window_layers` on, or by
                 // `layer_types`, when `use_sliding_window` is true.
};

// Defaults are those of the class, for keys that a file leaves out.
struct HfFamily {
  absl::string_view architecture;
  absl::string_view model_type;
  bool qkv_bias;              // Always there, whatever the file says.
  bool reads_attention_bias;  // Of q, k, v and output alike.
  bool reads_mlp_bias;
  bool qk_norm;
  WindowRule window;
  int64_t default_max_context;
  int64_t default_kv_heads;   // 0: one a query head.
  int64_t default_head_size;  // 0: hidden size / query heads.
};

inline constexpr int64_t kDefaultSlidingWindow = 4096;
inline constexpr int64_t kDefaultMaxWindowLayers = 28;

// Checked against transformers 5 (configuration_*.py, modeling_*.py).
inline constexpr std::array<HfFamily, 4> kHfFamilies = {{
    // architecture, model_type, qkv bias, reads attention_bias, reads mlp_bias,
    // qk norm, window, context, KV heads, head size
    {"LlamaForCausalLM", "llama", false, true, true, false, WindowRule::kNone,
     2048, 0, 0},
    {"MistralForCausalLM", "mistral", false, false, false, false,
     WindowRule::kEveryLayer, 131072, 8, 0},
    {"Qwen2ForCausalLM", "qwen2", true, false, false, false,
     WindowRule::kUpperLayers, 32768, 32, 0},
    {"Qwen3ForCausalLM", "qwen3", false, true, false, true,
     WindowRule::kUpperLayers, 32768, 32, 128},
}};

enum class KeyRole {
  kRead,          // The importer takes it or says why not.
  kHarmless,      // Known; no value of it changes cost.
  kQuantization,  // Says how a checkpoint is quantised.
  kCostly,        // Its name speaks of structure that no family here has.
  kUnknown,
};
KeyRole RoleOfKey(absl::string_view key);

}  // namespace mansard::model
