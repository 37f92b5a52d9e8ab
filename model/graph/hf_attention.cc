#include "model/graph/hf_attention.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// 0: could not be read.
int64_t ReadKvHeads(HfFile& file, int64_t query_heads) {
  constexpr absl::string_view kKey = "num_key_value_heads";
  if (!file.json().IsNull(kKey)) return file.Required(kKey, kMaxHfHeads);
  if (file.json().Has(kKey)) {
    file.Note(absl::StrCat(kKey, " is null: one KV head a query head"));
    return query_heads;
  }
  const int64_t kv_heads = file.family().default_kv_heads;
  if (kv_heads == 0) {
    file.NoteDefault(kKey, "one KV head a query head");
    return query_heads;
  }
  file.NoteDefault(kKey, absl::StrCat(kv_heads));
  return kv_heads;
}

// 0: could not be read.
int64_t ReadHeadSize(HfFile& file, int64_t hidden_size, int64_t query_heads) {
  constexpr absl::string_view kKey = "head_dim";
  const int64_t default_size = file.family().default_head_size;
  if (default_size > 0) {
    // A null would leave the class without a head size.
    if (file.json().Has(kKey)) return file.Required(kKey, kMaxHfHeads);
    file.NoteDefault(kKey, absl::StrCat(default_size));
    return default_size;
  }
  if (!file.json().IsNull(kKey)) return file.Required(kKey, kMaxHfHeads);
  if (hidden_size == 0 || query_heads == 0) return 0;
  if (hidden_size % query_heads != 0) {
    file.violations().Add(
        kKey, absl::StrCat("is absent, and hidden_size, ", hidden_size,
                           ", is not a multiple of num_attention_heads, ",
                           query_heads));
    return 0;
  }
  file.NoteDefault(kKey, absl::StrCat("hidden_size / num_attention_heads = ",
                                      hidden_size / query_heads));
  return hidden_size / query_heads;
}

// A switch that the class does not read may only say what the class does.
void CheckFixedBias(HfFile& file, absl::string_view key, bool fixed) {
  if (!file.json().Has(key)) return;
  const std::optional<bool> value = file.json().Boolean(key, file.violations());
  if (!value.has_value()) return;
  if (*value == fixed) {
    file.Ignore(key);
    return;
  }
  file.violations().Add(key,
                        absl::StrCat("is ", *value ? "true" : "false", "; ",
                                     file.family().architecture,
                                     " does not read the key and always ",
                                     fixed ? "has" : "lacks", " the bias"));
}

// Whether the file switches windows on or off; nothing where it does neither.
std::optional<bool> WindowSwitch(HfFile& file) {
  constexpr absl::string_view kKey = "use_sliding_window";
  switch (file.family().window) {
    case WindowRule::kUpperLayers:
      return file.BooleanOr(kKey, false);
    case WindowRule::kNone:
    case WindowRule::kEveryLayer:
      break;
  }
  if (!file.json().Has(kKey)) return std::nullopt;
  return file.json().Boolean(kKey, file.violations());
}

// 0: no layer has a window.
int64_t ReadWindowSize(HfFile& file) {
  constexpr absl::string_view kKey = "sliding_window";
  const std::optional<bool> on = WindowSwitch(file);
  const HfFamily& family = file.family();
  if (family.window == WindowRule::kNone) {
    if (!file.json().IsNull(kKey) && on.value_or(true)) {
      file.violations().Add(
          kKey, absl::StrCat("is ", file.json().Describe(kKey), "; ",
                             family.architecture,
                             " has no window. Remove the key, or name an "
                             "architecture that has one"));
    }
    return 0;
  }
  if (!on.value_or(true)) {
    if (family.window == WindowRule::kEveryLayer) {
      file.Note("use_sliding_window is false: no layer has a window");
    }
    return 0;
  }
  if (!file.json().Has(kKey)) {
    file.NoteDefault(kKey, absl::StrCat(kDefaultSlidingWindow));
    return kDefaultSlidingWindow;
  }
  if (file.json().IsNull(kKey)) return 0;
  return file.json()
      .Integer(kKey, 1, kMaxHfTokens, file.violations())
      .value_or(kDefaultSlidingWindow);
}

// The first layer with a window, where no list says it layer by layer.
int64_t ReadFirstWindowedLayer(HfFile& file) {
  constexpr absl::string_view kKey = "max_window_layers";
  if (file.family().window == WindowRule::kEveryLayer) {
    file.Ignore(kKey);
    return 0;
  }
  if (file.json().Has(kKey)) {
    return file.json()
        .Integer(kKey, 0, kMaxHfTokens, file.violations())
        .value_or(0);
  }
  file.NoteDefault(kKey, absl::StrCat(kDefaultMaxWindowLayers));
  return kDefaultMaxWindowLayers;
}

// What is wrong with one entry of layer_types; empty: nothing.
absl::string_view LayerTypeComplaint(absl::string_view type, WindowRule rule,
                                     int64_t window) {
  if (type == "sliding_attention") {
    return window > 0 ? "" : "but no sliding_window is in use";
  }
  if (type != "full_attention") {
    return "allowed: full_attention, sliding_attention";
  }
  return rule == WindowRule::kEveryLayer && window > 0
             ? "but this architecture has its window in every layer"
             : "";
}

// Stops at the first wrong entry.
std::vector<bool> ReadLayerTypes(HfFile& file, int64_t layer_count,
                                 int64_t window) {
  constexpr absl::string_view kKey = "layer_types";
  const std::optional<std::vector<std::string>> types =
      file.json().Strings(kKey, file.violations());
  if (!types.has_value()) return {};
  if (layer_count > 0 && static_cast<int64_t>(types->size()) != layer_count) {
    file.violations().Add(
        kKey, absl::StrCat("has ", types->size(),
                           " entries; num_hidden_layers is ", layer_count));
    return {};
  }
  std::vector<bool> windowed;
  for (const std::string& type : *types) {
    const absl::string_view complaint =
        LayerTypeComplaint(type, file.family().window, window);
    if (!complaint.empty()) {
      file.violations().Add(
          Indexed(kKey, windowed.size()),
          absl::StrCat("is \"", Printable(type), "\"; ", complaint));
      return {};
    }
    windowed.push_back(type == "sliding_attention");
  }
  return windowed;
}

}  // namespace

GroupedQueryAttention ReadAttention(HfFile& file, int64_t hidden_size) {
  const int64_t heads = file.Required("num_attention_heads", kMaxHfHeads);
  const int64_t kv_heads = ReadKvHeads(file, heads);
  const int64_t head_size = ReadHeadSize(file, hidden_size, heads);
  if (heads > 0 && kv_heads > 0 && heads % kv_heads != 0) {
    file.violations().Add(
        "num_key_value_heads",
        absl::StrCat("is ", kv_heads, "; must divide num_attention_heads, ",
                     heads));
  }
  if (heads * head_size > kMaxHfSize) {
    file.violations().Add(
        "head_dim",
        absl::StrCat("is ", head_size, "; times num_attention_heads, ", heads,
                     ", it may be up to ", kMaxHfSize));
  }
  GroupedQueryAttention attention;
  attention.query_heads = static_cast<int>(heads);
  attention.kv_heads = static_cast<int>(kv_heads);
  attention.head_size = static_cast<int>(head_size);
  attention.qk_norm = file.family().qk_norm;
  if (file.family().reads_attention_bias) {
    attention.qkv_bias = file.BooleanOr("attention_bias", false);
    attention.output_bias = attention.qkv_bias;
  } else {
    attention.qkv_bias = file.family().qkv_bias;
    CheckFixedBias(file, "attention_bias", attention.qkv_bias);
  }
  return attention;
}

bool ReadFeedForwardBias(HfFile& file) {
  if (file.family().reads_mlp_bias) return file.BooleanOr("mlp_bias", false);
  CheckFixedBias(file, "mlp_bias", false);
  return false;
}

LayerWindows ReadWindows(HfFile& file, int64_t layer_count) {
  LayerWindows windows;
  windows.size = ReadWindowSize(file);
  if (windows.size == 0) {
    file.Ignore("sliding_window");
    file.Ignore("max_window_layers");
  }
  if (!file.json().IsNull("layer_types")) {
    windows.layers = ReadLayerTypes(file, layer_count, windows.size);
  } else if (windows.size > 0) {
    const int64_t first = ReadFirstWindowedLayer(file);
    for (int64_t i = 0; i < layer_count; ++i) {
      windows.layers.push_back(i >= first);
    }
  }
  windows.layers.resize(static_cast<size_t>(layer_count));
  return windows;
}

}  // namespace mansard::model
