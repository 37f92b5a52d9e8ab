#include "clients/cli/commands/message_table.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command_status.h"

namespace mansard::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Where a column's values go: a field of the row, or of a message in it.
struct ColumnField {
  const FieldDescriptor* message = nullptr;  // Null: the row itself.
  const FieldDescriptor* field = nullptr;
};

bool IsNumberOrText(const FieldDescriptor* field) {
  return field != nullptr && !field->is_repeated() &&
         field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
}

ColumnField FieldOfColumn(const std::string& name, const Descriptor& row,
                          const std::vector<const char*>& parts) {
  const FieldDescriptor* const own = row.FindFieldByName(name);
  if (IsNumberOrText(own)) return {nullptr, own};
  for (const char* part : parts) {
    const FieldDescriptor* const message = row.FindFieldByName(part);
    const FieldDescriptor* const field =
        message->message_type()->FindFieldByName(name);
    if (IsNumberOrText(field)) return {message, field};
  }
  return {};
}

std::string ColumnNames(const Descriptor& row,
                        const std::vector<const char*>& parts) {
  std::vector<std::string> names;
  const auto add = [&names](const Descriptor& message) {
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor* const field = message.field(i);
      if (IsNumberOrText(field)) names.push_back(field->name());
    }
  };
  add(row);
  for (const char* part : parts) {
    add(*row.FindFieldByName(part)->message_type());
  }
  return absl::StrJoin(names, ", ");
}

// False where the text is no value of the field.
bool SetField(const ColumnField& column, absl::string_view text, Message* row) {
  Message* target = row;
  if (column.message != nullptr) {
    target = row->GetReflection()->MutableMessage(row, column.message);
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

}  // namespace

absl::Status ReadMessageTable(const std::string& name, const std::string& text,
                              const Descriptor& row,
                              const std::vector<const char*>& parts,
                              const std::function<Message*()>& add) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const std::vector<std::string> header = CellsOf(lines.front());
  std::vector<ColumnField> columns;
  for (const std::string& column : header) {
    columns.push_back(FieldOfColumn(column, row, parts));
    if (columns.back().field == nullptr) {
      return Failed(absl::StrCat(name, ":1: no column is called \"", column,
                                 "\"; allowed: ", ColumnNames(row, parts)));
    }
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    if (absl::StripAsciiWhitespace(lines[i]).empty()) continue;
    const std::vector<std::string> cells = CellsOf(lines[i]);
    if (cells.size() != columns.size()) {
      return Failed(absl::StrCat(name, ":", i + 1, ": ", cells.size(),
                                 " cells; the header has ", columns.size()));
    }
    Message* const message = add();
    for (size_t c = 0; c < cells.size(); ++c) {
      if (!cells[c].empty() && !SetField(columns[c], cells[c], message)) {
        return Failed(absl::StrCat(name, ":", i + 1, ": ", header[c], " is \"",
                                   cells[c], "\"; allowed: a number"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mansard::cli
