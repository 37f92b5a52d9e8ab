// Calls of matrix products in a trace of torch.profiler.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/rows.h"
#include "rapidjson/document.h"

namespace mansard::calibrate {

// "aten::mm".
bool IsProduct(absl::string_view name);

// Shape and formats of a call, without a time. Precondition: IsProduct. Error:
// INVALID_ARGUMENT says why it is no row: sizes that are missing or do not fit,
// a type that no table has.
absl::StatusOr<GemmRow> ProductOf(absl::string_view name,
                                  const rapidjson::Value& arguments);

}  // namespace mansard::calibrate
