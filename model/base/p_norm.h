// The norm that puts busy times together which overlap inside a kernel: p = 4
// (price/price.h says why). Inline: every op of every step asks.
#pragma once

#include <cmath>

namespace mansard::model {

inline double FourthPower(double x) { return (x * x) * (x * x); }
inline double FourthRoot(double x) { return std::sqrt(std::sqrt(x)); }

}  // namespace mansard::model
