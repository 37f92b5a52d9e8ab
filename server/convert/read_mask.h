// Which of the costly parts of an EstimateResponse were asked for.
#pragma once

#include "google/protobuf/field_mask.pb.h"
#include "model/base/violations.h"

namespace mansard::server {

struct EstimateParts {
  bool ops = false;
  bool waterfall = false;
  bool sensitivities = false;
  bool what_if = false;
};

// "estimate.ops" and "estimate.waterfall" by name; "estimate" and "*" name
// both. "sensitivities" and "what_if" by name alone. A path that
// EstimateResponse does not have is a violation.
EstimateParts FromProto(const google::protobuf::FieldMask& mask,
                        model::Violations& violations);

}  // namespace mansard::server
