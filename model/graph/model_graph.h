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
#include "model/graph/tensor_class.h"

namespace mansard::model {

class ModelGraph {
 public:
  // Checks every rule of graph_rules.h. Adds what is broken to `violations` and
  // returns nothing then.
  static std::optional<ModelGraph> Create(ModelGraphSpec spec,
                                          Violations& violations);

  const ModelGraphSpec& spec() const { return spec_; }
  int layer_count() const {
    return static_cast<int>(spec_.layer_kind_indexes.size());
  }
  // Experts of the layers that have any; 0 where none has. The largest number
  // where kinds differ.
  int ExpertCount() const;
  // Layers of a kind, those of drafting modules not included.
  int CountOf(size_t kind) const { return kind_counts_[kind]; }

  // Weights and biases of the decoder; a tied head counts once, as embedding.
  // Drafting modules are beyond it.
  int64_t ParameterCount() const { return parameters_.Total(); }
  int64_t ParameterCount(TensorClass tensor_class) const {
    return parameters_[tensor_class];
  }
  // Of those, what one token uses: all but the experts it is not sent to.
  int64_t ActiveParameterCount() const {
    return ParameterCount() - idle_parameters_;
  }
  // And without the tables of which a token uses one row, or that are counted
  // apart by custom: embeddings and head. Learned positions stay in.
  int64_t ActiveParameterCountWithoutEmbeddings() const {
    return ActiveParameterCount() - table_parameters_;
  }
  // All drafting modules together: their layers, the projection of hidden state
  // and embedding, their norms, tables of their own. 0 without modules.
  int64_t MtpParameterCount() const { return mtp_parameters_; }

  // Growth of the KV cache per token, summed over all layers, unsharded,
  // while windows and chunks are not full yet. Of compressed attention, the
  // compressed entries: its window is of constant size. Indexer keys are apart.
  Bytes KvBytesPerToken(Format kv_cache) const;
  // The same once every window and chunk is full.
  Bytes UnboundedKvBytesPerToken(Format kv_cache) const;
  // Growth of the indexers' key caches per token.
  Bytes IndexerBytesPerToken(Format kv_cache) const;
  // What a sequence keeps whatever its length: recurrent states in `state`, the
  // inputs that convolutions look back to in `convolution`.
  Bytes StateBytesPerSequence(Format state, Format convolution) const;

  // The same graph with other KV heads in every layer that has some (grouped
  // queries); adds a violation to `field` when the query heads of one are not a
  // multiple, or no layer has any.
  std::optional<ModelGraph> WithKvHeads(int kv_heads, absl::string_view field,
                                        Violations& violations) const;

 private:
  explicit ModelGraph(ModelGraphSpec spec);

  void CountParameters();

  ModelGraphSpec spec_;
  std::vector<int> kind_counts_;
  ParameterCounts parameters_;
  int64_t idle_parameters_ = 0;   // Of experts that a token is not sent to.
  int64_t table_parameters_ = 0;  // By token id, in and out.
  int64_t mtp_parameters_ = 0;
};

}  // namespace mansard::model
