#include "model/graph/json_object.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/graph/json_flags.h"

namespace mansard::model {
namespace {

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

bool EqualScalars(const rapidjson::Value& a, const rapidjson::Value& b) {
  return !a.IsObject() && !a.IsArray() && a == b;
}

bool EqualValues(const rapidjson::Value& a, const rapidjson::Value& b) {
  if (!a.IsArray() || !b.IsArray()) return EqualScalars(a, b);
  return std::equal(a.Begin(), a.End(), b.Begin(), b.End(), EqualScalars);
}

}  // namespace

struct JsonObject::Impl {
  std::shared_ptr<const rapidjson::Document> document;
  const rapidjson::Value* object;  // Inside the document.
  std::string path;
  size_t max_keys;

  std::string Field(absl::string_view key) const {
    return absl::StrCat(path, key);
  }

  // Null when absent.
  const rapidjson::Value* Find(absl::string_view key) const {
    const rapidjson::Value* at = object;
    while (true) {
      if (const rapidjson::Value* value = Member(*at, key)) return value;
      const size_t dot = key.find('.');
      if (dot == absl::string_view::npos) return nullptr;
      at = Member(*at, key.substr(0, dot));
      if (at == nullptr || !at->IsObject()) return nullptr;
      key.remove_prefix(dot + 1);
    }
  }

  // As Find, with a violation when absent.
  const rapidjson::Value* Require(absl::string_view key,
                                  absl::string_view expected,
                                  Violations& violations) const {
    const rapidjson::Value* value = Find(key);
    if (value == nullptr) {
      violations.Add(Field(key),
                     absl::StrCat("is missing; must be ", expected));
    }
    return value;
  }

  // As Require, with a violation where the value is no list.
  const rapidjson::Value* RequireList(absl::string_view key,
                                      absl::string_view expected,
                                      Violations& violations) const {
    const rapidjson::Value* value = Require(key, expected, violations);
    if (value == nullptr || value->IsArray()) return value;
    Refuse(Field(key), *value, expected, violations);
    return nullptr;
  }

  static void Refuse(absl::string_view field, const rapidjson::Value& value,
                     absl::string_view expected, Violations& violations) {
    violations.Add(field, absl::StrCat("is ", DescribeValue(value),
                                       "; must be ", expected));
  }

  // Null when absent.
  static const rapidjson::Value* Member(const rapidjson::Value& object,
                                        absl::string_view key) {
    const rapidjson::Value name(rapidjson::StringRef(
        key.data(), static_cast<rapidjson::SizeType>(key.size())));
    const auto member = object.FindMember(name);
    return member == object.MemberEnd() ? nullptr : &member->value;
  }
};

JsonObject::JsonObject(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

absl::StatusOr<JsonObject> JsonObject::Parse(absl::string_view text,
                                             absl::string_view name,
                                             const JsonLimits& limits,
                                             absl::string_view path) {
  if (absl::Status status = CheckJsonText(text, name, limits); !status.ok()) {
    return status;
  }
  auto document = std::make_shared<rapidjson::Document>();
  document->Parse<kJsonParseFlags>(text.data(), text.size());
  if (!document->IsObject()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is ", DescribeValue(*document), "; it must be an object"));
  }
  if (document->MemberCount() > limits.max_keys) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", document->MemberCount(),
                     " keys; allowed: up to ", limits.max_keys));
  }
  const rapidjson::Value* object = document.get();
  return JsonObject(std::make_unique<Impl>(
      Impl{std::move(document), object, std::string(path), limits.max_keys}));
}

std::optional<JsonObject> JsonObject::Object(absl::string_view key,
                                             Violations& violations) const {
  const rapidjson::Value* value = impl_->Find(key);
  if (value == nullptr || !value->IsObject()) return std::nullopt;
  if (value->MemberCount() > impl_->max_keys) {
    violations.Add(impl_->Field(key),
                   absl::StrCat("has ", value->MemberCount(),
                                " keys; allowed: up to ", impl_->max_keys));
    return std::nullopt;
  }
  return JsonObject(std::make_unique<Impl>(
      Impl{impl_->document, value, absl::StrCat(impl_->Field(key), "."),
           impl_->max_keys}));
}

const std::string& JsonObject::path() const { return impl_->path; }

std::vector<std::string> JsonObject::Keys() const {
  std::vector<std::string> keys;
  for (const auto& member : impl_->object->GetObject()) {
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

bool JsonObject::IsObject(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  return value != nullptr && value->IsObject();
}

bool JsonObject::IsList(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  return value != nullptr && value->IsArray();
}

bool JsonObject::IsString(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  return value != nullptr && value->IsString();
}

std::string JsonObject::Describe(absl::string_view key) const {
  const rapidjson::Value* value = impl_->Find(key);
  return value == nullptr ? "absent" : DescribeValue(*value);
}

bool JsonObject::Equals(absl::string_view key, const JsonObject& other,
                        absl::string_view other_key) const {
  const rapidjson::Value* value = impl_->Find(key);
  const rapidjson::Value* other_value = other.impl_->Find(other_key);
  return value != nullptr && other_value != nullptr &&
         EqualValues(*value, *other_value);
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
  Impl::Refuse(impl_->Field(key), *value,
               absl::StrCat("an integer, ", minimum, " to ", maximum),
               violations);
  return std::nullopt;
}

std::optional<double> JsonObject::Number(absl::string_view key, double minimum,
                                         double maximum,
                                         Violations& violations) const {
  const rapidjson::Value* value = impl_->Require(key, "a number", violations);
  if (value == nullptr) return std::nullopt;
  if (value->IsNumber() && value->GetDouble() >= minimum &&
      value->GetDouble() <= maximum) {
    return value->GetDouble();
  }
  Impl::Refuse(impl_->Field(key), *value,
               absl::StrCat("a number, ", minimum, " to ", maximum),
               violations);
  return std::nullopt;
}

std::optional<bool> JsonObject::Boolean(absl::string_view key,
                                        Violations& violations) const {
  const rapidjson::Value* value =
      impl_->Require(key, "true or false", violations);
  if (value == nullptr) return std::nullopt;
  if (value->IsBool()) return value->GetBool();
  Impl::Refuse(impl_->Field(key), *value, "true or false", violations);
  return std::nullopt;
}

std::optional<std::string> JsonObject::String(absl::string_view key,
                                              Violations& violations) const {
  const rapidjson::Value* value = impl_->Require(key, "a string", violations);
  if (value == nullptr) return std::nullopt;
  if (value->IsString()) return std::string(Text(*value));
  Impl::Refuse(impl_->Field(key), *value, "a string", violations);
  return std::nullopt;
}

std::optional<std::vector<std::string>> JsonObject::Strings(
    absl::string_view key, Violations& violations) const {
  const rapidjson::Value* value =
      impl_->RequireList(key, "a list of strings", violations);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> strings;
  for (const rapidjson::Value& element : value->GetArray()) {
    if (!element.IsString()) {
      Impl::Refuse(Indexed(impl_->Field(key), strings.size()), element,
                   "a string", violations);
      return std::nullopt;
    }
    strings.emplace_back(Text(element));
  }
  return strings;
}

std::optional<std::vector<int64_t>> JsonObject::Integers(
    absl::string_view key, int64_t minimum, int64_t maximum,
    Violations& violations) const {
  const rapidjson::Value* value =
      impl_->RequireList(key, "a list of integers", violations);
  if (value == nullptr) return std::nullopt;
  std::vector<int64_t> integers;
  for (const rapidjson::Value& element : value->GetArray()) {
    if (!element.IsInt64() || element.GetInt64() < minimum ||
        element.GetInt64() > maximum) {
      Impl::Refuse(Indexed(impl_->Field(key), integers.size()), element,
                   absl::StrCat("an integer, ", minimum, " to ", maximum),
                   violations);
      return std::nullopt;
    }
    integers.push_back(element.GetInt64());
  }
  return integers;
}

std::optional<std::vector<JsonObject>> JsonObject::Objects(
    absl::string_view key, Violations& violations) const {
  const rapidjson::Value* value =
      impl_->RequireList(key, "a list of objects", violations);
  if (value == nullptr) return std::nullopt;
  std::vector<JsonObject> objects;
  for (const rapidjson::Value& element : value->GetArray()) {
    const std::string field = Indexed(impl_->Field(key), objects.size());
    if (!element.IsObject() || element.MemberCount() > impl_->max_keys) {
      Impl::Refuse(
          field, element,
          absl::StrCat("an object of up to ", impl_->max_keys, " keys"),
          violations);
      return std::nullopt;
    }
    objects.push_back(JsonObject(std::make_unique<Impl>(
        Impl{impl_->document, &element, absl::StrCat(field, "."),
             impl_->max_keys})));
  }
  return objects;
}

std::optional<std::vector<std::pair<std::string, JsonObject>>>
JsonObject::ObjectsByKey(absl::string_view key, size_t max_keys,
                         Violations& violations) const {
  const rapidjson::Value* value = impl_->Find(key);
  if (value == nullptr || !value->IsObject()) return std::nullopt;
  if (value->MemberCount() > max_keys) {
    violations.Add(impl_->Field(key),
                   absl::StrCat("has ", value->MemberCount(),
                                " keys; allowed: up to ", max_keys));
    return std::nullopt;
  }
  std::vector<std::pair<std::string, JsonObject>> entries;
  for (const auto& member : value->GetObject()) {
    if (!member.value.IsObject()) continue;
    std::string name(Text(member.name));
    std::string path = absl::StrCat(impl_->Field(key), ".", name, ".");
    entries.emplace_back(std::move(name),
                         JsonObject(std::make_unique<Impl>(
                             Impl{impl_->document, &member.value,
                                  std::move(path), impl_->max_keys})));
  }
  return entries;
}

}  // namespace mansard::model
