// Words and numbers of pictures.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// Of text and attributes of XML.
std::string Escaped(absl::string_view text);
// Cut between characters, not inside of one, with dots where it is.
std::string Clipped(absl::string_view text, size_t most);
// Three digits and the prefix of the size: "12.3 TFLOP/s".
std::string WithPrefix(double value, absl::string_view unit);

}  // namespace mansard::calibrate
