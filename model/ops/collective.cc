#include "model/base/distinct_places.h"
#include "model/ops/op.h"

namespace mansard::model {

namespace {

// A buffer that crosses the links, read and written in device memory besides.
Op MessageOp(OpKind kind, Part part, const CollectiveShape& shape,
             Bytes message, Bytes read, Bytes written) {
  Op op{.kind = kind, .part = part, .shape = shape};
  op.work.message = message;
  op.work.activations_in = read;
  op.work.activations_out = written;
  return op;
}

}  // namespace

// The sum is one add per element and peer, not counted.
Op AllReduceOp(const CollectiveShape& shape, Bytes message) {
  return MessageOp(OpKind::kAllReduce, Part::kAttentionAllReduce, shape,
                   message, message, message);
}

// Reads its own part, writes the whole buffer.
Op AllGatherOp(const CollectiveShape& shape, Bytes message) {
  return MessageOp(OpKind::kAllGather, Part::kLogitsAllGather, shape, message,
                   message / shape.ranks, message);
}

// Reads the whole buffer, writes its own part of the sum.
Op ReduceScatterOp(const CollectiveShape& shape, Bytes message) {
  return MessageOp(OpKind::kReduceScatter, Part::kFeedForwardAllReduce, shape,
                   message, message, message / shape.ranks);
}

Op AllToAllOp(const CollectiveShape& shape, Bytes message) {
  return MessageOp(OpKind::kAllToAll, Part::kExpertDispatch, shape, message,
                   message, message);
}

// A receiver's: it writes what the root reads.
Op BroadcastOp(const CollectiveShape& shape, Bytes message) {
  return MessageOp(OpKind::kBroadcast, Part::kStageTransfer, shape, message,
                   Bytes::Zero(), message);
}

Op SendReceiveOp(const CollectiveShape& shape, Bytes message) {
  return MessageOp(OpKind::kSendReceive, Part::kStageTransfer, shape, message,
                   message, message);
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

// The busiest rank's. One copy of a token crosses to each rank that holds some
// of its experts, which lie on ranks at random, but for the rank's own.
Op ExchangeOp(OpKind kind, Part part, const ExchangeShape& shape) {
  Op op{.kind = kind, .part = part, .shape = shape};
  const Bytes token =
      ElementBytes(shape.format, static_cast<double>(shape.columns));
  const double copies = shape.imbalance * shape.tokens *
                        DistinctPlaces(shape.ranks, shape.experts_per_token);
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
