// Results of a record as rows that fits see: ops and a time.
#pragma once

#include <vector>

#include "calibrate/measure/record.h"
#include "calibrate/tables/measured_case.h"
#include "model/ops/op.h"

namespace mansard::calibrate {

// What the engine calls the case, in fp32. Precondition: the kind is no stream
// and no multiply-add.
model::Op OpOf(const Case& measured);

// One row for every measured result of the kind, bursts alone.
std::vector<MeasuredCase> RowsOf(const Record& record, CaseKind kind);

}  // namespace mansard::calibrate
