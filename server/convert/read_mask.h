// Which of the costly parts of an EstimateResponse were asked for.
#pragma once

#include "google/protobuf/field_mask.pb.h"
#include "model/base/violations.h"

namespace mansard::server {

struct EstimateParts {
  bool ops = false;
  bool waterfall = false;
};

// "estimate.ops" and "estimate.waterfall" by name; "estimate" and "*" name
// both. A path that EstimateResponse does not have is a violation.
EstimateParts FromProto(const google::protobuf::FieldMask& mask,
                        model::Violations& violations);

}  // namespace mansard::server
