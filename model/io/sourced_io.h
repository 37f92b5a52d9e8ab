// Numbers with provenance between their protos and the domain.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

// Kind and source are required. Adds what is missing below the current path
// and returns what there is, so that checking goes on.
Provenance ProvenanceFromProto(const v1::Provenance& proto,
                               Violations& violations);
v1::Provenance ProvenanceToProto(const Provenance& provenance);

// "is required" in the one wording for all of them.
void AddRequired(absl::string_view field, Violations& violations);

namespace sourced_internal {
Sourced<double> NumberFromProto(const v1::SourcedNumber& proto,
                                absl::string_view field,
                                Violations& violations);
v1::SourcedNumber NumberToProto(double value, const Provenance& provenance);
inline double ToBase(double value) { return value; }
template <class Q>
double ToBase(Q quantity) {
  return quantity.value();
}
template <class T>
T FromBase(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return T::Of(value);
  }
}
}  // namespace sourced_internal

// T is double or a Quantity; the proto has it in the base unit.
template <class T>
Sourced<T> SourcedFromProto(const v1::SourcedNumber& proto,
                            absl::string_view field, Violations& violations) {
  Sourced<double> number =
      sourced_internal::NumberFromProto(proto, field, violations);
  return {sourced_internal::FromBase<T>(number.value),
          std::move(number.provenance)};
}

template <class T>
v1::SourcedNumber SourcedToProto(const Sourced<T>& sourced) {
  return sourced_internal::NumberToProto(
      sourced_internal::ToBase(sourced.value), sourced.provenance);
}

}  // namespace mansard::model
