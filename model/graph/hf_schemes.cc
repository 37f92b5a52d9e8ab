#include "model/graph/hf_schemes.h"

#include "absl/strings/str_cat.h"
#include "model/graph/hf_scheme_reader.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kSkips = "modules_to_not_convert";

// Zero points are stored whether they are used or not.
void ReadGroupedIntegers(SchemeReader& reader) {
  Violations unused;
  const int bits = static_cast<int>(
      reader.object().Integer("bits", 1, 16, unused).value_or(4));
  const auto format = reader.IntegerFormat(
      reader.object(), "bits", SchemeGroupSize(reader.object()), 16, bits);
  if (format.has_value()) reader.SetWeights(*format);
  reader.LeaveOut(kSkips);
  reader.Dynamic();
}

void ReadFp8(SchemeReader& reader) {
  const bool blocks = !reader.object().IsOff("weight_block_size");
  if (blocks) reader.CheckBlocks(reader.object(), "weight_block_size");
  reader.SetBoth(blocks ? Format::kFp8Block : Format::kFp8E4m3);
  reader.LeaveOut(kSkips);
  reader.LeaveOut("ignored_layers");
}

void ReadFbgemmFp8(SchemeReader& reader) {
  reader.SetBoth(Format::kFp8E4m3);
  reader.LeaveOut(kSkips);
}

// Blocks of 64 with an fp32 scale, or with an 8-bit one under double
// quantisation; its fp32 scale of 256 blocks is left out (0.05 %).
void ReadBitsAndBytes(SchemeReader& reader) {
  const JsonObject& object = reader.object();
  if (!object.IsOff("load_in_4bit")) {
    reader.SetWeights(object.IsOff("bnb_4bit_use_double_quant")
                          ? Format::kInt4Group32Symmetric
                          : Format::kInt4Symmetric);
  } else if (!object.IsOff("load_in_8bit")) {
    reader.SetBoth(Format::kInt8);
  } else {
    reader.Complain("load_in_4bit",
                    "is off, and so is load_in_8bit; one must be true");
  }
  reader.LeaveOut("llm_int8_skip_modules");
}

void ReadMxfp4(SchemeReader& reader) {
  reader.SetWeights(Format::kMxfp4);
  reader.LeaveOut(kSkips);
}

void ReadCompressedTensors(SchemeReader& reader) { reader.Groups(); }

void ReadModelOpt(SchemeReader& reader) { reader.ModelOpt(); }

struct Method {
  absl::string_view name;
  void (*read)(SchemeReader& reader);
};

constexpr Method kMethods[] = {
    {"awq", ReadGroupedIntegers},
    {"bitsandbytes", ReadBitsAndBytes},
    {"compressed-tensors", ReadCompressedTensors},
    {"fbgemm_fp8", ReadFbgemmFp8},
    {"fp8", ReadFp8},
    {"gptq", ReadGroupedIntegers},
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

}  // namespace

void ReadScheme(const JsonObject& object, SchemeOwner owner, HfScheme& scheme,
                Violations& violations) {
  SchemeReader reader(object, scheme, violations);
  const std::string name = SchemeText(object, "quant_method");
  if (owner == SchemeOwner::kMlx && name.empty()) return reader.Mlx();
  if (owner == SchemeOwner::kModelOpt) {
    reader.ModelOpt();
    return reader.KvCache();
  }
  for (const Method& method : kMethods) {
    if (method.name != name) continue;
    // ModelOpt's own object, kept whole.
    const auto inner = object.Object("quantization", violations);
    if (inner.has_value()) {
      return ReadScheme(*inner, SchemeOwner::kModelOpt, scheme, violations);
    }
    method.read(reader);
    return reader.KvCache();
  }
  reader.Complain("quant_method",
                  absl::StrCat("is ", object.Describe("quant_method"),
                               "; known: ", MethodNames()));
}

}  // namespace mansard::model
