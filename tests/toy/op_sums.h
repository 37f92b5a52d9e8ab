// What tests ask of a list of ops.
#pragma once

#include <cstdlib>

#include "model/estimate/estimate.h"
#include "model/ops/op.h"
#include "model/workload/forward_pass.h"

namespace mansard::testing {

struct Totals {
  double flops = 0, weights = 0, kv_read = 0, kv_write = 0;
};

inline Totals Sum(const model::Target& target, const model::ForwardPass& pass) {
  Totals sums;
  for (const model::Op& op : EstimatePass(target, pass).ops) {
    sums.flops += op.repeat * op.work.tensor.value();
    sums.weights += op.repeat * op.work.weights.value();
    sums.kv_read += op.repeat * op.work.kv_read.value();
    sums.kv_write += op.repeat * op.work.kv_write.value();
  }
  return sums;
}

// Over all layers.
inline int Count(const model::OpList& ops, model::Part part) {
  int count = 0;
  for (const model::Op& op : ops) count += op.part == part ? op.repeat : 0;
  return count;
}

// The first op of a part. A test that asks for a part there is none of ends.
inline const model::Op& Find(const model::OpList& ops, model::Part part) {
  for (const model::Op& op : ops) {
    if (op.part == part) return op;
  }
  std::abort();
}

}  // namespace mansard::testing
