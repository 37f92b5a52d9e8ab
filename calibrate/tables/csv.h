// Comma-separated text with a header line (RFC 4180, quoted cells included).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

class CsvReader {
 public:
  // The text outlives the reader.
  explicit CsvReader(absl::string_view text);

  // Error: the header has no such column.
  absl::StatusOr<size_t> Column(absl::string_view name) const;
  // The next row's cells; false after the last. Error: a row whose number of
  // cells is not the header's, or a quoted cell that nothing closes.
  absl::StatusOr<bool> Next(std::vector<std::string>& cells);
  // What was read last (at first, the header), as it stands there, without the
  // end of its line.
  absl::string_view line_text() const { return line_text_; }

 private:
  absl::StatusOr<bool> ReadLine(std::vector<std::string>& cells);

  absl::string_view rest_;
  absl::string_view line_text_;
  std::vector<std::string> header_;
  int line_ = 0;
};

}  // namespace mansard::calibrate
