#include <cmath>

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

// Reads the whole buffer, writes its own part of the sum.
Op ReduceScatterOp(const CollectiveShape& shape, Bytes message) {
  Op op{.kind = OpKind::kReduceScatter,
        .part = Part::kFeedForwardAllReduce,
        .shape = shape};
  op.work.message = message;
  op.work.activations_in = message;
  op.work.activations_out = message / shape.ranks;
  return op;
}

Op AllToAllOp(const CollectiveShape& shape, Bytes message) {
  Op op{
      .kind = OpKind::kAllToAll, .part = Part::kExpertDispatch, .shape = shape};
  op.work.message = message;
  op.work.activations_in = message;
  op.work.activations_out = message;
  return op;
}

Op SendReceiveOp(const CollectiveShape& shape, Bytes message) {
  Op op{.kind = OpKind::kSendReceive,
        .part = Part::kStageTransfer,
        .shape = shape};
  op.work.message = message;
  op.work.activations_in = message;
  op.work.activations_out = message;
  return op;
}

// The sender's side: it reads its cache, and writes nothing.
Op KvTransferOp(const CollectiveShape& shape, Bytes message) {
  Op op{
      .kind = OpKind::kSendReceive, .part = Part::kKvTransfer, .shape = shape};
  op.work.message = message;
  op.work.kv_read = message;
  return op;
}

namespace {

// Ranks that hold some of a token's experts, on average: D = R (1 - (1 -
// 1/R)^k) where each of k experts lies on one of R ranks at random.
double DistinctRanks(const ExchangeShape& shape) {
  const double ranks = shape.ranks;
  return ranks * (1 - std::pow(1 - 1 / ranks, shape.experts_per_token));
}

// The busiest rank's. One copy of a token crosses to each rank that holds some
// of its experts, but for the rank's own.
Op ExchangeOp(OpKind kind, Part part, const ExchangeShape& shape) {
  Op op{.kind = kind, .part = part, .shape = shape};
  const Bytes token =
      ElementBytes(shape.format, static_cast<double>(shape.columns));
  const double copies = shape.imbalance * shape.tokens * DistinctRanks(shape);
  op.work.message = (copies * (shape.ranks - 1) / shape.ranks) * token;
  const Bytes apart = copies * token;
  const Bytes together = shape.tokens * token;
  const bool out = kind == OpKind::kExpertDispatch;
  op.work.activations_in = out ? together : apart;
  op.work.activations_out = out ? apart : together;
  return op;
}

}  // namespace

Op ExpertDispatchOp(const ExchangeShape& shape) {
  return ExchangeOp(OpKind::kExpertDispatch, Part::kExpertDispatch, shape);
}

Op ExpertCombineOp(const ExchangeShape& shape) {
  return ExchangeOp(OpKind::kExpertCombine, Part::kExpertReturn, shape);
}

}  // namespace mansard::model
