// Rows of `mansard engine predict --queries`.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command_status.h"
#include "clients/cli/commands/serving_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/input.h"
#include "clients/cli/output/proto_text.h"
#include "google/protobuf/descriptor.h"

namespace mansard::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Where a column's values go: a field of the query, or of a message in it.
struct ColumnField {
  const FieldDescriptor* message = nullptr;  // Null: the query itself.
  const FieldDescriptor* field = nullptr;
};

ColumnField FieldOfColumn(absl::string_view name) {
  const std::string wanted(name);
  const auto* const query = v1::LatencyQuery::descriptor();
  const auto is_number_or_text = [](const FieldDescriptor* field) {
    return field != nullptr &&
           field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
  };
  const FieldDescriptor* const own = query->FindFieldByName(wanted);
  if (is_number_or_text(own)) return {nullptr, own};
  for (const char* part : {"state", "slo"}) {
    const FieldDescriptor* const message = query->FindFieldByName(part);
    const FieldDescriptor* const field =
        message->message_type()->FindFieldByName(wanted);
    if (is_number_or_text(field)) return {message, field};
  }
  return {};
}

std::vector<std::string> ColumnNames() {
  std::vector<std::string> names;
  const auto add = [&names](const google::protobuf::Descriptor* message) {
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* const field = message->field(i);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        names.push_back(field->name());
      }
    }
  };
  add(v1::LatencyQuery::descriptor());
  add(v1::EngineState::descriptor());
  add(v1::Slo::descriptor());
  return names;
}

// False where the text is no value of the field.
bool SetField(const ColumnField& column, absl::string_view text,
              v1::LatencyQuery* query) {
  Message* target = query;
  if (column.message != nullptr) {
    target = query->GetReflection()->MutableMessage(query, column.message);
  }
  const auto* const reflection = target->GetReflection();
  switch (column.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) return false;
      reflection->SetInt32(target, column.field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      int64_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) return false;
      reflection->SetInt64(target, column.field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value = 0;
      if (!absl::SimpleAtod(text, &value)) return false;
      reflection->SetDouble(target, column.field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->SetString(target, column.field, std::string(text));
      return true;
    default:  // The fields have no other types.
      return false;
  }
}

std::vector<std::string> CellsOf(absl::string_view line) {
  std::vector<std::string> cells;
  for (const absl::string_view cell : absl::StrSplit(line, ',')) {
    cells.push_back(std::string(absl::StripAsciiWhitespace(cell)));
  }
  return cells;
}

absl::StatusOr<v1::PredictLatenciesRequest> ReadTable(const std::string& name,
                                                      const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const std::vector<std::string> header = CellsOf(lines.front());
  std::vector<ColumnField> columns;
  for (const std::string& column : header) {
    columns.push_back(FieldOfColumn(column));
    if (columns.back().field == nullptr) {
      return Failed(
          absl::StrCat(name, ":1: no column is called \"", column,
                       "\"; allowed: ", absl::StrJoin(ColumnNames(), ", ")));
    }
  }
  v1::PredictLatenciesRequest request;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (absl::StripAsciiWhitespace(lines[i]).empty()) continue;
    const std::vector<std::string> cells = CellsOf(lines[i]);
    if (cells.size() != columns.size()) {
      return Failed(absl::StrCat(name, ":", i + 1, ": ", cells.size(),
                                 " cells; the header has ", columns.size()));
    }
    v1::LatencyQuery* const query = request.add_queries();
    for (size_t c = 0; c < cells.size(); ++c) {
      if (!cells[c].empty() && !SetField(columns[c], cells[c], query)) {
        return Failed(absl::StrCat(name, ":", i + 1, ": ", header[c], " is \"",
                                   cells[c], "\"; allowed: a number"));
      }
    }
  }
  return request;
}

}  // namespace

absl::StatusOr<v1::PredictLatenciesRequest> ReadQueries(
    const std::string& name, const std::string& text,
    const std::string& engine) {
  absl::StatusOr<v1::PredictLatenciesRequest> request(
      v1::PredictLatenciesRequest{});
  if (LooksLikeJson(text)) {
    const absl::Status parsed = ParseJson(name, text, &*request);
    if (!parsed.ok()) return parsed;
  } else {
    request = ReadTable(name, text);
    if (!request.ok()) return request.status();
  }
  if (request->queries().empty()) {
    return Failed(absl::StrCat(name, ": has no rows"));
  }
  for (v1::LatencyQuery& query : *request->mutable_queries()) {
    if (query.engine().empty() && engine.empty()) {
      return UsageError(
          absl::StrCat("ENGINE is missing: a row of ", name, " names none"));
    }
    query.set_engine(
        FullName("engines", query.engine().empty() ? engine : query.engine()));
  }
  return request;
}

}  // namespace mansard::cli
