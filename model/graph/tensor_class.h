// Which part of a model a weight belongs to. Sharding, storage format and
// reports go by these classes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace mansard::model {

enum class TensorClass {
  kEmbedding,      // Tables by token id, projections on their way in.
  kPosition,       // Learned position table.
  kAttention,      // Projections, biases, sinks, indexer, compressor.
  kRecurrent,      // Projections, convolution, decays, skips.
  kFeedForward,    // Dense ones.
  kRouter,         // With the projections into and out of a latent width.
  kExperts,        // Routed ones.
  kSharedExperts,  // With their gate.
  kNorm,
  kResidual,    // Mixing of parallel residual streams.
  kLayerInput,  // Projections of a second embedding into the layers.
  kScale,       // Scales and gates without an op of their own.
  kHead,        // Output table and its bias, projections on the way to it.
};
inline constexpr size_t kTensorClassCount = 13;

// "embedding", "feed_forward": stable words, as reports and the API have them.
absl::string_view TensorClassName(TensorClass tensor_class);

// Parameters by class.
class ParameterCounts {
 public:
  int64_t& operator[](TensorClass tensor_class) {
    return counts_[static_cast<size_t>(tensor_class)];
  }
  int64_t operator[](TensorClass tensor_class) const {
    return counts_[static_cast<size_t>(tensor_class)];
  }
  int64_t Total() const;
  // Adds every class of `part`, `times` over.
  void Add(const ParameterCounts& part, int64_t times);

  bool operator==(const ParameterCounts&) const = default;

 private:
  std::array<int64_t, kTensorClassCount> counts_ = {};
};

}  // namespace mansard::model
