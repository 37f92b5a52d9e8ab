#include "model/ops/op.h"

namespace mansard::model {

// The buffer is read and written in device memory besides crossing the links;
// the sum is one add per element and peer, not counted.
Op AllReduceOp(const CollectiveShape& shape, Bytes message) {
  Op op{.kind = OpKind::kAllReduce,
        .part = Part::kAttentionAllReduce,
        .shape = shape};
  op.work.message = message;
  op.work.activations_in = message;
  op.work.activations_out = message;
  return op;
}

// Reads its own part, writes the whole buffer.
Op AllGatherOp(const CollectiveShape& shape, Bytes message) {
  Op op{.kind = OpKind::kAllGather,
        .part = Part::kLogitsAllGather,
        .shape = shape};
  op.work.message = message;
  op.work.activations_in = message / shape.ranks;
  op.work.activations_out = message;
  return op;
}

}  // namespace mansard::model
