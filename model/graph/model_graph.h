// A decoder-only transformer as data: layer kinds, how often and where each
// stands, embedding and head. Immutable and complete once created.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

enum class TensorClass { kEmbedding, kAttention, kFeedForward, kNorm, kHead };
inline constexpr int kTensorClassCount = 5;
absl::string_view TensorClassName(TensorClass tensor_class);

class ModelGraph {
 public:
  // Checks every rule: sizes 1 to 2^24 (vocabulary 2^28, layers 4096), KV heads
  // divide query heads, kind names unique, indexes in range, no more experts
  // for a token than there are. Adds what is
  // broken to `violations` and returns nothing then.
  static std::optional<ModelGraph> Create(ModelGraphSpec spec,
                                          Violations& violations);

  const ModelGraphSpec& spec() const { return spec_; }
  int layer_count() const {
    return static_cast<int>(spec_.layer_kind_indexes.size());
  }
  // Experts of the layers that have any; 0 where none has. The largest number
  // where kinds differ.
  int ExpertCount() const;
  // Layers of a kind.
  int CountOf(size_t kind) const { return kind_counts_[kind]; }

  // Weights and biases of the decoder; a tied head counts once, as embedding.
  int64_t ParameterCount() const;
  // Of those, what one token uses: all but the experts it is not sent to.
  int64_t ActiveParameterCount() const;
  int64_t ParameterCount(TensorClass tensor_class) const {
    return parameters_[static_cast<size_t>(tensor_class)];
  }
  // Growth of the KV cache per token, summed over all layers, unsharded.
  Bytes KvBytesPerToken(Format kv_cache) const;

  // The same graph with other KV heads in every layer; adds a violation to
  // `field` when a layer's query heads are not a multiple, or it has no KV
  // heads to change (latent attention).
  std::optional<ModelGraph> WithKvHeads(int kv_heads, absl::string_view field,
                                        Violations& violations) const;

 private:
  explicit ModelGraph(ModelGraphSpec spec);

  ModelGraphSpec spec_;
  std::vector<int> kind_counts_;
  int64_t parameters_[kTensorClassCount] = {};
  int64_t idle_parameters_ = 0;  // Of experts that a token is not sent to.
};

}  // namespace mansard::model
