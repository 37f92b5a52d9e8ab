// Which fields an update takes over.
#pragma once

#include <set>
#include <string>

#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/message.h"
#include "model/base/violations.h"

namespace mansard::server {

// Top-level fields by name. Empty: all that callers may set.
using UpdateFields = std::set<std::string>;

// Of a resource of the kind of `resource`. Violations are at
// "update_mask.paths[i]": paths that are no top-level fields, and fields that
// callers cannot set. "*" stands for all.
UpdateFields FieldsOf(const google::protobuf::FieldMask& mask,
                      const google::protobuf::Message& resource,
                      model::Violations& violations);

// `target` with `fields` of `said`; those that are not set there are cleared.
// Fields that say one thing together (fabrics and fabric_ids; kernel_stacks and
// achieved_fractions) are taken over together. Precondition: both are of one
// type.
void TakeFields(const UpdateFields& fields,
                const google::protobuf::Message& said,
                google::protobuf::Message& target);

}  // namespace mansard::server
