// A decoder-only transformer as data: layer kinds, how often and where each
// stands, embedding and head. Immutable and complete once created.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/violations.h"

namespace mansard::model {

struct GroupedQueryAttention {
  int query_heads = 0;
  int kv_heads = 0;
  int head_size = 0;  // Not hidden size / query_heads: many models differ.
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;
  // Positions that one position sees, itself included; 0: all earlier ones.
  int64_t sliding_window = 0;

  bool operator==(const GroupedQueryAttention&) const = default;
};

struct DenseFeedForward {
  int64_t intermediate_size = 0;
  bool gated = true;
  bool bias = false;

  bool operator==(const DenseFeedForward&) const = default;
};

struct LayerKind {
  std::string name;
  GroupedQueryAttention attention;
  DenseFeedForward feed_forward;

  bool operator==(const LayerKind&) const = default;
};

// Storage formats of weights, GEMM inputs and KV cache.
struct Precision {
  Format weights = Format::kBf16;
  Format activations = Format::kBf16;
  Format kv_cache = Format::kBf16;

  bool operator==(const Precision&) const = default;
};

struct ModelGraphSpec {
  std::string id;  // Empty for inline graphs.
  std::string display_name;
  std::string source;
  int64_t hidden_size = 0;
  int64_t vocabulary_size = 0;
  std::vector<LayerKind> layer_kinds;
  std::vector<int> layer_kind_indexes;  // One per layer.
  bool tied_embeddings = false;
  Precision native_precision;
  int64_t max_context = 0;
};

enum class TensorClass { kEmbedding, kAttention, kFeedForward, kNorm, kHead };
inline constexpr int kTensorClassCount = 5;
absl::string_view TensorClassName(TensorClass tensor_class);

class ModelGraph {
 public:
  // Checks every rule: sizes 1 to 2^24 (vocabulary 2^28, layers 4096), KV heads
  // divide query heads, kind names unique, indexes in range. Adds what is
  // broken to `violations` and returns nothing then.
  static std::optional<ModelGraph> Create(ModelGraphSpec spec,
                                          Violations& violations);

  const ModelGraphSpec& spec() const { return spec_; }
  int layer_count() const {
    return static_cast<int>(spec_.layer_kind_indexes.size());
  }
  // Layers of a kind.
  int CountOf(size_t kind) const { return kind_counts_[kind]; }

  // Weights and biases of the decoder; a tied head counts once, as embedding.
  int64_t ParameterCount() const;
  int64_t ParameterCount(TensorClass tensor_class) const {
    return parameters_[static_cast<size_t>(tensor_class)];
  }
  // Growth of the KV cache per token, summed over all layers, unsharded:
  // 2 x KV heads x head size a layer.
  Bytes KvBytesPerToken(Format kv_cache) const;

  // The same graph with other KV heads in every layer; adds a violation to
  // `field` when a layer's query heads are not a multiple.
  std::optional<ModelGraph> WithKvHeads(int kv_heads, absl::string_view field,
                                        Violations& violations) const;

 private:
  explicit ModelGraph(ModelGraphSpec spec);

  ModelGraphSpec spec_;
  std::vector<int> kind_counts_;
  int64_t parameters_[kTensorClassCount] = {};
};

// Bytes that one token adds to one layer's cache in `kv_heads` heads: a key and
// a value of `head_size` each. The one place where KV width is defined; time
// and memory both use it.
Bytes KvBytesPerTokenPerLayer(int kv_heads, int head_size, Format kv_cache);

}  // namespace mansard::model
