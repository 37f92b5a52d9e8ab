#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

struct KindName {
  v1::Provenance::Kind wire;
  ProvenanceKind domain;
};
constexpr KindName kKinds[] = {
    {v1::Provenance::KIND_DATASHEET, ProvenanceKind::kDatasheet},
    {v1::Provenance::KIND_MEASURED, ProvenanceKind::kMeasured},
    {v1::Provenance::KIND_FITTED, ProvenanceKind::kFitted},
    {v1::Provenance::KIND_SCALED, ProvenanceKind::kScaled},
    {v1::Provenance::KIND_DERIVED, ProvenanceKind::kDerived},
    {v1::Provenance::KIND_ASSUMED, ProvenanceKind::kAssumed},
};

}  // namespace

void AddRequired(absl::string_view field, Violations& violations) {
  violations.Add(field, "is required");
}

Provenance ProvenanceFromProto(const v1::Provenance& proto,
                               Violations& violations) {
  Violations::Scope scope(violations, "provenance");
  Provenance provenance{.kind = ProvenanceKind::kAssumed,
                        .source = proto.source(),
                        .observe_date = proto.observe_date()};
  bool known = false;
  for (const KindName& kind : kKinds) {
    if (kind.wire == proto.kind()) {
      provenance.kind = kind.domain;
      known = true;
    }
  }
  if (!known) {
    violations.Add("kind",
                   "is required: KIND_DATASHEET, KIND_MEASURED, KIND_FITTED, "
                   "KIND_SCALED, KIND_DERIVED or KIND_ASSUMED");
  }
  if (proto.source().empty()) AddRequired("source", violations);
  return provenance;
}

v1::Provenance ProvenanceToProto(const Provenance& provenance) {
  v1::Provenance proto;
  for (const KindName& kind : kKinds) {
    if (kind.domain == provenance.kind) proto.set_kind(kind.wire);
  }
  proto.set_source(provenance.source);
  proto.set_observe_date(provenance.observe_date);
  return proto;
}

namespace sourced_internal {

Sourced<double> NumberFromProto(const v1::SourcedNumber& proto,
                                absl::string_view field,
                                Violations& violations) {
  Violations::Scope scope(violations, field);
  return {proto.value(), ProvenanceFromProto(proto.provenance(), violations)};
}

v1::SourcedNumber NumberToProto(double value, const Provenance& provenance) {
  v1::SourcedNumber proto;
  proto.set_value(value);
  *proto.mutable_provenance() = ProvenanceToProto(provenance);
  return proto;
}

}  // namespace sourced_internal
}  // namespace mansard::model
