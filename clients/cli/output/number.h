// Numbers with units, as people read them: decimal prefixes, digits in groups
// of three.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::cli {

enum class Unit {
  kNone,  // Text, and counts to the last digit.
  kSeconds,
  kBytes,
  kBytesPerSecond,
  kFlops,
  kFlopsPerSecond,
  kParameters,  // "B" is 1e9, as the trade says it.
  kHertz,
  kPerSecond,
  kWatts,
  kPercent,  // Of ratios.
};

// One prefix for many numbers: value / factor is in `label` ("ms").
struct Scale {
  double factor = 1;
  std::string label;
};

// The scale that shows `largest` with one to three digits before the point.
Scale ScaleFor(Unit unit, double largest);
// Digits after the point that leave `largest` (already scaled) with about four
// in all.
int DecimalsFor(double largest);

// "bytes_per_second", as names of fields end; empty for kNone.
absl::string_view UnitWord(Unit unit);

// "1,234.50".
std::string Grouped(double value, int decimals);
std::string Grouped(int64_t value);
// "14.9 ms", three digits; "-" for what is no number.
std::string WithUnit(double value, Unit unit);

}  // namespace mansard::cli
