#include "model/graph/hf_windows.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kWindowKey = "sliding_window|sliding_window_size";
constexpr absl::string_view kPatternKey =
    "sliding_window_pattern|_sliding_window_pattern";

// Whether the file switches windows on or off; nothing where it does neither.
std::optional<bool> WindowSwitch(HfFile& file) {
  constexpr absl::string_view kKey = "use_sliding_window";
  if (file.family().window == WindowRule::kUpperLayers) {
    return file.BooleanOr(kKey, false);
  }
  if (!file.Has(kKey)) return std::nullopt;
  return file.BooleanOr(kKey, true);
}

// 0: no layer has a window.
int64_t ReadWindowSize(HfFile& file) {
  const std::optional<bool> on = WindowSwitch(file);
  const HfFamily& family = file.family();
  if (family.window == WindowRule::kNone) {
    if (!file.IsNull(kWindowKey) && on.value_or(true)) {
      file.Complain(kWindowKey,
                    absl::StrCat("is ", file.Describe(kWindowKey), "; ",
                                 file.architecture(),
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
  if (!file.Has(kWindowKey)) {
    if (family.default_window == 0) return 0;
    return file.IntegerOr(kWindowKey, family.default_window, kMaxHfTokens);
  }
  if (file.IsNull(kWindowKey)) return 0;
  return file.Optional(kWindowKey, 1, kMaxHfTokens).value_or(0);
}

// The first layer with a window, where no list says it layer by layer.
int64_t ReadFirstWindowedLayer(HfFile& file) {
  constexpr absl::string_view kKey = "max_window_layers";
  constexpr int64_t kDefault = 28;
  const std::optional<int64_t> first = file.Optional(kKey, 0, kMaxHfTokens);
  if (!first.has_value()) file.NoteDefault(kKey, absl::StrCat(kDefault));
  return first.value_or(kDefault);
}

// Every n-th layer has none; by number, or by a string as "LLLG" (EXAONE 4).
int64_t ReadPattern(HfFile& file) {
  const int64_t absent = file.family().window_pattern;
  if (file.IsNull(kPatternKey)) {
    file.NoteDefault(kPatternKey, absl::StrCat("every layer but each ", absent,
                                               "th has the window"));
    return absent;
  }
  if (!file.IsString(kPatternKey)) {
    return file.Optional(kPatternKey, 1, kMaxHfLayers).value_or(1);
  }
  const std::string text = file.OptionalString(kPatternKey).value_or("");
  const size_t full = text.find('G');
  if (text.empty() || full != text.size() - 1 ||
      text.find_first_not_of("LG") != std::string::npos) {
    file.Complain(kPatternKey,
                  absl::StrCat("is \"", Printable(text),
                               "\"; allowed: a number, or L for each layer "
                               "with a window and a G at the end"));
    return 1;
  }
  return static_cast<int64_t>(text.size());
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
  const auto types = file.OptionalStrings(kKey);
  if (!types.has_value() ||
      !file.CheckLength(kKey, types->size(), layer_count)) {
    return {};
  }
  std::vector<bool> windowed;
  for (const std::string& type : *types) {
    const absl::string_view complaint =
        LayerTypeComplaint(type, file.family().window, window);
    if (!complaint.empty()) {
      file.ComplainAt(
          kKey, windowed.size(),
          absl::StrCat("is \"", Printable(type), "\"; ", complaint));
      return {};
    }
    windowed.push_back(type == "sliding_attention");
  }
  return windowed;
}

// Where no list says it.
std::vector<bool> WindowedLayers(HfFile& file, int64_t layer_count) {
  std::vector<bool> layers;
  switch (file.family().window) {
    case WindowRule::kNone:
      break;
    case WindowRule::kEveryLayer:
      layers.assign(static_cast<size_t>(layer_count), true);
      break;
    case WindowRule::kUpperLayers: {
      const int64_t first = ReadFirstWindowedLayer(file);
      for (int64_t i = 0; i < layer_count; ++i) layers.push_back(i >= first);
      break;
    }
    case WindowRule::kPattern: {
      if (file.family().window_pattern == 0) {
        file.NoteDefault("layer_types", "every layer has the window");
        layers.assign(static_cast<size_t>(layer_count), true);
        break;
      }
      const int64_t pattern = ReadPattern(file);
      for (int64_t i = 0; i < layer_count; ++i) {
        layers.push_back((i + 1) % pattern != 0);
      }
      break;
    }
  }
  return layers;
}

}  // namespace

LayerWindows ReadWindows(HfFile& file, int64_t layer_count,
                         int64_t max_context) {
  LayerWindows windows;
  windows.size = ReadWindowSize(file);
  if (windows.size == 0) file.Ignore(kWindowKey);
  if (!file.IsNull("layer_types")) {
    windows.layers = ReadLayerTypes(file, layer_count, windows.size);
  } else if (windows.size > 0) {
    windows.layers = WindowedLayers(file, layer_count);
  }
  file.Ignore("max_window_layers");
  file.Ignore(kPatternKey);
  windows.layers.resize(static_cast<size_t>(layer_count));
  if (windows.size > 0 && max_context > 0 && windows.size >= max_context) {
    file.Note(absl::StrCat("sliding_window, ", windows.size,
                           ", is not below the largest context, ", max_context,
                           ": no layer has a window"));
    windows.layers.assign(static_cast<size_t>(layer_count), false);
    windows.size = 0;
  }
  return windows;
}

std::vector<bool> ReadRotatedLayers(HfFile& file, int64_t layer_count,
                                    int64_t default_interval) {
  constexpr absl::string_view kKey = "no_rope_layers";
  const std::optional<int64_t> written = file.Optional(
      "no_rope_layer_interval|nope_layer_interval", 1, kMaxHfLayers);
  const int64_t interval = written.value_or(default_interval);
  std::vector<bool> layers(static_cast<size_t>(layer_count), true);
  if (file.IsOff(kKey)) {
    if (!written.has_value() && interval > 0) {
      file.NoteDefault(
          kKey, absl::StrCat("1 layer in ", interval, " is not rotated"));
    }
    for (int64_t i = interval - 1; interval > 0 && i < layer_count;
         i += interval) {
      layers[static_cast<size_t>(i)] = false;
    }
    return layers;
  }
  const auto listed = file.OptionalIntegers(kKey, 0, 1);
  if (!listed.has_value() ||
      !file.CheckLength(kKey, listed->size(), layer_count)) {
    return layers;
  }
  for (size_t i = 0; i < layers.size(); ++i) layers[i] = (*listed)[i] == 1;
  return layers;
}

}  // namespace mansard::model
