#include "model/graph/hf_config.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"
#include "model/base/suggest.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_families.h"
#include "model/graph/hf_file.h"
#include "model/graph/json_object.h"

namespace mansard::model {
namespace {

// Published files have up to 70 keys and seven levels.
constexpr JsonLimits kLimits = {kMaxConfigBytes, 64, 500};
// Longest name taken over from a file.
constexpr size_t kMaxNameBytes = 128;

absl::Status Unsupported(absl::string_view architecture) {
  const std::vector<std::string> supported = SupportedArchitectures();
  const std::string name = Printable(architecture, kMaxNameBytes);
  const std::vector<std::string> closest = ClosestNames(name, supported);
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(
      "architecture \"", name, "\" is not supported",
      closest.empty() ? "" : absl::StrCat("; the closest is ", closest.front()),
      "; supported: ", absl::StrJoin(supported, ", ")));
  status.SetPayload(kUnsupportedArchitecture, absl::Cord(name));
  return status;
}

// By `architectures`; by `model_type` where that is absent, null or empty.
// Null with a violation when neither can be read.
absl::StatusOr<const HfFamily*> FindFamily(
    const JsonObject& file, std::vector<std::string>& assumptions,
    Violations& violations) {
  if (!file.IsNull("architectures")) {
    const std::optional<std::vector<std::string>> names =
        file.Strings("architectures", violations);
    if (!names.has_value()) return nullptr;
    if (names->size() > 1) {
      violations.Add("architectures",
                     absl::StrCat("has ", names->size(),
                                  " entries; must name one architecture"));
      return nullptr;
    }
    if (!names->empty()) {
      for (const HfFamily& family : kHfFamilies) {
        if (family.architecture == names->front()) return &family;
      }
      return Unsupported(names->front());
    }
  }
  if (file.IsNull("model_type")) {
    violations.Add("architectures", "is missing, and so is model_type");
    return nullptr;
  }
  const std::optional<std::string> type = file.String("model_type", violations);
  if (!type.has_value()) return nullptr;
  for (const HfFamily& family : kHfFamilies) {
    if (family.model_type == *type) {
      assumptions.push_back(
          absl::StrCat("architectures is absent: ", family.architecture,
                       ", as model_type says"));
      return &family;
    }
  }
  return Unsupported(*type);
}

std::optional<Format> ParseTorchType(absl::string_view name) {
  absl::ConsumePrefix(&name, "torch.");
  if (name == "bfloat16") return Format::kBf16;
  if (name == "float16" || name == "half") return Format::kFp16;
  if (name == "float32" || name == "float") return Format::kFp32;
  return std::nullopt;
}

Precision ReadPrecision(HfFile& file) {
  std::optional<Format> format;
  for (absl::string_view key : {"dtype", "torch_dtype"}) {
    if (file.json().IsNull(key)) continue;
    const std::optional<std::string> name =
        file.json().String(key, file.violations());
    if (!name.has_value()) continue;
    const std::optional<Format> parsed = ParseTorchType(*name);
    if (!parsed.has_value()) {
      file.violations().Add(
          key, absl::StrCat("is \"", Printable(*name),
                            "\"; allowed: bfloat16, float16, float32"));
    } else if (format.has_value() && *format != *parsed) {
      file.violations().Add(
          key, absl::StrCat("is \"", Printable(*name), "\", but dtype is ",
                            file.json().Describe("dtype")));
    } else {
      format = parsed;
    }
  }
  if (file.json().IsNull("dtype") && file.json().IsNull("torch_dtype")) {
    file.Note("dtype is absent: bf16");
  }
  const Format native = format.value_or(Format::kBf16);
  return {native, native, native};
}

// The gate is part of every family here; which function it has costs alike.
void CheckActivation(HfFile& file) {
  if (!file.json().Has("hidden_act")) {
    file.NoteDefault("hidden_act", "gated SiLU");
    return;
  }
  const std::optional<std::string> activation =
      file.json().String("hidden_act", file.violations());
  if (activation.has_value() && *activation != "silu" &&
      *activation != "swish") {
    file.Note(absl::StrCat("hidden_act is \"", Printable(*activation),
                           "\": counted as gated SiLU"));
  }
}

void CheckModelType(HfFile& file) {
  if (file.json().IsNull("model_type")) return;
  const std::optional<std::string> type =
      file.json().String("model_type", file.violations());
  if (type.has_value() && *type != file.family().model_type) {
    file.Note(absl::StrCat("model_type is \"", Printable(*type),
                           "\": architectures decides, ",
                           file.family().architecture));
  }
}

std::string ReadDisplayName(HfFile& file) {
  if (file.json().IsOff("_name_or_path")) {
    return std::string(file.family().architecture);
  }
  const std::optional<std::string> name =
      file.json().String("_name_or_path", file.violations());
  return Printable(name.value_or(""), kMaxNameBytes);
}

int64_t ReadMaxContext(HfFile& file) {
  constexpr absl::string_view kKey = "max_position_embeddings";
  if (file.json().Has(kKey)) return file.Required(kKey, kMaxHfTokens);
  const int64_t max_context = file.family().default_max_context;
  file.NoteDefault(kKey, absl::StrCat(max_context));
  return max_context;
}

// Layers alike share a kind, named in the order in which they come.
void AddLayers(const LayerKind& full, const LayerWindows& windows,
               ModelGraphSpec& spec) {
  int full_index = -1;
  int window_index = -1;
  for (const bool windowed : windows.layers) {
    int& index = windowed ? window_index : full_index;
    if (index < 0) {
      index = static_cast<int>(spec.layer_kinds.size());
      LayerKind kind = full;
      kind.name = windowed ? "window" : "dense";
      std::get<GroupedQueryAttention>(kind.attention).sliding_window =
          windowed ? windows.size : 0;
      spec.layer_kinds.push_back(std::move(kind));
    }
    spec.layer_kind_indexes.push_back(index);
  }
}

ModelGraphSpec ReadSpec(HfFile& file) {
  ModelGraphSpec spec;
  spec.display_name = ReadDisplayName(file);
  spec.source = absl::StrCat("config.json of ", file.family().architecture);
  spec.hidden_size = file.Required("hidden_size", kMaxHfSize);
  spec.vocabulary_size = file.Required("vocab_size", kMaxHfVocabulary);
  spec.max_context = ReadMaxContext(file);
  spec.tied_embeddings = file.BooleanOr("tie_word_embeddings", false);
  spec.native_precision = ReadPrecision(file);
  DenseFeedForward feed_forward;
  feed_forward.intermediate_size =
      file.Required("intermediate_size", kMaxHfSize);
  feed_forward.bias = ReadFeedForwardBias(file);
  LayerKind layer;
  layer.feed_forward = feed_forward;
  layer.attention = ReadAttention(file, spec.hidden_size);
  const int64_t layer_count = file.Required("num_hidden_layers", kMaxHfLayers);
  AddLayers(layer, ReadWindows(file, layer_count), spec);
  return spec;
}

}  // namespace

std::vector<std::string> SupportedArchitectures() {
  std::vector<std::string> names;
  for (const HfFamily& family : kHfFamilies) {
    names.emplace_back(family.architecture);
  }
  return names;
}

absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       Violations& violations) {
  ASSIGN_OR_RETURN(const JsonObject object,
                   JsonObject::Parse(json, "config.json", kLimits));
  std::vector<std::string> assumptions;
  ASSIGN_OR_RETURN(const HfFamily* family,
                   FindFamily(object, assumptions, violations));
  if (family == nullptr) return violations.ToStatus();

  const size_t before = violations.all().size();
  HfFile file(object, *family, std::move(assumptions), violations);
  file.CheckKeys();
  CheckModelType(file);
  CheckActivation(file);
  ModelGraphSpec spec = ReadSpec(file);
  if (violations.all().size() != before) return violations.ToStatus();
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  if (!graph.has_value()) return violations.ToStatus();
  return ImportedConfig{*std::move(graph), file.ignored_keys(),
                        file.assumptions()};
}

}  // namespace mansard::model
