#include "model/workload/layout.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/workload/layout_rules.h"

namespace mansard::model {
namespace {

// `count` ranks of which neighbours are `stride` devices apart.
std::vector<int> Every(int stride, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(i * stride);
  return ranks;
}

// The nearest tier within a node that joins all of them.
LinkTier TierWithinNode(const std::vector<int>& ranks, int node_devices,
                        const Fabric& fabric) {
  LinkTier tier = LinkTier::kNvlink;
  for (const Link& link : fabric.spec().links) {
    if (link.tier == LinkTier::kRdma) continue;
    tier = link.tier;
    const auto domain = [&](int rank) {
      return rank % node_devices / link.domain_devices;
    };
    if (std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
          return domain(rank) == domain(ranks.front());
        })) {
      break;
    }
  }
  return tier;
}

RankGroup GroupOf(const std::vector<int>& ranks, int node_devices,
                  const Fabric& fabric) {
  RankGroup group;
  group.ranks = static_cast<int>(ranks.size());
  if (group.ranks == 1) return group;
  std::map<int, int> by_node;
  for (int rank : ranks) ++by_node[rank / node_devices];
  if (by_node.size() == 1) {
    group.tier = TierWithinNode(ranks, node_devices, fabric);
    return group;
  }
  group.tier = LinkTier::kRdma;
  group.node_ranks = group.ranks / static_cast<int>(by_node.size());
  return group;
}

}  // namespace

bool AttendsToEncoder(const LayerKind& kind) {
  return kind.attention.has_value() &&
         std::holds_alternative<CrossAttention>(*kind.attention);
}

bool AttendsToEncoder(const ModelGraph& graph) {
  for (const LayerKind& kind : graph.spec().layer_kinds) {
    if (AttendsToEncoder(kind)) return true;
  }
  return false;
}

std::optional<Layout> Layout::Create(const Parallelism& parallelism,
                                     const ModelGraph& graph,
                                     const Fabric& fabric,
                                     Violations& violations) {
  const std::optional<Parallelism> sizes =
      ResolveSizes(parallelism, graph, fabric, violations);
  if (!sizes.has_value()) return std::nullopt;
  return Layout(*sizes, graph.layer_count(), fabric);
}

Layout::Layout(const Parallelism& sizes, int layers, const Fabric& fabric)
    : sizes_(sizes), layers_(layers) {
  const auto group = [&](const std::vector<int>& ranks) {
    return GroupOf(ranks, NodeDevices(), fabric);
  };
  const int data_stride = tensor() * context();
  groups_.tensor = group(Every(1, tensor()));
  groups_.context = group(Every(tensor(), context()));
  groups_.data = group(Every(data_stride, data()));
  // By (data, tensor), of the first context rank.
  std::vector<int> experts;
  for (int i = 0; i < expert(); ++i) {
    const int rank = i * moe_tensor();
    experts.push_back(rank / tensor() * data_stride + rank % tensor());
  }
  groups_.expert = group(experts);
  groups_.gather =
      group(Every(data_stride, std::max(1, moe_tensor() / tensor())));
  if (pipeline() == 1) return;
  for (int stage = 0; stage + 1 < pipeline(); ++stage) {
    const int from = stage * stage_devices();
    const RankGroup hop = group({from, from + stage_devices()});
    (hop.tier == LinkTier::kRdma ? groups_.node_transfer : groups_.transfer) =
        hop;
  }
}

RankGroup Layout::TransferGroup(int stage) const {
  const int from = stage * stage_devices();
  const bool crosses =
      from / NodeDevices() != (from + stage_devices()) / NodeDevices();
  return crosses ? groups_.node_transfer : groups_.transfer;
}

std::optional<LinkTier> Layout::tensor_tier() const {
  if (tensor() == 1) return std::nullopt;
  return groups_.tensor.tier;
}

std::vector<LinkTier> Layout::Tiers() const {
  std::vector<LinkTier> tiers;
  for (const RankGroup& group :
       {groups_.tensor, groups_.context, groups_.data, groups_.expert,
        groups_.gather, groups_.transfer, groups_.node_transfer}) {
    if (group.ranks == 1 ||
        std::find(tiers.begin(), tiers.end(), group.tier) != tiers.end()) {
      continue;
    }
    tiers.push_back(group.tier);
  }
  return tiers;
}

int Layout::StageBegin(int stage) const {
  const int even = layers_ / pipeline();
  const int more = layers_ % pipeline();
  // The stages that have one more end before the last.
  const int first_with_more = pipeline() - 1 - more;
  return stage * even + std::clamp(stage - first_with_more, 0, more);
}

int Layout::StageOf(int layer) const {
  int stage = 0;
  while (StageEnd(stage) <= layer) ++stage;
  return stage;
}

int Layout::CountInStage(const ModelGraph& graph, size_t kind,
                         int stage) const {
  if (pipeline() == 1) return graph.CountOf(kind);
  const auto& layers = graph.spec().layer_kind_indexes;
  return static_cast<int>(std::count(layers.begin() + StageBegin(stage),
                                     layers.begin() + StageEnd(stage),
                                     static_cast<int>(kind)));
}

int Layout::KvHeadsPerRank(int kv_heads) const {
  return kv_heads < tensor() ? 1 : kv_heads / tensor();
}

int64_t Layout::KvElementsPerRank(const Attention& attention) const {
  struct Width {
    const Layout& layout;
    int64_t operator()(const GroupedQueryAttention& a) const {
      return KvElementsPerEntry(a, layout.KvHeadsPerRank(a.kv_heads));
    }
    int64_t operator()(const LatentAttention& a) const {
      return KvElementsPerEntry(a);
    }
    int64_t operator()(const CompressedAttention& a) const {
      return KvElementsPerEntry(a);
    }
    int64_t operator()(const CrossAttention& /*a*/) const { return 0; }
  };
  return std::visit(Width{*this}, attention);
}

int64_t Layout::EncoderElementsPerRank(const Attention& attention) const {
  const auto* cross = std::get_if<CrossAttention>(&attention);
  if (cross == nullptr) return 0;
  return KvElementsPerEntry(
      GroupedQueryAttention{.head_size = cross->head_size},
      KvHeadsPerRank(cross->kv_heads));
}

double Layout::CachedElements(const Attention& attention,
                              const RequestGroup& group) const {
  const CacheEntries held = EntriesOnRank(attention, group.context());
  const int64_t index = IndexerElementsPerEntry(attention);
  // An indexer's keys are of what it chooses among: entries where positions
  // are compressed, else positions.
  const bool compressed =
      std::holds_alternative<CompressedAttention>(attention);
  return (held.positions + held.compressed) *
             static_cast<double>(KvElementsPerRank(attention)) +
         (compressed ? held.compressed : held.positions) *
             static_cast<double>(index) +
         static_cast<double>(group.encoder_tokens) *
             static_cast<double>(EncoderElementsPerRank(attention));
}

CacheEntries Layout::EntriesOnRank(const Attention& attention,
                                   int64_t entries) const {
  CacheEntries held = EntriesHeld(attention, entries);
  if (context() > 1) held.positions = std::ceil(held.positions / context());
  return held;
}

int64_t Layout::PooledStateElements(const Attention& attention) const {
  const auto* compressed = std::get_if<CompressedAttention>(&attention);
  if (compressed == nullptr || compressed->ratio == 0) return 0;
  const int64_t entries = compressed->overlap ? 2 : 1;
  // A position is in as many entries, with channels for each.
  const int64_t channels =
      entries * (compressed->head_size + IndexerElementsPerEntry(attention));
  return entries * compressed->ratio * 2 * channels;
}

RecurrentMixer Layout::OnRank(const RecurrentMixer& mixer) const {
  RecurrentMixer mine = mixer;
  mine.heads = mixer.heads / tensor();
  mine.key_heads = KvHeadsPerRank(mixer.key_heads);
  return mine;
}

int Layout::QueryHeadsPerRank(const Attention& attention) const {
  return QueryHeads(attention) / tensor();
}

int64_t Layout::VocabularyPerRank(const ModelGraph& graph) const {
  return (graph.spec().vocabulary_size + tensor() - 1) / tensor();
}

}  // namespace mansard::model
