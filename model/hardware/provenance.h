// Where a number comes from.
#pragma once

#include <string>

namespace mansard::model {

enum class ProvenanceKind {
  kDatasheet,
  kMeasured,
  kFitted,
  kScaled,
  kDerived,
  kAssumed,
};

struct Provenance {
  ProvenanceKind kind = ProvenanceKind::kAssumed;
  std::string source;
  std::string observe_date;  // "2026-08-22", "2024-11" or empty.
};

template <class T>
struct Sourced {
  T value{};
  Provenance provenance;
};

}  // namespace mansard::model
