// Formats by group, algorithm and module.
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "model/graph/hf_scheme_reader.h"

namespace mansard::model {
namespace {

constexpr size_t kMaxNamedModules = 200'000;

}  // namespace

std::optional<ModuleFormats> SchemeReader::Group(const JsonObject& group) {
  const auto weights = group.Object("weights", violations_);
  if (!weights.has_value()) return std::nullopt;
  const std::optional<Format> format = TensorFormat(*weights, true);
  if (!format.has_value()) return std::nullopt;
  ModuleFormats formats = {*format, scheme_.wide.activations};
  const auto inputs = group.Object("input_activations", violations_);
  if (!inputs.has_value()) return formats;
  const std::optional<Format> read = TensorFormat(*inputs, false);
  if (!read.has_value()) return std::nullopt;
  // Inputs of weights in blocks come in blocks, too.
  const bool blocks = *format == Format::kFp8Block && *read == Format::kFp8E4m3;
  formats.activations = blocks ? *format : *read;
  return formats;
}

void SchemeReader::Groups() {
  const auto groups = object_.Object("config_groups", violations_);
  bool any = false;
  bool all_linear = false;
  std::vector<std::pair<std::string, ModuleFormats>> named;
  for (const std::string& key :
       groups.has_value() ? groups->Keys() : std::vector<std::string>()) {
    const auto group = groups->Object(key, violations_);
    if (!group.has_value()) continue;
    const size_t before = violations_.all().size();
    const std::optional<ModuleFormats> formats = Group(*group);
    if (!formats.has_value()) {
      any = any || violations_.all().size() != before;
      continue;
    }
    bool of_class = group->IsNull("targets");
    if (!of_class) {
      const auto targets = group->Strings("targets", violations_);
      for (const std::string& target :
           targets.value_or(std::vector<std::string>())) {
        // A class of modules, not a module.
        if (target == "Linear" || target == "LinearBase") {
          of_class = true;
        } else {
          named.emplace_back(target, *formats);
        }
      }
    }
    if (!any || (of_class && !all_linear)) scheme_.main = *formats;
    all_linear = all_linear || of_class;
    any = true;
  }
  for (const auto& [name, formats] : named) {
    if (!scheme_.named.Add(name, formats)) {
      ComplainOfExpression("config_groups", name);
    }
  }
  if (!any) Complain("config_groups", "has no group with weights");
  scheme_.named_only = any && !all_linear;
  LeaveOut("ignore");
}

std::optional<ModuleFormats> SchemeReader::Algorithm(const JsonObject& object) {
  const std::string name =
      absl::AsciiStrToUpper(SchemeText(object, "quant_algo"));
  const Format wide = scheme_.wide.activations;
  const struct {
    absl::string_view name;
    Format weights;
    Format activations;
  } kAlgorithms[] = {
      {"FP8", Format::kFp8E4m3, Format::kFp8E4m3},
      {"FP8_PER_CHANNEL_PER_TOKEN", Format::kFp8E4m3, Format::kFp8E4m3},
      {"FP8_PB_WO", Format::kFp8Block, Format::kFp8Block},
      {"FP8_PB_REAL", Format::kFp8Block, Format::kFp8Block},
      {"MXFP8", Format::kMxfp8, Format::kMxfp8},
      {"NVFP4", Format::kNvfp4, Format::kNvfp4},
      {"NVFP4_AWQ", Format::kNvfp4, Format::kNvfp4},
      {"W4A16_NVFP4", Format::kNvfp4, wide},
      {"W4A8_NVFP4_FP8", Format::kNvfp4, Format::kFp8E4m3},
      {"W4A8_MXFP4_FP8", Format::kMxfp4, Format::kFp8E4m3},
      {"W4A16_MXFP4", Format::kMxfp4, wide},
      {"W4A16", Format::kInt4Symmetric, wide},
      {"W4A16_AWQ", Format::kInt4Symmetric, wide},
      {"W4A8_AWQ", Format::kInt4Symmetric, Format::kFp8E4m3},
      {"W8A16", Format::kInt8, wide},
      {"W8A8_SQ_PER_CHANNEL", Format::kInt8, Format::kInt8},
  };
  std::string known;
  for (const auto& row : kAlgorithms) {
    if (row.name == name) return ModuleFormats{row.weights, row.activations};
    absl::StrAppend(&known, known.empty() ? "" : ", ", row.name);
  }
  violations_.Add(
      absl::StrCat(object.path(), "quant_algo"),
      absl::StrCat("is ", object.Describe("quant_algo"), "; allowed: ", known,
                   ", and MIXED_PRECISION for the whole"));
  return std::nullopt;
}

void SchemeReader::ModelOpt() {
  LeaveOut("exclude_modules");
  LeaveOut("ignore");
  if (absl::AsciiStrToUpper(SchemeText(object_, "quant_algo")) !=
      "MIXED_PRECISION") {
    const std::optional<ModuleFormats> formats = Algorithm(object_);
    if (formats.has_value()) scheme_.main = *formats;
    return;
  }
  scheme_.named_only = true;
  const auto layers =
      object_.ObjectsByKey("quantized_layers", kMaxNamedModules, violations_);
  if (!layers.has_value() || layers->empty()) {
    Complain("quantized_layers",
             "is missing or empty; MIXED_PRECISION needs it");
    return;
  }
  // Of a few kinds, thousands of times.
  std::map<std::pair<Format, Format>, int> counts;
  for (const auto& [name, layer] : *layers) {
    const std::optional<ModuleFormats> formats = Algorithm(layer);
    if (!formats.has_value()) return;
    if (!scheme_.named.Add(name, *formats)) {
      return ComplainOfExpression("quantized_layers", name);
    }
    const int count = ++counts[{formats->weights, formats->activations}];
    const auto main =
        counts.find({scheme_.main.weights, scheme_.main.activations});
    if (main == counts.end() || count > main->second) {
      scheme_.main = *formats;
    }
  }
}

void SchemeReader::Dynamic() {
  const auto rules =
      object_.ObjectsByKey("dynamic", kMaxNamedModules, violations_);
  if (!rules.has_value()) return;
  for (const auto& [key, rule] : *rules) {
    absl::string_view name = key;
    const bool out = absl::ConsumePrefix(&name, "-:");
    if (!out) absl::ConsumePrefix(&name, "+:");
    const std::string expression = absl::StrCat("re:", name);
    ModuleFormats formats = scheme_.wide;
    if (!out) {
      formats = scheme_.main;
      if (!rule.IsNull("bits")) {
        Violations unused;
        const auto bits = rule.Integer("bits", 1, 16, unused).value_or(4);
        const auto weights =
            IntegerFormat(rule, "bits",
                          rule.IsNull("group_size") ? SchemeGroupSize(object_)
                                                    : SchemeGroupSize(rule),
                          16, static_cast<int>(bits));
        if (weights.has_value()) formats.weights = *weights;
      }
    }
    ModuleRules& rules_of = out ? scheme_.left_out : scheme_.named;
    if (!rules_of.Add(expression, formats)) {
      ComplainOfExpression("dynamic", expression);
    }
  }
}

std::optional<Format> SchemeReader::MlxFormat(const JsonObject& object) {
  const std::string mode = SchemeText(object, "mode");
  if (mode == "mxfp4") return Format::kMxfp4;
  if (mode == "mxfp8") return Format::kMxfp8;
  if (mode == "nvfp4") return Format::kNvfp4;
  const auto group = object.IsNull("group_size") ? SchemeGroupSize(object_)
                                                 : SchemeGroupSize(object);
  return IntegerFormat(object, "bits", group, 16, 16);
}

void SchemeReader::Mlx() {
  scheme_.all_classes = true;
  const std::optional<Format> format = MlxFormat(object_);
  if (format.has_value()) SetWeights(*format);
  for (const std::string& key : object_.Keys()) {
    if (key == "bits" || key == "group_size" || key == "mode") continue;
    if (object_.IsObject(key)) {
      const auto own = object_.Object(key, violations_);
      const auto weights =
          own.has_value() ? MlxFormat(*own) : std::optional<Format>();
      if (weights.has_value()) {
        scheme_.named.Add(key, {*weights, scheme_.main.activations});
      }
    } else if (object_.IsOff(key)) {
      scheme_.left_out.Add(key, scheme_.wide);
    }
  }
}

}  // namespace mansard::model
