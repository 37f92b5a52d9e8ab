#include "model/graph/hf_quantization.h"

#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// One quantisation object while it is read.
struct Scheme {
  const JsonObject& object;
  Violations& violations;
  Precision precision;

  void Complain(absl::string_view key, absl::string_view description) {
    violations.Add(absl::StrCat(object.path(), key), description);
  }
  void SetBoth(Format format) {
    precision.weights = format;
    precision.activations = format;
  }
};

std::string Text(const JsonObject& object, absl::string_view key) {
  Violations unused;  // Another type is as good as absent.
  return object.IsNull(key) ? "" : object.String(key, unused).value_or("");
}

void ReadBits(Scheme& scheme, absl::string_view key) {
  const std::optional<int64_t> bits =
      scheme.object.Integer(key, 1, 16, scheme.violations);
  if (!bits.has_value()) return;
  if (*bits == 4) {
    scheme.precision.weights = Format::kInt4;
  } else if (*bits == 8) {
    scheme.precision.weights = Format::kInt8;
  } else {
    scheme.Complain(key, absl::StrCat("is ", *bits, "; allowed: 4, 8"));
  }
}

void ReadFp8(Scheme& scheme) {
  const bool blocks = !scheme.object.IsOff("weight_block_size");
  scheme.SetBoth(blocks ? Format::kFp8Block : Format::kFp8E4m3);
}

void ReadFbgemmFp8(Scheme& scheme) { scheme.SetBoth(Format::kFp8E4m3); }

void ReadIntegerWeights(Scheme& scheme) { ReadBits(scheme, "bits"); }

void ReadBitsAndBytes(Scheme& scheme) {
  if (!scheme.object.IsOff("load_in_4bit")) {
    scheme.precision.weights = Format::kInt4;
  } else if (!scheme.object.IsOff("load_in_8bit")) {
    scheme.SetBoth(Format::kInt8);
  } else {
    scheme.Complain("load_in_4bit",
                    "is off, and so is load_in_8bit; one must be true");
  }
}

void ReadMxfp4(Scheme& scheme) { scheme.precision.weights = Format::kMxfp4; }

// compressed-tensors: an 8-bit float, a 4-bit float or an integer.
std::optional<Format> TensorFormat(Scheme& scheme, const JsonObject& args) {
  const std::optional<int64_t> bits =
      args.Integer("num_bits", 1, 16, scheme.violations);
  if (!bits.has_value()) return std::nullopt;
  const std::string type = Text(args, "type");
  if (type == "float" && *bits == 8) {
    return Text(args, "strategy") == "block" || !args.IsOff("block_structure")
               ? Format::kFp8Block
               : Format::kFp8E4m3;
  }
  if (type == "float" && *bits == 4) {
    Violations unused;
    const bool small_groups =
        !args.IsNull("group_size") &&
        args.Integer("group_size", 1, 16, unused).has_value();
    return small_groups ? Format::kNvfp4 : Format::kMxfp4;
  }
  if (type != "float" && *bits == 8) return Format::kInt8;
  if (type != "float" && *bits == 4) return Format::kInt4;
  scheme.violations.Add(
      absl::StrCat(args.path(), "num_bits"),
      absl::StrCat("is ", *bits, " of type \"", Printable(type),
                   "\"; allowed: 8 and 4, float or int"));
  return std::nullopt;
}

// The first group's: the others may only differ in where they apply.
void ReadCompressedTensors(Scheme& scheme) {
  const std::optional<JsonObject> groups =
      scheme.object.Object("config_groups", scheme.violations);
  std::optional<JsonObject> group;
  if (groups.has_value()) {
    for (const std::string& key : groups->Keys()) {
      if (!group.has_value()) group = groups->Object(key, scheme.violations);
    }
  }
  std::optional<JsonObject> weights;
  if (group.has_value()) weights = group->Object("weights", scheme.violations);
  if (!weights.has_value()) {
    scheme.Complain("config_groups", "has no group with weights");
    return;
  }
  const auto format = TensorFormat(scheme, *weights);
  if (format.has_value()) scheme.precision.weights = *format;
  const std::optional<JsonObject> inputs =
      group->Object("input_activations", scheme.violations);
  if (!inputs.has_value()) return;
  const auto input_format = TensorFormat(scheme, *inputs);
  if (!input_format.has_value()) return;
  // Activations of a format whose weights come in blocks come in blocks too.
  const bool same_kind =
      format == Format::kFp8Block && *input_format == Format::kFp8E4m3;
  scheme.precision.activations = same_kind ? *format : *input_format;
}

void ReadModelOpt(Scheme& scheme) {
  const std::string algorithm =
      absl::AsciiStrToUpper(Text(scheme.object, "quant_algo"));
  if (algorithm == "FP8") {
    scheme.SetBoth(Format::kFp8E4m3);
  } else if (algorithm == "FP8_PB_WO") {
    scheme.SetBoth(Format::kFp8Block);
  } else if (algorithm == "NVFP4") {
    scheme.SetBoth(Format::kNvfp4);
  } else if (algorithm == "MXFP8") {
    scheme.SetBoth(Format::kMxfp8);
  } else if (algorithm == "W4A16_AWQ") {
    scheme.precision.weights = Format::kInt4;
  } else if (algorithm == "W4A8_AWQ") {
    scheme.precision = {Format::kInt4, Format::kFp8E4m3,
                        scheme.precision.kv_cache, scheme.precision.state};
  } else {
    scheme.Complain("quant_algo",
                    absl::StrCat("is ", scheme.object.Describe("quant_algo"),
                                 "; allowed: FP8, FP8_PB_WO, MXFP8, NVFP4, "
                                 "W4A16_AWQ, W4A8_AWQ"));
  }
}

struct Method {
  absl::string_view name;
  void (*read)(Scheme& scheme);
};

constexpr Method kMethods[] = {
    {"awq", ReadIntegerWeights},
    {"bitsandbytes", ReadBitsAndBytes},
    {"compressed-tensors", ReadCompressedTensors},
    {"fbgemm_fp8", ReadFbgemmFp8},
    {"fp8", ReadFp8},
    {"gptq", ReadIntegerWeights},
    {"modelopt", ReadModelOpt},
    {"mxfp4", ReadMxfp4},
};

std::string MethodNames() {
  std::string names;
  for (const Method& method : kMethods) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", method.name);
  }
  return names;
}

// `kv_cache_scheme` of 8-bit floats, or the name of ModelOpt's algorithm.
void ReadKvCache(Scheme& scheme) {
  const std::optional<JsonObject> kv_cache =
      scheme.object.Object("kv_cache_scheme", scheme.violations);
  if (kv_cache.has_value()) {
    const auto format = TensorFormat(scheme, *kv_cache);
    if (format.has_value()) scheme.precision.kv_cache = *format;
    return;
  }
  const std::string algorithm =
      absl::AsciiStrToUpper(Text(scheme.object, "kv_cache_quant_algo"));
  if (algorithm == "FP8") scheme.precision.kv_cache = Format::kFp8E4m3;
}

// By `quant_method`; a `quantization` without one is MLX's.
void ReadMethod(Scheme& scheme, bool mlx) {
  const std::string name = Text(scheme.object, "quant_method");
  if (mlx && name.empty()) {
    ReadBits(scheme, "bits");
    return;
  }
  for (const Method& method : kMethods) {
    if (method.name == name) {
      method.read(scheme);
      ReadKvCache(scheme);
      return;
    }
  }
  scheme.Complain("quant_method",
                  absl::StrCat("is ", scheme.object.Describe("quant_method"),
                               "; known: ", MethodNames()));
}

}  // namespace

Precision ReadQuantization(HfFile& file, Precision native) {
  Precision precision = native;
  for (absl::string_view key :
       {"quantization_config", "compression_config", "quantization"}) {
    if (file.IsOff(key)) {
      file.Ignore(key);
      continue;
    }
    const std::optional<JsonObject> object = file.OptionalObject(key);
    if (!object.has_value()) {
      file.Complain(
          key, absl::StrCat("is ", file.Describe(key), "; must be an object"));
      continue;
    }
    Scheme scheme = {*object, file.violations(), precision};
    ReadMethod(scheme, key == "quantization");
    precision = scheme.precision;
    file.Note(absl::StrCat(
        key, ": all weights of projections count as ",
        TraitsOf(precision.weights).name,
        "; those that the file leaves unquantised are not told apart"));
  }
  return precision;
}

}  // namespace mansard::model
