#include "model/estimate/step_parts.h"

#include "model/lower/lower.h"
#include "model/price/price.h"

namespace mansard::model {

absl::string_view StepPartName(StepPart part) {
  switch (part) {
    case StepPart::kGemm:
      return "gemm";
    case StepPart::kExperts:
      return "experts";
    case StepPart::kDecodeAttention:
      return "decode_attention";
    case StepPart::kPromptAttention:
      return "prompt_attention";
    case StepPart::kRecurrent:
      return "recurrent";
    case StepPart::kIndex:
      return "index";
    case StepPart::kCollective:
      return "collective";
    case StepPart::kElementwise:
      return "elementwise";
    case StepPart::kHead:
      return "head";
    case StepPart::kHost:
      return "host";
  }
  return "";
}

StepPart StepPartOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kGemm:
      return op.part == Part::kHead ? StepPart::kHead : StepPart::kGemm;
    case OpKind::kGroupedGemm:
    case OpKind::kRouting:
    case OpKind::kCombine:
      return StepPart::kExperts;
    case OpKind::kAttentionDecode:
      return StepPart::kDecodeAttention;
    case OpKind::kAttentionPrefill:
      return StepPart::kPromptAttention;
    case OpKind::kConvolution:
    case OpKind::kStateUpdate:
    case OpKind::kStateScan:
      return StepPart::kRecurrent;
    case OpKind::kIndexScores:
    case OpKind::kSelect:
      return StepPart::kIndex;
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll:
    case OpKind::kSendReceive:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
      return StepPart::kCollective;
    case OpKind::kSampling:
      return StepPart::kHead;
    case OpKind::kHost:
      return StepPart::kHost;
    case OpKind::kActivation:
    case OpKind::kQuantize:
      return op.part == Part::kExpertActivation ||
                     op.part == Part::kExpertDownQuantize
                 ? StepPart::kExperts
                 : StepPart::kElementwise;
    case OpKind::kEmbedding:
    case OpKind::kNorm:
    case OpKind::kRope:
    case OpKind::kResidual:
    case OpKind::kAdd:
    case OpKind::kDequantize:
    case OpKind::kGate:
    case OpKind::kCompress:
    case OpKind::kStreamMix:
      return StepPart::kElementwise;
  }
  return StepPart::kElementwise;
}

Seconds StepParts::Total() const {
  Seconds sum;
  for (const Seconds time : times) sum += time;
  return sum;
}

void StepParts::Add(const StepParts& other, double weight) {
  for (size_t i = 0; i < kStepPartCount; ++i) {
    times[i] += weight * other.times[i];
    kernels[i] += weight * other.kernels[i];
  }
}

StepParts PartsOfStep(const Target& target, const ForwardPass& pass,
                      OpList& ops) {
  Lower(target.graph(), pass, target.layout(), target.formats(),
        target.fusion(), ops);
  const OpPricer pricer(target.view());
  StepParts parts;
  for (const Op& op : ops) {
    const StepPart part = StepPartOf(op);
    parts.time(part) += op.repeat * pricer.Estimate(op);
    parts.count(part) += op.repeat;
  }
  return parts;
}

}  // namespace mansard::model
