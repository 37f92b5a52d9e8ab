#include "clients/import/mapping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace mansard::importing {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

// "8k" is 8,000, "8K" 8,192; nothing where the text is no such number.
std::optional<int64_t> CountOf(const std::string& text) {
  constexpr std::pair<char, double> kUnits[] = {
      {'k', 1e3},    {'m', 1e6},          {'g', 1e9},
      {'K', 1024.0}, {'M', 1024. * 1024}, {'G', 1024. * 1024 * 1024}};
  std::string digits = text;
  double factor = 1;
  for (const auto& [unit, size] : kUnits) {
    if (!digits.empty() && digits.back() == unit) {
      digits.pop_back();
      factor = size;
      break;
    }
  }
  double value = 0;
  if (!absl::SimpleAtod(digits, &value)) return std::nullopt;
  value *= factor;
  if (!(std::abs(value) <= static_cast<double>(kMaxCount)) ||
      value != std::floor(value)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

}  // namespace

int32_t Clamped(int64_t count) {
  return static_cast<int32_t>(std::min(count, kMaxCount));
}

std::string Mapping::Typed(absl::string_view name) const {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr) return absl::StrCat("--", name);
  const bool on = flag->spec != nullptr &&
                  flag->spec->arity == Arity::kSwitch && flag->value == "true";
  return on ? flag->shown : absl::StrCat(flag->shown, " ", flag->value);
}

std::optional<std::string> Mapping::Word(absl::string_view name) const {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr) return std::nullopt;
  return flag->value;
}

std::optional<int64_t> Mapping::Count(absl::string_view name, int64_t least) {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr || flag->value == "null") return std::nullopt;
  const std::optional<int64_t> count = CountOf(flag->value);
  if (!count.has_value() || *count < least) {
    Error(absl::StrCat(flag->shown, " is \"", flag->value,
                       "\"; allowed: a whole number, ", least, " to ",
                       kMaxCount));
    return std::nullopt;
  }
  return count;
}

std::optional<double> Mapping::Ratio(absl::string_view name) {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr || flag->value == "null") return std::nullopt;
  double ratio = 0;
  if (!absl::SimpleAtod(flag->value, &ratio) || !(ratio > 0 && ratio <= 1)) {
    Error(absl::StrCat(flag->shown, " is \"", flag->value,
                       "\"; allowed: a number above 0, at most 1"));
    return std::nullopt;
  }
  return ratio;
}

std::optional<bool> Mapping::Switch(absl::string_view name) {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr) return std::nullopt;
  const std::string value = absl::AsciiStrToLower(flag->value);
  if (value != "true" && value != "false") {
    Error(absl::StrCat(flag->shown, " is \"", flag->value,
                       "\"; allowed: true, false"));
    return std::nullopt;
  }
  return value == "true";
}

std::optional<std::string> Mapping::OneOf(absl::string_view name,
                                          const Words& known) {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr) return std::nullopt;
  const auto found = known.find(absl::AsciiStrToLower(flag->value));
  if (found != known.end()) return found->second;
  if (flag->value == "null") return std::nullopt;
  std::vector<std::string> words;
  for (const auto& [word, meaning] : known) words.push_back(word);
  Error(absl::StrCat(flag->shown, " is \"", flag->value,
                     "\"; allowed: ", absl::StrJoin(words, ", ")));
  return std::nullopt;
}

void Mapping::Became(absl::string_view name, absl::string_view becomes,
                     absl::string_view field) {
  if (command_.Find(name) == nullptr) return;
  if (!field.empty()) import_.flag_of_field[std::string(field)] = Typed(name);
  Without(name, Fate::kEngine, becomes);
}

void Mapping::Without(absl::string_view name, Fate fate,
                      absl::string_view why) {
  const GivenFlag* const flag = command_.Find(name);
  if (flag == nullptr || !done_.insert(flag->name).second) return;
  const bool on = flag->spec != nullptr &&
                  flag->spec->arity == Arity::kSwitch && flag->value == "true";
  import_.rows.push_back(
      {fate, flag->shown, on ? "" : flag->value, std::string(why)});
}

void Mapping::Assumed(absl::string_view flag, absl::string_view value,
                      absl::string_view becomes) {
  import_.rows.push_back({Fate::kDefault, std::string(flag), std::string(value),
                          std::string(becomes)});
}

void Mapping::AddGivenRows() {
  for (const GivenFlag& flag : command_.flags) {
    if (flag.spec == nullptr) {
      Without(flag.name, Fate::kUnknown, "");
      continue;
    }
    // Of the engine's own all are named, or do not say anything new.
    const bool own = flag.spec->fate == Fate::kEngine;
    Without(flag.name, own ? Fate::kNoEffect : flag.spec->fate,
            own ? "as without it"
                : absl::StrReplaceAll(flag.spec->note, {{"{}", flag.value}}));
  }
  for (const std::string& variable : command_.environment) {
    const size_t equals = variable.find('=');
    import_.rows.push_back({Fate::kUnknown, variable.substr(0, equals),
                            variable.substr(equals + 1),
                            "environment variables are not read"});
  }
}

absl::StatusOr<EngineImport> Mapping::Finish() {
  if (!errors_.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  }
  done_.insert("model");
  done_.insert("config");
  AddGivenRows();
  std::stable_sort(
      import_.rows.begin(), import_.rows.end(),
      [](const FlagRow& a, const FlagRow& b) { return a.fate < b.fate; });
  return std::move(import_);
}

void Mapping::TakeKvFormat(absl::string_view name) {
  const std::optional<std::string> format =
      OneOf(name, {{"auto", ""},
                   {"bf16", "bf16"},
                   {"bfloat16", "bf16"},
                   {"float16", "fp16"},
                   {"fp8", "fp8"},
                   {"fp8_e4m3", "fp8"},
                   {"fp8_e5m2", "fp8-e5m2"},
                   {"fp8_ds_mla", "fp8"},
                   {"fp8_inc", "fp8"},
                   {"int8", "int8"},
                   {"mxfp8", "mxfp8"},
                   {"nvfp4", "nvfp4"},
                   {"fp4_mx_block16", "nvfp4"},
                   {"fp4_e2m1", "mxfp4"}});
  if (!format.has_value()) return;
  if (format->empty()) {
    return Without(name, Fate::kNoEffect, "the model's own format");
  }
  precision().set_kv_cache(*format);
  Became(name, absl::StrCat("--kv ", *format), "target.precision.kv_cache");
}

void Mapping::TakeQuantization(absl::string_view name) {
  const std::optional<std::string> scheme = Word(name);
  if (!scheme.has_value()) return;
  if (*scheme == "null" || absl::AsciiStrToLower(*scheme) == "none" ||
      model_.has_narrow_weights) {
    return Without(name, Fate::kNoEffect, "the model has its own formats");
  }
  struct Formats {
    const char* weights;
    const char* activations;
  };
  static const auto* const kSchemes = new std::map<std::string, Formats>{
      {"fp8", {"fp8", "fp8"}},
      {"fp8_per_tensor", {"fp8", "fp8"}},
      {"ptpc_fp8", {"fp8", "fp8"}},
      {"fbgemm_fp8", {"fp8", "fp8"}},
      {"w8a8_fp8", {"fp8", "fp8"}},
      {"modelopt_fp8", {"fp8", "fp8"}},
      {"fp8_per_block", {"fp8-block", "fp8-block"}},
      {"fp8_block_scales", {"fp8-block", "fp8-block"}},
      {"w8a8_int8", {"int8", "int8"}},
      {"awq", {"int4", ""}},
      {"awq_marlin", {"int4", ""}},
      {"w4a16_awq", {"int4", ""}},
      {"mxfp8", {"mxfp8", "mxfp8"}},
      {"modelopt_fp4", {"nvfp4", "nvfp4"}},
      {"petit_nvfp4", {"nvfp4", ""}},
      {"nvfp4", {"nvfp4", "nvfp4"}}};
  const auto found = kSchemes->find(absl::AsciiStrToLower(*scheme));
  if (found == kSchemes->end()) {
    return Without(name, Fate::kNotModeled,
                   "the checkpoint says the formats: give its model, or "
                   "--weights beside");
  }
  const Formats& formats = found->second;
  precision().set_weights(formats.weights);
  precision().set_activations(formats.activations);
  Became(name,
         absl::StrCat("--weights ", formats.weights,
                      *formats.activations == '\0' ? "" : " --activations ",
                      formats.activations),
         "target.precision.weights");
}

void Mapping::TakeDtype(absl::string_view name) {
  const std::string shorter = model_.has_fp32_weights ? "bf16" : "";
  const std::optional<std::string> known = OneOf(name, {{"auto", shorter},
                                                        {"half", shorter},
                                                        {"float16", shorter},
                                                        {"bfloat16", shorter},
                                                        {"float", "fp32"},
                                                        {"float32", "fp32"}});
  const bool given = command_.Find(name) != nullptr;
  const std::string format = known.value_or(given ? "" : shorter);
  if (format.empty()) {
    return Without(name, Fate::kNoEffect, "formats of 16 bits are alike");
  }
  for (std::string* part :
       {precision().mutable_weights(), precision().mutable_activations(),
        precision().mutable_kv_cache()}) {
    if (part->empty()) *part = format;
  }
  const std::string becomes =
      absl::StrCat("--weights ", format, " --activations ", format, " --kv ",
                   format, ", where not said");
  if (given) {
    Became(name, becomes, "target.precision.weights");
  } else {
    Assumed(absl::StrCat("--", name), "auto", becomes);
  }
}

void Mapping::TakeState(absl::string_view name) {
  const std::optional<std::string> format = OneOf(name, {{"auto", ""},
                                                         {"float32", "fp32"},
                                                         {"float16", "fp16"},
                                                         {"bfloat16", "bf16"}});
  if (!format.has_value() || format->empty()) return;
  precision().set_state(*format);
  Became(name, absl::StrCat("--state ", *format), "target.precision.state");
}

absl::StatusOr<EngineImport> ImportEngine(const LaunchCommand& command,
                                          const ModelFacts& model,
                                          const DeviceFacts& device) {
  Mapping mapping(command, model, device);
  switch (command.runtime) {
    case Runtime::kVllm:
      MapVllm(mapping);
      break;
    case Runtime::kSglang:
      MapSglang(mapping);
      break;
    case Runtime::kTrtllm:
      MapTrtllm(mapping);
      break;
  }
  return mapping.Finish();
}

}  // namespace mansard::importing
