// What of a priced list lies outside the sizes that its families were fitted
// on, for people.
#pragma once

#include <string>
#include <vector>

#include "model/ops/op.h"
#include "model/price/price.h"

namespace mansard::model {

// "2 of 14 ops lie outside the range that their kernel family was fitted on:
// gemm m 32768 > 16384 of gemm-bf16-tiled": of each op kind, family and size
// the one that is furthest outside. Empty where nothing does.
// Precondition: a time of Price for every op.
std::string ExtrapolationText(const OpList& ops,
                              const std::vector<OpTime>& times);

}  // namespace mansard::model
