// What sizes, rates and times of this world lie within. Beyond, a quotient or
// its fourth power is no number any more, though each value is one.
#pragma once

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"

namespace mansard::model {

inline constexpr double kLeastMagnitude = 1e-12;
inline constexpr double kMostMagnitude = 1e24;

// Rules: 1e-12 to 1e24. `subject` is what of the field is meant, or empty.
inline void CheckPositive(absl::string_view field, absl::string_view subject,
                          double value, Violations& violations) {
  // The negation also catches NaN.
  if (!(value >= kLeastMagnitude && value <= kMostMagnitude)) {
    violations.Add(
        field,
        absl::StrFormat("%s%sis %g; must be positive and finite: %g to %g",
                        subject, subject.empty() ? "" : " ", value,
                        kLeastMagnitude, kMostMagnitude));
  }
}

// Rules: 0 to 1e24.
inline void CheckNotNegative(absl::string_view field, double value,
                             Violations& violations) {
  if (!(value >= 0 && value <= kMostMagnitude)) {
    violations.Add(
        field, absl::StrFormat("is %g; must be 0 or more and finite: 0 to %g",
                               value, kMostMagnitude));
  }
}

// Of a whole: rules: 1e-12 to 1.
inline void CheckFraction(absl::string_view field, double value,
                          Violations& violations) {
  if (!(value >= kLeastMagnitude && value <= 1)) {
    violations.Add(
        field, absl::StrFormat("is %g; must be above 0 and at most 1: %g to 1",
                               value, kLeastMagnitude));
  }
}

}  // namespace mansard::model
