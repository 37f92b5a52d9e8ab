#include "model/estimate/advice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

OpClass ClassOf(OpKind kind) {
  switch (kind) {
    case OpKind::kGemm:
    case OpKind::kGroupedGemm:
      return OpClass::kGemm;
    case OpKind::kAttentionDecode:
      return OpClass::kDecodeAttention;
    case OpKind::kAttentionPrefill:
      return OpClass::kPrefillAttention;
    case OpKind::kEmbedding:
    case OpKind::kNorm:
    case OpKind::kRope:
    case OpKind::kActivation:
    case OpKind::kResidual:
    case OpKind::kAdd:
    case OpKind::kQuantize:
    case OpKind::kDequantize:
    case OpKind::kRouting:
    case OpKind::kCombine:
    case OpKind::kGate:
    case OpKind::kConvolution:
    case OpKind::kStateUpdate:
    case OpKind::kStateScan:
    case OpKind::kIndexScores:
    case OpKind::kSelect:
    case OpKind::kCompress:
    case OpKind::kStreamMix:
    case OpKind::kSampling:
      return OpClass::kElementwise;
    case OpKind::kAllReduce:
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll:
    case OpKind::kBroadcast:
    case OpKind::kSendReceive:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertCombine:
      return OpClass::kCollective;
    case OpKind::kHost:
      return OpClass::kHost;
  }
  return OpClass::kHost;
}

// The formats that some shapes have.
struct WeightFormat {
  std::optional<Format> operator()(const GemmShape& s) const {
    return s.weights;
  }
  std::optional<Format> operator()(const GroupedGemmShape& s) const {
    return s.weights;
  }
  template <class Shape>
  std::optional<Format> operator()(const Shape&) const {
    return std::nullopt;
  }
};

struct InputFormat {
  std::optional<Format> operator()(const ElementwiseShape&) const {
    return std::nullopt;
  }
  std::optional<Format> operator()(const CollectiveShape&) const {
    return std::nullopt;
  }
  std::optional<Format> operator()(const ExchangeShape&) const {
    return std::nullopt;
  }
  std::optional<Format> operator()(const HostShape&) const {
    return std::nullopt;
  }
  template <class Shape>
  std::optional<Format> operator()(const Shape& s) const {
    return s.input;
  }
};

struct KvFormat {
  std::optional<Format> operator()(const AttentionShape& s) const {
    return s.kv_cache;
  }
  std::optional<Format> operator()(const LatentAttentionShape& s) const {
    return s.kv_cache;
  }
  std::optional<Format> operator()(const CompressedAttentionShape& s) const {
    return s.kv_cache;
  }
  std::optional<Format> operator()(const IndexShape& s) const {
    return s.kv_cache;
  }
  template <class Shape>
  std::optional<Format> operator()(const Shape&) const {
    return std::nullopt;
  }
};

struct IsUnfused {
  bool operator()(const AttentionShape& s) const { return !s.fused; }
  bool operator()(const LatentAttentionShape& s) const { return !s.fused; }
  bool operator()(const CompressedAttentionShape& s) const { return !s.fused; }
  template <class Shape>
  bool operator()(const Shape&) const {
    return false;
  }
};

bool MostOf(Bytes part, Bytes whole) {
  return part > Bytes::Zero() && 2 * part >= whole;
}

bool HasNarrowerRate(Format compute, const Device& device) {
  if (IsLowPrecision(compute)) return false;
  const auto formats = AllFormats();
  return std::any_of(formats.begin(), formats.end(), [&](Format format) {
    return IsLowPrecision(format) && device.HasTensor(format) &&
           device.TensorRate(format) > device.TensorRate(compute);
  });
}

bool Holds(Situation situation, const Op& op, const OpTime& time,
           const Device& device) {
  const Traffic& traffic = time.traffic;
  const std::optional<Format> weights = std::visit(WeightFormat{}, op.shape);
  const std::optional<Format> kv = std::visit(KvFormat{}, op.shape);
  const bool most_weights = MostOf(traffic.hbm_weights, traffic.hbm());
  const bool most_kv = MostOf(traffic.hbm_kv, traffic.hbm());
  switch (situation) {
    case Situation::kAlways:
      return true;
    case Situation::kFasterFormat: {
      const std::optional<Format> compute = TensorFormat(op);
      return compute.has_value() && HasNarrowerRate(*compute, device);
    }
    case Situation::kWidenedWeights: {
      const std::optional<Format> input = std::visit(InputFormat{}, op.shape);
      return weights.has_value() && input.has_value() &&
             TraitsOf(*weights).element_bits < TraitsOf(*input).element_bits;
    }
    case Situation::kWideWeights:
      return most_weights && weights.has_value() && !IsLowPrecision(*weights);
    case Situation::kNarrowWeights:
      return most_weights && weights.has_value() && IsLowPrecision(*weights);
    case Situation::kWideKv:
      return most_kv && kv.has_value() && !IsLowPrecision(*kv);
    case Situation::kNarrowKv:
      return most_kv && kv.has_value() && IsLowPrecision(*kv);
    case Situation::kUnfusedScores:
      return std::visit(IsUnfused{}, op.shape);
    case Situation::kSpilled:
      return !StaysInL2(op, device);
  }
  return false;
}

}  // namespace

const AdviceRow& AdviceRowFor(const Op& op, const OpTime& time,
                              const Device& device) {
  const OpClass op_class = ClassOf(op.kind);
  const std::vector<AdviceRow>& table = AdviceTable();
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const AdviceRow& candidate) {
        return candidate.limit == time.limiting &&
               (candidate.op_class == OpClass::kEvery ||
                candidate.op_class == op_class) &&
               Holds(candidate.situation, op, time, device);
      });
  return row == table.end() ? table.back() : *row;
}

std::string AdviceFor(const Op& op, const OpTime& time, const Device& device) {
  const AdviceRow& row = AdviceRowFor(op, time, device);
  return absl::StrCat(ResourceName(row.limit), ": ", row.cause, "; ",
                      row.direction);
}

}  // namespace mansard::model
