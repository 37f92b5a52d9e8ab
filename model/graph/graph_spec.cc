#include "model/graph/graph_spec.h"

#include <algorithm>

namespace mansard::model {
namespace {

struct CountEntriesHeld {
  int64_t context;

  CacheEntries Bounded(int64_t bound) const {
    const int64_t held = bound == 0 ? context : std::min(context, bound);
    return {.positions = static_cast<double>(held)};
  }

  CacheEntries operator()(const GroupedQueryAttention& attention) const {
    if (attention.shared_kv) return {};
    return Bounded(attention.sliding_window != 0 ? attention.sliding_window
                                                 : attention.chunk);
  }
  CacheEntries operator()(const LatentAttention& /*attention*/) const {
    return Bounded(0);
  }
  CacheEntries operator()(const CompressedAttention& attention) const {
    CacheEntries held = Bounded(attention.sliding_window);
    if (attention.ratio != 0) {
      held.compressed = static_cast<double>(context / attention.ratio);
    }
    return held;
  }
  CacheEntries operator()(const CrossAttention& /*attention*/) const {
    return {};
  }
};

}  // namespace

int QueryHeads(const Attention& attention) {
  return std::visit([](const auto& a) { return a.query_heads; }, attention);
}

int64_t RecurrentMixer::conv_width() const {
  return rule == StateRule::kMamba ? value_width()
                                   : 2 * key_width() + value_width();
}

int64_t RecurrentMixer::conv_state_elements() const {
  return conv_kernel == 0 ? 0 : conv_width() * (conv_kernel - 1);
}

int64_t KvElementsPerEntry(const GroupedQueryAttention& attention,
                           int kv_heads) {
  if (attention.shared_kv) return 0;
  return int64_t{kv_heads} * (attention.head_size + attention.value_size());
}

int64_t KvElementsPerEntry(const LatentAttention& attention) {
  return attention.kv_lora_rank + attention.rope_head_size;
}

int64_t KvElementsPerEntry(const CompressedAttention& attention) {
  return attention.head_size;
}

int64_t IndexerElementsPerEntry(const Attention& attention) {
  const std::optional<SparseIndexer>* indexer = nullptr;
  if (const auto* latent = std::get_if<LatentAttention>(&attention)) {
    indexer = &latent->indexer;
  } else if (const auto* compressed =
                 std::get_if<CompressedAttention>(&attention)) {
    indexer = &compressed->indexer;
  }
  if (indexer == nullptr || !indexer->has_value()) return 0;
  return (*indexer)->heads == 0 ? 0 : (*indexer)->head_size;
}

CacheEntries EntriesHeld(const Attention& attention, int64_t context) {
  return std::visit(CountEntriesHeld{context}, attention);
}

bool HasLinear(const LayerKind& kind, LinearClass linear) {
  const auto* experts = std::get_if<MixtureOfExperts>(&kind.feed_forward);
  switch (linear) {
    case LinearClass::kAttentionInput:
    case LinearClass::kAttentionOutput:
      return kind.attention.has_value();
    case LinearClass::kRecurrent:
      return kind.recurrent.has_value();
    case LinearClass::kFeedForward:
      return std::holds_alternative<DenseFeedForward>(kind.feed_forward);
    case LinearClass::kExperts:
    case LinearClass::kRouter:
      return experts != nullptr;
    case LinearClass::kSharedExperts:
      return experts != nullptr && experts->shared_intermediate_size != 0;
    case LinearClass::kLatentExperts:
      return experts != nullptr && experts->latent_size != 0;
    case LinearClass::kHead:
    case LinearClass::kEmbedding:
      return false;
  }
  return false;
}

}  // namespace mansard::model
