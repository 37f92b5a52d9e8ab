#include "model/graph/hf_config.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"
#include "model/graph/hf_decoder.h"
#include "model/graph/hf_families.h"
#include "model/graph/hf_file.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_names.h"
#include "model/graph/hf_quantization.h"
#include "model/graph/json_object.h"
#include "model/graph/weight_bytes.h"

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

Format ReadType(HfFile& file) {
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
  return format.value_or(Format::kBf16);
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

// `side`: hf_quant_config.json, or null.
ModelGraphSpec ReadSpec(HfFile& file, const JsonObject* side) {
  const HfFamily& family = file.family();
  const size_t before = file.violations().all().size();
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
  const Format native = ReadType(file);
  HfQuantization quantization =
      HfQuantization::Read(file, side, {native, native, native, native});
  spec.native_precision = quantization.precision();
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
  if (file.violations().all().size() == before) quantization.Apply(file, spec);
  return spec;
}

std::string Gigabytes(Bytes bytes) {
  return absl::StrFormat("%.2f GB", ToGigabytes(bytes));
}

// What an index says that all tensors take; nothing, with a violation, where it
// does not.
std::optional<int64_t> ReadTotalSize(const JsonObject& index,
                                     Violations& violations) {
  constexpr int64_t kMostBytes = 1'000'000'000'000'000;
  return index.Integer("metadata.total_size", 1, kMostBytes, violations);
}

// Weights of the file that the graph does not have. Modules for drafting are in
// a checkpoint or left out of it.
ModelGraph WithOtherWeights(ModelGraph graph, int64_t total,
                            std::vector<std::string>& notes) {
  constexpr absl::string_view kSource =
      "model.safetensors.index.json, metadata.total_size";
  constexpr double kTolerance = 0.01;
  const Bytes all = Bytes::Of(static_cast<double>(total));
  Bytes counted = StoredWeightBytes(graph);
  const Bytes drafts = StoredDraftBytes(graph);
  if (drafts > Bytes::Zero() && all >= (1 - kTolerance) * (counted + drafts)) {
    counted += drafts;
  }
  if (all < (1 - kTolerance) * counted) {
    notes.push_back(absl::StrCat(
        kSource, " is ", Gigabytes(all), ", the graph's weights take ",
        Gigabytes(counted), ": more than 1 % apart, the graph's hold"));
  }
  if (all <= (1 + kTolerance) * counted) return graph;
  notes.push_back(absl::StrCat(
      kSource, " is ", Gigabytes(all), ", the decoder's weights take ",
      Gigabytes(counted), ": the rest is held as other weights"));
  ModelGraphSpec spec = graph.spec();
  spec.other_weight_bytes = static_cast<int64_t>((all - counted).value());
  spec.other_weight_source =
      absl::StrCat(kSource, ", less the decoder's weights");
  Violations none;  // The rules hold: the total is below their bound.
  return *ModelGraph::Create(std::move(spec), none);
}

absl::StatusOr<std::optional<JsonObject>> ParseSideFile(absl::string_view text,
                                                        absl::string_view name,
                                                        size_t max_bytes) {
  if (text.empty()) return std::nullopt;
  const JsonLimits limits = {max_bytes, 64, 500};
  ASSIGN_OR_RETURN(
      JsonObject object,
      JsonObject::Parse(text, name, limits, absl::StrCat(name, ":")));
  return std::optional<JsonObject>(std::move(object));
}

}  // namespace

std::vector<std::string> SupportedArchitectures() { return AllArchitectures(); }

absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       Violations& violations) {
  return ImportHuggingFaceConfig(json, HfSideFiles(), violations);
}

absl::StatusOr<ImportedConfig> ImportHuggingFaceConfig(absl::string_view json,
                                                       const HfSideFiles& side,
                                                       Violations& violations) {
  ASSIGN_OR_RETURN(const std::optional<JsonObject> quantization,
                   ParseSideFile(side.quantization, "hf_quant_config.json",
                                 kMaxQuantizationBytes));
  ASSIGN_OR_RETURN(
      const std::optional<JsonObject> index,
      ParseSideFile(side.safetensors_index, "model.safetensors.index.json",
                    kMaxIndexBytes));
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
  ModelGraphSpec spec =
      ReadSpec(file, quantization.has_value() ? &*quantization : nullptr);
  std::optional<int64_t> total_size;
  if (index.has_value()) total_size = ReadTotalSize(*index, violations);
  file.CheckKeys();
  if (violations.all().size() != before) return violations.ToStatus();
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  if (!graph.has_value()) return violations.ToStatus();
  std::vector<std::string> assumptions = file.assumptions();
  if (total_size.has_value()) {
    graph = WithOtherWeights(*std::move(graph), *total_size, assumptions);
  }
  return ImportedConfig{*std::move(graph), file.ignored_keys(),
                        std::move(assumptions)};
}

}  // namespace mansard::model
