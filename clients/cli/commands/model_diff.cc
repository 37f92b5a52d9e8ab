// `mansard model diff`.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/input.h"
#include "clients/cli/output/field_diff.h"
#include "clients/cli/output/layer_text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"

namespace mansard::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A graph as lines of field and value, in the order of the graph's messages.
struct Fields {
  std::vector<std::string> order;
  std::map<std::string, std::string> values;

  void Add(const std::string& field, std::string value) {
    if (values.emplace(field, std::move(value)).second) order.push_back(field);
  }
};

// What is not a property of the model, or follows from the rest.
bool IsLabel(absl::string_view field) {
  static constexpr absl::string_view kLabels[] = {
      "name",         "display_name",       "source",         "revision_id",
      "layer_count",  "layer_kind_indexes", "tensor_classes", "kind",
      "tensor_class", "create_time",        "update_time",    "etag"};
  for (absl::string_view label : kLabels) {
    if (field == label) return true;
  }
  return false;
}

std::string ValueText(const Message& message, const FieldDescriptor* field,
                      int index) {
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, index,
                                                        &text);
  if (text.size() >= 2 && text.front() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

void Flatten(const Message& message, const std::string& prefix, Fields* fields);

// Of a message that is there once: "prefix.field".
void FlattenField(const Message& message, const FieldDescriptor* field,
                  const std::string& prefix, Fields* fields) {
  const std::string path = absl::StrCat(prefix, field->name());
  const auto* reflection = message.GetReflection();
  if (field->is_repeated()) {
    std::vector<std::string> values;
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      values.push_back(ValueText(message, field, i));
    }
    std::string all;
    for (const std::string& value : values) {
      absl::StrAppend(&all, all.empty() ? "" : " ", value);
    }
    fields->Add(path, all);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    // That it is there is a difference of its own, as all of its fields may
    // have their defaults.
    if (field->containing_oneof() != nullptr) {
      fields->Add(absl::StrCat(prefix, field->containing_oneof()->name()),
                  field->name());
    }
    Flatten(reflection->GetMessage(message, field), absl::StrCat(path, "."),
            fields);
  } else {
    fields->Add(path, ValueText(message, field, -1));
  }
}

void Flatten(const Message& message, const std::string& prefix,
             Fields* fields) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    if (IsLabel(field->name()) || field->name() == "layer_kinds") continue;
    FlattenField(message, field, prefix, fields);
  }
}

// Layer kinds go by their names, which two graphs may share, not by position.
Fields FieldsOf(const v1::ModelGraph& graph) {
  Fields fields;
  Flatten(graph, "", &fields);
  for (const auto& entry : graph.size().tensor_classes()) {
    fields.Add(absl::StrCat("size.", entry.tensor_class(), "_parameter_count"),
               absl::StrCat(entry.parameter_count()));
  }
  fields.Add("layer_count", absl::StrCat(LayerCount(graph)));
  for (int i = 0; i < graph.layer_kinds_size(); ++i) {
    const std::string prefix =
        absl::StrCat("layers.", graph.layer_kinds(i).kind(), ".");
    fields.Add(absl::StrCat(prefix, "count"),
               absl::StrCat(LayersOfKind(graph, i)));
    Flatten(graph.layer_kinds(i), prefix, &fields);
  }
  return fields;
}

std::vector<FieldDifference> DifferencesOf(const v1::ModelGraph& a,
                                           const v1::ModelGraph& b) {
  const Fields left = FieldsOf(a);
  const Fields right = FieldsOf(b);
  const auto value = [](const Fields& fields, const std::string& field) {
    const auto found = fields.values.find(field);
    return found == fields.values.end() ? "" : found->second;
  };
  std::vector<FieldDifference> differences;
  const auto compare = [&](const std::string& field) {
    FieldDifference difference{field, value(left, field), value(right, field)};
    if (difference.a != difference.b) {
      differences.push_back(std::move(difference));
    }
  };
  for (const std::string& field : left.order) compare(field);
  for (const std::string& field : right.order) {
    if (left.values.count(field) == 0) compare(field);
  }
  return differences;
}

absl::StatusOr<v1::ModelGraph> LoadGraph(const Session& session,
                                         const std::string& operand) {
  if (!NamesFile(operand)) return GetModelGraph(session, operand);
  auto loaded = LoadModelFile(session, operand);
  if (!loaded.ok()) return loaded.status();
  return loaded->model_graph();
}

}  // namespace

absl::StatusOr<Answer> RunModelDiff(const Session& session,
                                    const Arguments& arguments,
                                    const Style& style) {
  if (arguments.operand == "-" && arguments.second_operand == "-") {
    return UsageError("A and B are both \"-\"; allowed: one",
                      "standard input holds one file");
  }
  absl::StatusOr<v1::ModelGraph> a = LoadGraph(session, arguments.operand);
  if (!a.ok()) return a.status();
  absl::StatusOr<v1::ModelGraph> b =
      LoadGraph(session, arguments.second_operand);
  if (!b.ok()) return b.status();
  // A graph in textproto brings no sizes: then neither shows them.
  if (!a->has_size() || !b->has_size()) {
    a->clear_size();
    b->clear_size();
  }
  const std::vector<FieldDifference> differences = DifferencesOf(*a, *b);
  switch (arguments.output) {
    case OutputFormat::kJson: {
      absl::StatusOr<std::string> json = DifferenceJson(
          arguments.operand, arguments.second_operand, differences);
      if (!json.ok()) return json.status();
      return Answer{.out = *std::move(json)};
    }
    case OutputFormat::kCsv:
      return Answer{.out = CsvText(DifferenceReport(differences))};
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kSvg:
    case OutputFormat::kTextproto:
      break;
  }
  Answer answer;
  answer.out = absl::StrCat("A  ", arguments.operand, "\nB  ",
                            arguments.second_operand, "\n\n");
  absl::StrAppend(&answer.out,
                  differences.empty()
                      ? "No differences.\n"
                      : TableText(DifferenceReport(differences), style));
  return answer;
}

}  // namespace mansard::cli
