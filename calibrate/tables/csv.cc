#include "calibrate/tables/csv.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {

CsvReader::CsvReader(absl::string_view text) : rest_(text) {
  if (!ReadLine(header_).ok()) header_.clear();
}

absl::StatusOr<size_t> CsvReader::Column(absl::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the table has no column \"", name, "\"; it has ",
                     absl::StrJoin(header_, ", ")));
  }
  return static_cast<size_t>(found - header_.begin());
}

absl::StatusOr<bool> CsvReader::Next(std::vector<std::string>& cells) {
  ASSIGN_OR_RETURN(const bool more, ReadLine(cells));
  if (more && cells.size() != header_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", line_, ": has ", cells.size(),
                     " cells; the header has ", header_.size()));
  }
  return more;
}

absl::StatusOr<bool> CsvReader::ReadLine(std::vector<std::string>& cells) {
  cells.clear();
  if (rest_.empty()) return false;
  ++line_;
  std::string cell;
  bool quoted = false;
  size_t i = 0;
  for (; i < rest_.size(); ++i) {
    const char c = rest_[i];
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '"') {
        cell += rest_[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && cell.empty()) {
      quoted = true;
    } else if (c == ',') {
      cells.push_back(cell);
      cell.clear();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      cell += c;
    }
  }
  if (quoted) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", line_, ": a quoted cell is not closed"));
  }
  cells.push_back(cell);
  line_text_ = absl::StripSuffix(rest_.substr(0, i), "\r");
  rest_.remove_prefix(std::min(i + 1, rest_.size()));
  return true;
}

}  // namespace mansard::calibrate
