#include "model/graph/hf_scheme_reader.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

double BitsAnElement(Format format) {
  const FormatTraits& traits = TraitsOf(format);
  if (traits.weight_scale_columns == 0) return traits.element_bits;
  return traits.element_bits +
         static_cast<double>(traits.scale_bits + traits.zero_point_bits) /
             (traits.weight_scale_rows * traits.weight_scale_columns);
}

}  // namespace

std::string SchemeText(const JsonObject& object, absl::string_view key) {
  Violations unused;  // Another type is as good as absent.
  return object.IsNull(key) ? "" : object.String(key, unused).value_or("");
}

std::optional<int64_t> SchemeGroupSize(const JsonObject& object) {
  Violations unused;
  if (object.IsNull("group_size")) return std::nullopt;
  return object.Integer("group_size", 1, 1 << 24, unused);
}

void SchemeReader::LeaveOut(absl::string_view key) {
  if (object_.IsNull(key)) return;
  const auto names = object_.Strings(key, violations_);
  if (!names.has_value()) return;
  for (size_t i = 0; i < names->size(); ++i) {
    if (scheme_.left_out.Add((*names)[i], scheme_.wide)) continue;
    ComplainOfExpression(absl::StrCat(key, "[", i, "]"), (*names)[i]);
  }
}

void SchemeReader::ComplainOfExpression(absl::string_view key,
                                        absl::string_view name) {
  Complain(key, absl::StrCat("is \"", Printable(name),
                             "\"; must be a regular expression after \"re:\" "
                             "that RE2 can read"));
}

std::optional<Format> SchemeReader::IntegerFormat(const JsonObject& object,
                                                  absl::string_view key,
                                                  std::optional<int64_t> group,
                                                  int scale_bits,
                                                  int offset_bits) {
  const std::optional<int64_t> bits = object.Integer(key, 1, 16, violations_);
  if (!bits.has_value()) return std::nullopt;
  if (*bits != 4 && *bits != 8) {
    violations_.Add(absl::StrCat(object.path(), key),
                    absl::StrCat("is ", *bits, "; allowed: 4, 8"));
    return std::nullopt;
  }
  const double exact =
      static_cast<double>(*bits) +
      (group.has_value() ? static_cast<double>(scale_bits + offset_bits) /
                               static_cast<double>(*group)
                         : 0);
  Format best = *bits == 4 ? Format::kInt4Symmetric : Format::kInt8;
  // The names with zero points first: ties go to what GPTQ and AWQ have.
  for (Format format :
       {Format::kInt4, Format::kInt4Group64, Format::kInt4Group32,
        Format::kInt4Symmetric, Format::kInt4Group64Symmetric,
        Format::kInt4Group32Symmetric, Format::kInt8, Format::kInt8Group128,
        Format::kInt8Group64}) {
    if (TraitsOf(format).element_bits != *bits) continue;
    if (std::abs(BitsAnElement(format) - exact) <
        std::abs(BitsAnElement(best) - exact)) {
      best = format;
    }
  }
  const double counted = BitsAnElement(best);
  if (std::abs(counted - exact) > 0.002 * exact) {
    scheme_.notes.push_back(absl::StrFormat(
        "%s%s: groups of %s take %.4g bits a weight; counted as %s, %.4g",
        object.path(), key,
        group.has_value() ? absl::StrCat(*group) : "whole rows", exact,
        std::string(TraitsOf(best).name), counted));
  }
  return best;
}

std::optional<Format> SchemeReader::TensorFormat(const JsonObject& args,
                                                 bool weights) {
  const std::optional<int64_t> bits =
      args.Integer("num_bits", 1, 16, violations_);
  if (!bits.has_value()) return std::nullopt;
  const std::string type = SchemeText(args, "type");
  const std::string strategy = SchemeText(args, "strategy");
  const std::optional<int64_t> group = SchemeGroupSize(args);
  if (type == "float" && *bits == 8) {
    if (strategy == "block" || !args.IsOff("block_structure")) {
      CheckBlocks(args, "block_structure");
      return Format::kFp8Block;
    }
    if (group == 32) return Format::kMxfp8;
    return Format::kFp8E4m3;
  }
  if (type == "float" && *bits == 4) {
    return group.has_value() && *group <= 16 ? Format::kNvfp4 : Format::kMxfp4;
  }
  if (type != "float" && (*bits == 8 || *bits == 4)) {
    if (!weights) return *bits == 8 ? Format::kInt8 : Format::kInt4;
    const bool symmetric = args.IsNull("symmetric") || !args.IsOff("symmetric");
    return IntegerFormat(args, "num_bits", group, 16,
                         symmetric ? 0 : static_cast<int>(*bits));
  }
  violations_.Add(absl::StrCat(args.path(), "num_bits"),
                  absl::StrCat("is ", *bits, " of type \"", Printable(type),
                               "\"; allowed: 8 and 4, float or int"));
  return std::nullopt;
}

void SchemeReader::CheckBlocks(const JsonObject& object,
                               absl::string_view key) {
  Violations unused;
  if (object.IsOff(key)) return;
  const auto sizes = object.Integers(key, 1, 1 << 24, unused);
  if (sizes.has_value() && *sizes == std::vector<int64_t>{128, 128}) return;
  scheme_.notes.push_back(absl::StrCat(object.path(), key, " is ",
                                       object.Describe(key),
                                       ": counted as blocks of 128 x 128"));
}

void SchemeReader::KvCache() {
  constexpr absl::string_view kAlgorithm = "kv_cache_quant_algo";
  const auto own = object_.Object("kv_cache_scheme", violations_);
  if (own.has_value()) {
    const auto format = TensorFormat(*own, false);
    if (format.has_value()) scheme_.kv_cache = *format;
    return;
  }
  const std::string name =
      absl::AsciiStrToUpper(SchemeText(object_, kAlgorithm));
  if (name == "FP8") {
    scheme_.kv_cache = Format::kFp8E4m3;
  } else if (name == "INT8") {
    scheme_.kv_cache = Format::kInt8;
  } else if (absl::StartsWith(name, "NVFP4")) {
    scheme_.kv_cache = Format::kNvfp4;
  } else if (!name.empty() && name != "NONE") {
    Complain(kAlgorithm, absl::StrCat("is ", object_.Describe(kAlgorithm),
                                      "; allowed: FP8, INT8, NVFP4, none"));
  }
}

}  // namespace mansard::model
