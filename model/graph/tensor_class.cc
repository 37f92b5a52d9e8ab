#include "model/graph/tensor_class.h"

#include <numeric>

namespace mansard::model {

absl::string_view TensorClassName(TensorClass tensor_class) {
  switch (tensor_class) {
    case TensorClass::kEmbedding:
      return "embedding";
    case TensorClass::kPosition:
      return "position";
    case TensorClass::kAttention:
      return "attention";
    case TensorClass::kRecurrent:
      return "recurrent";
    case TensorClass::kFeedForward:
      return "feed_forward";
    case TensorClass::kRouter:
      return "router";
    case TensorClass::kExperts:
      return "experts";
    case TensorClass::kSharedExperts:
      return "shared_experts";
    case TensorClass::kNorm:
      return "norm";
    case TensorClass::kResidual:
      return "residual";
    case TensorClass::kLayerInput:
      return "layer_input";
    case TensorClass::kScale:
      return "scale";
    case TensorClass::kHead:
      return "head";
  }
  return "";
}

int64_t ParameterCounts::Total() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

void ParameterCounts::Add(const ParameterCounts& part, int64_t times) {
  for (size_t i = 0; i < kTensorClassCount; ++i) {
    counts_[i] += times * part.counts_[i];
  }
}

}  // namespace mansard::model
