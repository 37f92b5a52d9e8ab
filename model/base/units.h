// Quantities of the performance model. Doubles underneath: they are results of
// a model, reach 1e21 and divide into each other. Base units are the second,
// the byte and the operation (a multiply-add is two). Only the products and
// quotients that mean something exist.
//
//   Bytes kv = Gigabytes(2);  Seconds t = kv / GigabytesPerSecond(4800);
//   ToMicroseconds(t)
#pragma once

#include <compare>
#include <limits>

namespace mansard::model {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  // Of a number in the base unit.
  static constexpr Quantity Of(double base) { return Quantity(base); }
  static constexpr Quantity Zero() { return Quantity(); }
  static constexpr Quantity Infinity() {
    return Quantity(std::numeric_limits<double>::infinity());
  }

  // In the base unit.
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double factor) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator*(double factor, Quantity a) {
    return a * factor;
  }
  friend constexpr Quantity operator/(Quantity a, double divisor) {
    return Quantity(a.value_ / divisor);
  }
  // A ratio.
  friend constexpr double operator/(Quantity a, Quantity b) {
    return a.value_ / b.value_;
  }

 private:
  explicit constexpr Quantity(double value) : value_(value) {}
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
// Operations of any unit: tensor, vector or special function.
using Flops = Quantity<struct FlopsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
// Arithmetic intensity: for plots and ridge points; no time is computed
// through it.
using FlopsPerByte = Quantity<struct FlopsPerByteTag>;

constexpr Seconds operator/(Bytes moved, BytesPerSecond rate) {
  return Seconds::Of(moved.value() / rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds::Of(work.value() / rate.value());
}
constexpr BytesPerSecond operator/(Bytes moved, Seconds time) {
  return BytesPerSecond::Of(moved.value() / time.value());
}
constexpr FlopsPerSecond operator/(Flops work, Seconds time) {
  return FlopsPerSecond::Of(work.value() / time.value());
}
constexpr FlopsPerByte operator/(Flops work, Bytes moved) {
  return FlopsPerByte::Of(work.value() / moved.value());
}
constexpr FlopsPerByte operator/(FlopsPerSecond peak, BytesPerSecond rate) {
  return FlopsPerByte::Of(peak.value() / rate.value());
}
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) {
  return Bytes::Of(rate.value() * time.value());
}

constexpr Seconds Microseconds(double x) { return Seconds::Of(x * 1e-6); }
constexpr Seconds Milliseconds(double x) { return Seconds::Of(x * 1e-3); }
constexpr double ToMicroseconds(Seconds t) { return t.value() * 1e6; }
constexpr double ToMilliseconds(Seconds t) { return t.value() * 1e3; }
// Decimal: 1e9.
constexpr Bytes Gigabytes(double x) { return Bytes::Of(x * 1e9); }
// Binary: 2^30.
constexpr Bytes Gibibytes(double x) { return Bytes::Of(x * 1073741824.0); }
constexpr double ToGigabytes(Bytes b) { return b.value() * 1e-9; }
constexpr BytesPerSecond GigabytesPerSecond(double x) {
  return BytesPerSecond::Of(x * 1e9);
}
constexpr FlopsPerSecond TeraflopsPerSecond(double x) {
  return FlopsPerSecond::Of(x * 1e12);
}

// Of the values: one instruction each, which the three-way comparison is not.
template <class Tag>
constexpr Quantity<Tag> Max(Quantity<Tag> a, Quantity<Tag> b) {
  return a.value() < b.value() ? b : a;
}
template <class Tag>
constexpr Quantity<Tag> Min(Quantity<Tag> a, Quantity<Tag> b) {
  return b.value() < a.value() ? b : a;
}

}  // namespace mansard::model
