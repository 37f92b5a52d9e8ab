// Results of a CUDA record as rows that plans of kernel families are made for.
// Internal to calibrate/refresh.
#pragma once

#include <vector>

#include "calibrate/measure/record.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// One row for every measured burst of a product, attention, norm, activation,
// residual, quantisation and collective; `row` is its place in the record's
// results. Tables and slices are named as those of measured tables are, so that
// the same plans take them; sides by the shape, as there.
std::vector<MeasuredCase> CudaRows(const Record& record);

}  // namespace mansard::calibrate
