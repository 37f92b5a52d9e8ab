#include "model/price/op_group.h"

namespace mansard::model {
namespace {

bool IsInsideExperts(const Op& op) {
  const auto* shape = std::get_if<ElementwiseShape>(&op.shape);
  return shape != nullptr && shape->experts.has_value();
}

}  // namespace

OpGroup OpGroupOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kGemm:
      return OpGroup::kGemm;
    case OpKind::kGroupedGemm:
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
    case OpKind::kSendReceive:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
      return OpGroup::kCollective;
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
