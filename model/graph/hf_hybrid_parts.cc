#include "model/graph/hf_hybrid_parts.h"

#include <algorithm>
#include <utility>

#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_names.h"

namespace mansard::model {

bool Any(const std::vector<bool>& flags, bool value) {
  return std::find(flags.begin(), flags.end(), value) != flags.end();
}

void IgnoreAttention(HfFile& file) {
  file.Ignore(kQueryHeadsKey);
  file.Ignore(kKvHeadsKey);
  file.Ignore(kHeadSizeKey);
  file.Ignore(file.family().qkv_bias.keys);
}

FeedForwards ReadFeedForwards(HfFile& file, int64_t hidden_size,
                              std::vector<bool> has_experts) {
  FeedForwards result;
  result.has_experts = std::move(has_experts);
  if (Any(result.has_experts, true)) {
    result.experts = ReadExperts(file);
    // Switched off.
    if (result.experts.expert_count == 0) {
      result.has_experts.assign(result.has_experts.size(), false);
    }
  }
  if (Any(result.has_experts, false)) {
    result.dense = ReadDense(file, hidden_size);
  } else if (!HasName(file.family().experts.width, "intermediate_size")) {
    file.Ignore("intermediate_size");
  }
  return result;
}

FeedForwards ReadFeedForwards(HfFile& file, int64_t hidden_size,
                              int64_t layer_count) {
  std::vector<bool> has_experts(static_cast<size_t>(layer_count));
  if (!file.family().experts.count.empty()) {
    has_experts = ReadExpertLayers(file, layer_count);
  }
  return ReadFeedForwards(file, hidden_size, std::move(has_experts));
}

void AddHybridLayers(HfFile& file, const AttentionLayers& attention_layers,
                     const Attention& attention,
                     const RecurrentMixer& recurrent,
                     const FeedForwards& feed_forwards, ModelGraphSpec& spec) {
  if (attention_layers.size() != feed_forwards.has_experts.size()) return;
  for (size_t i = 0; i < attention_layers.size(); ++i) {
    LayerKind layer = BareLayer(file);
    if (attention_layers[i]) {
      layer.attention = attention;
    } else {
      layer.recurrent = recurrent;
    }
    layer.feed_forward = feed_forwards.Of(i);
    AddLayer(std::move(layer), spec);
  }
}

}  // namespace mansard::model
