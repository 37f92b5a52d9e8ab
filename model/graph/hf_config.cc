#include "model/graph/hf_config.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"
#include "model/graph/hf_decoder.h"
#include "model/graph/hf_families.h"
#include "model/graph/hf_file.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_names.h"
#include "model/graph/hf_quantization.h"
#include "model/graph/json_object.h"

namespace mansard::model {
namespace {

// Published files have up to 70 keys and seven levels.
constexpr JsonLimits kLimits = {kMaxConfigBytes, 64, 500};

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
    const std::optional<std::string> name = file.OptionalString(key);
    if (!name.has_value()) continue;
    const std::optional<Format> parsed = ParseTorchType(*name);
    if (!parsed.has_value()) {
      file.Complain(key,
                    absl::StrCat("is \"", Printable(*name),
                                 "\"; allowed: bfloat16, float16, float32"));
    } else if (format.has_value() && *format != *parsed) {
      file.Complain(key,
                    absl::StrCat("is \"", Printable(*name), "\", but dtype is ",
                                 file.Describe("dtype")));
    } else {
      format = parsed;
    }
  }
  if (file.IsNull("dtype") && file.IsNull("torch_dtype")) {
    file.Note("dtype is absent: bf16");
  }
  const Format native = format.value_or(Format::kBf16);
  return ReadQuantization(file, {native, native, native, native});
}

// Which function a gate or an ungated layer has costs alike.
void CheckActivation(HfFile& file) {
  constexpr absl::string_view kKeys[] = {"hidden_activation", "hidden_act",
                                         "activation_function", "activation",
                                         "mlp_hidden_act"};
  const absl::string_view key = file.FirstOf(kKeys);
  const bool gated = file.family().gated;
  if (file.IsNull(key)) {
    file.NoteDefault("hidden_act", gated ? "gated SiLU" : "ungated");
    return;
  }
  const std::optional<std::string> activation = file.OptionalString(key);
  if (gated && activation.has_value() && *activation != "silu" &&
      *activation != "swish") {
    file.Note(absl::StrCat(key, " is \"", Printable(*activation),
                           "\": counted as gated SiLU"));
  }
}

std::string ReadDisplayName(HfFile& file) {
  const std::string name = file.OutermostString("_name_or_path");
  return name.empty() ? file.architecture() : Printable(name, kMaxHfNameBytes);
}

int64_t ReadMaxContext(HfFile& file) {
  const absl::string_view key = file.FirstOf(kContextKeys);
  if (file.Has(key)) return file.Required(key, kMaxHfTokens);
  const int64_t max_context = file.family().max_context;
  if (max_context == 0) return file.Required(key, kMaxHfTokens);
  file.NoteDefault(key, absl::StrCat(max_context));
  return max_context;
}

int64_t ReadSize(HfFile& file, absl::string_view names, int64_t absent,
                 int64_t maximum) {
  return file.nested() && absent > 0 ? file.IntegerOr(names, absent, maximum)
                                     : file.Required(names, maximum);
}

ModelGraphSpec ReadSpec(HfFile& file) {
  const HfFamily& family = file.family();
  ModelGraphSpec spec;
  spec.display_name = ReadDisplayName(file);
  spec.source = absl::StrCat("config.json of ", file.architecture());
  spec.hidden_size =
      ReadSize(file, kHiddenSizeKey, family.sizes.hidden, kMaxHfSize);
  spec.vocabulary_size =
      ReadSize(file, kVocabularyKey, family.sizes.vocabulary, kMaxHfVocabulary);
  spec.max_context = ReadMaxContext(file);
  spec.tied_embeddings =
      file.BooleanOr("tie_word_embeddings|tie_embeddings", family.tied);
  spec.native_precision = ReadPrecision(file);
  spec.norm_bias = family.norm_bias;
  spec.embedding_norm = family.embedding_norm;
  spec.head_bias = file.Is(family.head_bias);
  if (family.position_offset >= 0) {
    spec.position_rows = spec.max_context + family.position_offset;
  }
  if (family.layers != nullptr) {
    family.layers(file, spec);
  } else {
    ReadLayers(file, spec);
  }
  return spec;
}

}  // namespace

std::vector<std::string> SupportedArchitectures() { return AllArchitectures(); }

absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       Violations& violations) {
  ASSIGN_OR_RETURN(JsonObject object,
                   JsonObject::Parse(json, "config.json", kLimits));
  ASSIGN_OR_RETURN(std::optional<HfDecoder> decoder,
                   FindDecoder(std::move(object), violations));
  if (!decoder.has_value()) return violations.ToStatus();

  const size_t before = violations.all().size();
  HfFile file(std::move(decoder->object), std::move(decoder->around),
              *decoder->family, decoder->architecture,
              std::move(decoder->assumptions), violations);
  file.Settle("architectures|model_type");
  CheckActivation(file);
  ModelGraphSpec spec = ReadSpec(file);
  file.CheckKeys();
  if (violations.all().size() != before) return violations.ToStatus();
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  if (!graph.has_value()) return violations.ToStatus();
  return ImportedConfig{*std::move(graph), file.ignored_keys(),
                        file.assumptions()};
}

}  // namespace mansard::model
