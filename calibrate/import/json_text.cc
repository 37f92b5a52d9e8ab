#include "calibrate/import/json_text.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/error/en.h"

namespace mansard::calibrate {

absl::StatusOr<rapidjson::Document> ParseToolJson(absl::string_view text) {
  // The mark is no part of the JSON.
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  rapidjson::Document document;
  document
      .Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(
          text.data(), text.size());
  if (!document.HasParseError()) return document;
  const bool cut_off = document.GetErrorOffset() + 1 >= text.size();
  return absl::InvalidArgumentError(
      absl::StrCat("is no whole JSON: offset ", document.GetErrorOffset(), ": ",
                   rapidjson::GetParseError_En(document.GetParseError()),
                   cut_off ? " The file is cut off." : ""));
}

const rapidjson::Value* Member(const rapidjson::Value& value,
                               const char* name) {
  if (!value.IsObject()) return nullptr;
  const auto found = value.FindMember(name);
  return found == value.MemberEnd() ? nullptr : &found->value;
}

absl::string_view TextOf(const rapidjson::Value* value) {
  if (value == nullptr || !value->IsString()) return "";
  return {value->GetString(), value->GetStringLength()};
}

std::optional<double> NumberOf(const rapidjson::Value* value) {
  double number = 0;
  if (value != nullptr && value->IsNumber()) {
    number = value->GetDouble();
  } else if (!absl::SimpleAtod(TextOf(value), &number)) {
    return std::nullopt;
  }
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace mansard::calibrate
