// What a rank holds, as people read it.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// "fits", or by how much not.
std::string FitText(const v1::MemoryFootprint& memory, const Style& style);
// Lines below the headline: what is held, of what, the room that is left, and
// where it does not fit what would make it.
std::string MemoryText(const v1::MemoryFootprint& memory,
                       const v1::ForwardPass& pass);
// One row a class of tensors, a kind of layers, and each other part; then what
// they sum to, and the budget.
Report MemoryReport(const v1::MemoryFootprint& memory);

}  // namespace mansard::cli
