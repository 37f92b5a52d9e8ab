#include "clients/cli/output/number.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::cli {
namespace {

struct Prefix {
  double factor;
  absl::string_view text;
};

// Ascending; the last one that `largest` reaches is taken.
const std::vector<Prefix>& PrefixesOf(Unit unit) {
  static const std::vector<Prefix>* const kNone =
      new std::vector<Prefix>{{1, ""}};
  static const std::vector<Prefix>* const kSmall =
      new std::vector<Prefix>{{1e-9, "n"}, {1e-6, "u"}, {1e-3, "m"}, {1, ""}};
  static const std::vector<Prefix>* const kLarge = new std::vector<Prefix>{
      {1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}};
  // Rates of devices are compared in TFLOP/s, whatever their size.
  static const std::vector<Prefix>* const kRate = new std::vector<Prefix>{
      {1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};
  static const std::vector<Prefix>* const kParameters = new std::vector<Prefix>{
      {1, ""}, {1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}};
  static const std::vector<Prefix>* const kPercent =
      new std::vector<Prefix>{{0.01, "%"}};
  switch (unit) {
    case Unit::kNone:
    case Unit::kWatts:
      return *kNone;
    case Unit::kSeconds:
      return *kSmall;
    case Unit::kBytes:
    case Unit::kBytesPerSecond:
    case Unit::kFlops:
    case Unit::kHertz:
    case Unit::kPerSecond:
      return *kLarge;
    case Unit::kFlopsPerSecond:
      return *kRate;
    case Unit::kParameters:
      return *kParameters;
    case Unit::kPercent:
      return *kPercent;
  }
  return *kNone;
}

absl::string_view SymbolOf(Unit unit) {
  switch (unit) {
    case Unit::kNone:
    case Unit::kParameters:
    case Unit::kPercent:
      return "";
    case Unit::kSeconds:
      return "s";
    case Unit::kBytes:
      return "B";
    case Unit::kBytesPerSecond:
      return "B/s";
    case Unit::kFlops:
      return "FLOP";
    case Unit::kFlopsPerSecond:
      return "FLOP/s";
    case Unit::kHertz:
      return "Hz";
    case Unit::kPerSecond:
      return "/s";
    case Unit::kWatts:
      return "W";
  }
  return "";
}

}  // namespace

Scale ScaleFor(Unit unit, double largest) {
  const std::vector<Prefix>& prefixes = PrefixesOf(unit);
  const Prefix* chosen = &prefixes.front();
  for (const Prefix& prefix : prefixes) {
    if (std::abs(largest) >= prefix.factor) chosen = &prefix;
  }
  // Nothing but zeros: the plain unit.
  if (largest == 0 && prefixes.size() > 1) {
    for (const Prefix& prefix : prefixes) {
      if (prefix.factor == 1) chosen = &prefix;
    }
  }
  return {chosen->factor, absl::StrCat(chosen->text, SymbolOf(unit))};
}

absl::string_view UnitWord(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kSeconds:
      return "seconds";
    case Unit::kBytes:
      return "bytes";
    case Unit::kBytesPerSecond:
      return "bytes_per_second";
    case Unit::kFlops:
      return "flops";
    case Unit::kFlopsPerSecond:
      return "flops_per_second";
    case Unit::kParameters:
      return "parameters";
    case Unit::kHertz:
      return "hertz";
    case Unit::kPerSecond:
      return "per_second";
    case Unit::kWatts:
      return "watts";
    case Unit::kPercent:
      return "ratio";
  }
  return "";
}

int DecimalsFor(double largest) {
  const double magnitude = std::abs(largest);
  if (magnitude >= 1000) return 0;
  if (magnitude >= 100) return 1;
  if (magnitude >= 10) return 2;
  return 3;
}

std::string Grouped(double value, int decimals) {
  std::string text = absl::StrFormat("%.*f", decimals, value);
  const size_t start = text[0] == '-' ? 1 : 0;
  size_t point = text.find('.');
  if (point == std::string::npos) point = text.size();
  for (size_t i = point; i > start + 3;) {
    i -= 3;
    text.insert(i, ",");
  }
  return text;
}

std::string Grouped(int64_t value) {
  std::string text = absl::StrCat(value);
  const size_t start = value < 0 ? 1 : 0;
  for (size_t i = text.size(); i > start + 3;) {
    i -= 3;
    text.insert(i, ",");
  }
  return text;
}

std::string WithUnit(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return absl::StrCat("0 ", ScaleFor(unit, 0).label);

  const Scale scale = ScaleFor(unit, value);
  const double scaled = value / scale.factor;
  const std::string number =
      Grouped(scaled, std::max(0, DecimalsFor(scaled) - 1));
  return scale.label.empty() ? number : absl::StrCat(number, " ", scale.label);
}

}  // namespace mansard::cli
