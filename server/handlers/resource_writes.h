// Writes of any kind of resource: create, update and delete are alike. A Kind
// says what differs:
//   Proto, Entry; kCollection, kField ("model_graph"), kType;
//   Find(state, id) -> const Entry*, null where there is none, broken or not;
//   NotFound(state, id) -> the error;
//   Make(writer, id, said, current, violations) -> the new entry;
//   Delete(writer, id).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/field_mask.pb.h"
#include "model/base/status_macros.h"
#include "model/base/violations.h"
#include "server/catalog/catalog.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/catalog/update_mask.h"
#include "server/error.h"
#include "server/rpc.h"

namespace mansard::server {

// Makes, checks and keeps the entry. One that says what is there already is
// not written again.
template <class Kind>
absl::Status Write(CatalogWriter& writer, const std::string& id,
                   const typename Kind::Proto& said,
                   const typename Kind::Entry* current, bool validate_only,
                   model::Violations& violations,
                   typename Kind::Proto& response) {
  absl::StatusOr<std::shared_ptr<const typename Kind::Entry>> entry;
  {
    const model::Violations::Scope scope(violations, Kind::kField);
    entry = Kind::Make(writer, id, said, current, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(entry.status());
  if (current != nullptr && current->error.ok() &&
      current->proto.etag() == (*entry)->proto.etag()) {
    response = current->proto;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(writer.Put(id, *entry, validate_only));
  response = (*entry)->proto;
  return absl::OkStatus();
}

template <class Kind>
absl::Status Create(CallContext& call, const std::string& id,
                    const typename Kind::Proto* said, bool validate_only,
                    typename Kind::Proto& response) {
  model::Violations violations;
  CheckId(id, absl::StrCat(Kind::kField, "_id"), violations);
  if (said == nullptr) {
    violations.Add(Kind::kField, "is required");
    return InvalidRequest(violations);
  }
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  if (violations.empty() && Kind::Find(writer.base(), id) != nullptr) {
    return AlreadyExists(Kind::kType, ResourceName(Kind::kCollection, id));
  }
  return Write<Kind>(writer, id, *said, nullptr, validate_only, violations,
                     response);
}

template <class Kind>
absl::Status Update(CallContext& call, const typename Kind::Proto* said,
                    const google::protobuf::FieldMask& mask, bool allow_missing,
                    bool validate_only, typename Kind::Proto& response) {
  model::Violations violations;
  if (said == nullptr) violations.Add(Kind::kField, "is required");
  const UpdateFields fields =
      FieldsOf(mask, typename Kind::Proto(), violations);
  std::optional<std::string> id;
  if (said != nullptr) {
    id = ParseResourceName(said->name(), Kind::kCollection,
                           absl::StrCat(Kind::kField, ".name"), violations);
  }
  if (!id.has_value()) return InvalidRequest(violations);
  const std::string name = ResourceName(Kind::kCollection, *id);
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  const typename Kind::Entry* const current = Kind::Find(writer.base(), *id);
  if (!violations.empty()) return InvalidRequest(violations);
  if (current == nullptr && !allow_missing) {
    return Kind::NotFound(writer.base(), *id);
  }
  RETURN_IF_ERROR(CheckEtag(said->etag(),
                            current == nullptr ? "" : current->proto.etag(),
                            Kind::kType, name));
  typename Kind::Proto whole = *said;
  if (!fields.empty() && current != nullptr) {
    if (!current->error.ok() && !Kind::kBrokenIsWhole) {
      return Broken(name, current->error);
    }
    whole = current->proto;
    TakeFields(fields, *said, whole);
  }
  return Write<Kind>(writer, *id, whole, current, validate_only, violations,
                     response);
}

template <class Kind>
absl::Status Delete(CallContext& call, const std::string& name,
                    const std::string& etag) {
  model::Violations violations;
  const std::optional<std::string> id =
      ParseResourceName(name, Kind::kCollection, "name", violations);
  if (!id.has_value()) return InvalidRequest(violations);
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  const typename Kind::Entry* const current = Kind::Find(writer.base(), *id);
  if (current == nullptr) return Kind::NotFound(writer.base(), *id);
  RETURN_IF_ERROR(CheckEtag(etag, current->proto.etag(), Kind::kType, name));
  return Kind::Delete(writer, *id);
}

}  // namespace mansard::server
