#include "model/graph/json_object.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// Iterative, so that nesting costs heap and never stack.
constexpr unsigned kParseFlags = rapidjson::kParseNanAndInfFlag |
                                 rapidjson::kParseIterativeFlag |
                                 rapidjson::kParseValidateEncodingFlag;

// Stops at the first bracket beyond the allowed depth.
class DepthGuard
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, DepthGuard> {
 public:
  explicit DepthGuard(int max_depth) : max_depth_(max_depth) {}
  bool StartObject() { return ++depth_ <= max_depth_; }
  bool StartArray() { return ++depth_ <= max_depth_; }
  bool EndObject(rapidjson::SizeType) { return --depth_ >= 0; }
  bool EndArray(rapidjson::SizeType) { return --depth_ >= 0; }

 private:
  int max_depth_;
  int depth_ = 0;
};

absl::Status SyntaxError(absl::string_view text, absl::string_view name,
                         rapidjson::ParseErrorCode code, size_t offset,
                         int max_depth) {
  const bool foreign_byte =
      offset < text.size() && static_cast<unsigned char>(text[offset]) >= 0x80;
  if (code == rapidjson::kParseErrorTermination) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is nested deeper than ", max_depth,
                     " levels at byte ", offset));
  }
  if (code == rapidjson::kParseErrorStringInvalidEncoding || foreign_byte) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not UTF-8 text at byte ", offset));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is not JSON at byte ", offset, ": ",
                   rapidjson::GetParseError_En(code)));
}

absl::Status CheckText(absl::string_view text, absl::string_view name,
                       const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has ", text.size(),
                                                   " bytes; allowed: up to ",
                                                   limits.max_bytes));
  }
  // RapidJSON takes a NUL for the end and would ignore what follows.
  if (const size_t nul = text.find('\0'); nul != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has a NUL at byte ", nul, "; it must be UTF-8 text"));
  }
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream>
      input(stream);
  DepthGuard guard(limits.max_depth);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kParseFlags>(input, guard);
  if (!result) {
    return SyntaxError(text, name, result.Code(), result.Offset(),
                       limits.max_depth);
  }
  return absl::OkStatus();
}

absl::string_view Text(const rapidjson::Value& string) {
  return absl::string_view(string.GetString(), string.GetStringLength());
}

std::string DescribeValue(const rapidjson::Value& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return "null";
    case rapidjson::kFalseType:
      return "false";
    case rapidjson::kTrueType:
      return "true";
    case rapidjson::kObjectType:
      return "an object";
    case rapidjson::kArrayType:
      return "a list";
    case rapidjson::kStringType:
      return absl::StrCat("\"", Printable(Text(value)), "\"");
    case rapidjson::kNumberType:
      if (value.IsInt64()) return absl::StrCat(value.GetInt64());
      return absl::StrCat(value.GetDouble());
  }
  return "";
}

}  // namespace

struct JsonObject::Impl {
  rapidjson::Document document;  // An object.

  // Null when absent.
  const rapidjson::Value* Find(absl::string_view key) const {
    const rapidjson::Value name(rapidjson::StringRef(
        key.data(), static_cast<rapidjson::SizeType>(key.size())));
    const auto member = document.FindMember(name);
    return member == document.MemberEnd() ? nullptr : &member->value;
  }

  // The value, or null with a violation when it is not there or null.
  const rapidjson::Value* Require(absl::string_view key,
                                  absl::string_view expected,
                                  Violations& violations) const {
    const rapidjson::Value* value = Find(key);
    if (value == nullptr) {
      violations.Add(key, absl::StrCat("is missing; must be ", expected));
    }
    return value;
  }
};

JsonObject::JsonObject(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

absl::StatusOr<JsonObject> JsonObject::Parse(absl::string_view text,
                                             absl::string_view name,
                                             const JsonLimits& limits) {
  if (absl::Status status = CheckText(text, name, limits); !status.ok()) {
    return status;
  }
  auto impl = std::make_unique<Impl>();
  impl->document.Parse<kParseFlags>(text.data(), text.size());
  if (!impl->document.IsObject()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is ", DescribeValue(impl->document), "; it must be an object"));
  }
  if (impl->document.MemberCount() > limits.max_keys) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", impl->document.MemberCount(),
                     " keys; allowed: up to ", limits.max_keys));
  }
  return JsonObject(std::move(impl));
}

std::vector<std::string> JsonObject::Keys() const {
  std::vector<std::string> keys;
  for (const auto& member : impl_->document.GetObject()) {
    keys.emplace_back(Text(member.name));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool JsonObject::Has(absl::string_view key) const {
  return impl_->Find(key) != nullptr;
}

bool JsonObject::IsNull(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  return value == nullptr || value->IsNull();
}

bool JsonObject::IsOff(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  if (value == nullptr) return true;
  switch (value->GetType()) {
    case rapidjson::kNullType:
    case rapidjson::kFalseType:
      return true;
    case rapidjson::kTrueType:
      return false;
    case rapidjson::kObjectType:
      return value->ObjectEmpty();
    case rapidjson::kArrayType:
      return value->Empty();
    case rapidjson::kStringType:
      return value->GetStringLength() == 0;
    case rapidjson::kNumberType:
      return value->GetDouble() == 0;
  }
  return false;
}

std::string JsonObject::Describe(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  return value == nullptr ? "absent" : DescribeValue(*value);
}

std::optional<int64_t> JsonObject::Integer(absl::string_view key,
                                           int64_t minimum, int64_t maximum,
                                           Violations& violations) const {
  const rapidjson::Value* value = impl_->Require(key, "an integer", violations);
  if (value == nullptr) return std::nullopt;
  if (value->IsInt64() && value->GetInt64() >= minimum &&
      value->GetInt64() <= maximum) {
    return value->GetInt64();
  }
  violations.Add(
      key, absl::StrCat("is ", DescribeValue(*value), "; must be an integer, ",
                        minimum, " to ", maximum));
  return std::nullopt;
}

std::optional<bool> JsonObject::Boolean(absl::string_view key,
                                        Violations& violations) const {
  const rapidjson::Value* value =
      impl_->Require(key, "true or false", violations);
  if (value == nullptr) return std::nullopt;
  if (value->IsBool()) return value->GetBool();
  violations.Add(key, absl::StrCat("is ", DescribeValue(*value),
                                   "; must be true or false"));
  return std::nullopt;
}

std::optional<std::string> JsonObject::String(absl::string_view key,
                                              Violations& violations) const {
  const rapidjson::Value* value = impl_->Require(key, "a string", violations);
  if (value == nullptr) return std::nullopt;
  if (value->IsString()) return std::string(Text(*value));
  violations.Add(
      key, absl::StrCat("is ", DescribeValue(*value), "; must be a string"));
  return std::nullopt;
}

std::optional<std::vector<std::string>> JsonObject::Strings(
    absl::string_view key, Violations& violations) const {
  const rapidjson::Value* value =
      impl_->Require(key, "a list of strings", violations);
  if (value == nullptr) return std::nullopt;
  if (!value->IsArray()) {
    violations.Add(key, absl::StrCat("is ", DescribeValue(*value),
                                     "; must be a list of strings"));
    return std::nullopt;
  }
  std::vector<std::string> strings;
  for (const rapidjson::Value& element : value->GetArray()) {
    if (!element.IsString()) {
      violations.Add(
          Indexed(key, strings.size()),
          absl::StrCat("is ", DescribeValue(element), "; must be a string"));
      return std::nullopt;
    }
    strings.emplace_back(Text(element));
  }
  return strings;
}

std::optional<std::string> JsonObject::InnerString(
    absl::string_view key, absl::string_view inner) const {
  const rapidjson::Value* value = impl_->Find(key);
  if (value == nullptr || !value->IsObject()) return std::nullopt;
  const std::string name(inner);
  const auto member = value->FindMember(name.c_str());
  if (member == value->MemberEnd() || !member->value.IsString()) {
    return std::nullopt;
  }
  return std::string(Text(member->value));
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::Utf8SafeCEscape(text);
  size_t end = max_bytes;
  // Continuation bytes are 10xxxxxx.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return absl::StrCat(absl::Utf8SafeCEscape(text.substr(0, end)), "...");
}

}  // namespace mansard::model
