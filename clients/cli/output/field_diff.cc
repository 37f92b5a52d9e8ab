#include "clients/cli/output/field_diff.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/output/proto_text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/text_format.h"

namespace mansard::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class Fields {
 public:
  explicit Fields(const Message& message) { Flatten(message, ""); }

  const std::vector<std::string>& order() const { return order_; }
  std::string Value(const std::string& field) const {
    const auto found = values_.find(field);
    return found == values_.end() ? "" : found->second;
  }

 private:
  void Add(const std::string& field, std::string value) {
    if (values_.emplace(field, std::move(value)).second) {
      order_.push_back(field);
    }
  }
  void Flatten(const Message& message, const std::string& prefix);
  void AddField(const Message& message, const FieldDescriptor* field, int index,
                const std::string& path);

  std::vector<std::string> order_;
  std::map<std::string, std::string> values_;
};

// The short strings of an entry of a list that say which it is.
std::string NameOf(const Message& entry) {
  static const auto* const kNames = new std::set<std::string>{
      "kind", "fabric",  "stack", "family",    "parameter", "level",
      "tier", "op_kind", "unit",  "precision", "case",      "linear_class"};
  std::string name;
  std::vector<const FieldDescriptor*> present;
  entry.GetReflection()->ListFields(entry, &present);
  for (const FieldDescriptor* field : present) {
    if (field->is_repeated() ||
        field->cpp_type() != FieldDescriptor::CPPTYPE_STRING ||
        kNames->count(field->name()) == 0) {
      continue;
    }
    absl::StrAppend(&name, name.empty() ? "" : " ",
                    entry.GetReflection()->GetString(entry, field));
  }
  return name;
}

void Fields::AddField(const Message& message, const FieldDescriptor* field,
                      int index, const std::string& path) {
  const auto* const reflection = message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Flatten(index < 0 ? reflection->GetMessage(message, field)
                      : reflection->GetRepeatedMessage(message, field, index),
            absl::StrCat(path, "."));
    return;
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, index,
                                                        &text);
  Add(path, std::move(text));
}

void Fields::Flatten(const Message& message, const std::string& prefix) {
  const auto* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection->ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (!field->is_repeated()) {
      AddField(message, field, -1, path);
      continue;
    }
    std::set<std::string> names;
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      std::string name;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        name = NameOf(reflection->GetRepeatedMessage(message, field, i));
      }
      if (name.empty() || !names.insert(name).second) name = absl::StrCat(i);
      AddField(message, field, i, absl::StrCat(path, "[", name, "]"));
    }
  }
}

}  // namespace

std::vector<FieldDifference> FieldDifferences(const Message& a,
                                              const Message& b) {
  const Fields left(a);
  const Fields right(b);
  std::vector<FieldDifference> differences;
  const auto compare = [&](const std::string& field) {
    FieldDifference one{field, left.Value(field), right.Value(field)};
    if (one.a != one.b) differences.push_back(std::move(one));
  };
  for (const std::string& field : left.order()) compare(field);
  for (const std::string& field : right.order()) {
    if (left.Value(field).empty()) compare(field);
  }
  return differences;
}

std::string UnifiedText(const std::string& a, const std::string& b,
                        const std::vector<FieldDifference>& differences) {
  if (differences.empty()) return "No differences.\n";
  std::string out = absl::StrCat("--- ", a, "\n+++ ", b, "\n");
  for (const FieldDifference& one : differences) {
    if (!one.a.empty())
      absl::StrAppend(&out, "- ", one.field, ": ", one.a, "\n");
    if (!one.b.empty())
      absl::StrAppend(&out, "+ ", one.field, ": ", one.b, "\n");
  }
  return out;
}

Report DifferenceReport(const std::vector<FieldDifference>& differences) {
  Report report{{{"field", Unit::kNone, Align::kLeft},
                 {"A", Unit::kNone, Align::kLeft},
                 {"B", Unit::kNone, Align::kLeft}},
                {}};
  const auto cell = [](const std::string& value) {
    return value.empty() ? Cell() : Text(value);
  };
  for (const FieldDifference& one : differences) {
    report.rows.push_back({Text(one.field), cell(one.a), cell(one.b)});
  }
  return report;
}

absl::StatusOr<std::string> DifferenceJson(
    const std::string& a, const std::string& b,
    const std::vector<FieldDifference>& differences) {
  google::protobuf::Struct all;
  (*all.mutable_fields())["a"].set_string_value(a);
  (*all.mutable_fields())["b"].set_string_value(b);
  google::protobuf::ListValue& list =
      *(*all.mutable_fields())["differences"].mutable_list_value();
  for (const FieldDifference& one : differences) {
    auto& fields = *list.add_values()->mutable_struct_value()->mutable_fields();
    fields["field"].set_string_value(one.field);
    if (!one.a.empty()) fields["a"].set_string_value(one.a);
    if (!one.b.empty()) fields["b"].set_string_value(one.b);
  }
  return JsonText(all);
}

}  // namespace mansard::cli
