#include "model/price/op_group.h"

namespace mansard::model {
namespace {

bool IsInsideExperts(const Op& op) {
  const auto* shape = std::get_if<ElementwiseShape>(&op.shape);
  return shape != nullptr && shape->experts.has_value();
}

// Rows from which on weights are no longer most of what a product moves.
constexpr int64_t kWideRows = 512;
constexpr double kWideExpertRows = 16;  // Of each expert.
// Engines' own all-reduces end at about 8 MB.
constexpr Bytes kLargeMessage = Bytes::Of(8e6);

OpGroup GroupOfExperts(const GroupedGemmShape& shape) {
  return shape.rows > kWideExpertRows * shape.distinct_experts
             ? OpGroup::kWideExperts
             : OpGroup::kExperts;
}

}  // namespace

OpGroup OpGroupOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kGemm:
      return std::get<GemmShape>(op.shape).m > kWideRows ? OpGroup::kWideGemm
                                                         : OpGroup::kGemm;
    case OpKind::kGroupedGemm:
      return GroupOfExperts(std::get<GroupedGemmShape>(op.shape));
    case OpKind::kCombine:
      return OpGroup::kExperts;
    case OpKind::kRouting:
      return OpGroup::kRouting;
    case OpKind::kAttentionDecode:
      return OpGroup::kDecodeAttention;
    case OpKind::kAttentionPrefill:
      return OpGroup::kPromptAttention;
    case OpKind::kConvolution:
    case OpKind::kStateUpdate:
    case OpKind::kStateScan:
      return OpGroup::kRecurrent;
    case OpKind::kIndexScores:
    case OpKind::kSelect:
      return OpGroup::kIndex;
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll:
    case OpKind::kBroadcast:
    case OpKind::kSendReceive:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
      return op.work.message > kLargeMessage ? OpGroup::kLargeCollective
                                             : OpGroup::kCollective;
    case OpKind::kActivation:
      return IsInsideExperts(op) ? OpGroup::kExperts : OpGroup::kElementwise;
    case OpKind::kQuantize:
      return IsInsideExperts(op) ? OpGroup::kExperts : OpGroup::kQuantize;
    case OpKind::kEmbedding:
    case OpKind::kNorm:
    case OpKind::kRope:
    case OpKind::kResidual:
    case OpKind::kAdd:
    case OpKind::kDequantize:
    case OpKind::kGate:
    case OpKind::kCompress:
    case OpKind::kStreamMix:
    case OpKind::kSampling:
      return OpGroup::kElementwise;
    case OpKind::kHost:
      return OpGroup::kHost;
  }
  return OpGroup::kElementwise;
}

}  // namespace mansard::model
