#include "calibrate/import/svg_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace mansard::calibrate {

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Clipped(absl::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) {
    --most;
  }
  return absl::StrCat(text.substr(0, most), "...");
}

std::string WithPrefix(double value, absl::string_view unit) {
  constexpr std::pair<const char*, double> kPrefixes[] = {
      {"P", 1e15}, {"T", 1e12}, {"G", 1e9},  {"M", 1e6}, {"k", 1e3},
      {"", 1},     {"m", 1e-3}, {"u", 1e-6}, {"n", 1e-9}};
  for (const auto& [prefix, factor] : kPrefixes) {
    if (value < factor) continue;
    return absl::StrFormat("%.3g %s%s", value / factor, prefix, unit);
  }
  return absl::StrFormat("%.3g %s", value, unit);
}

}  // namespace mansard::calibrate
