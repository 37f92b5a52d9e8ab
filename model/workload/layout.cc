#include "model/workload/layout.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mansard::model {
namespace {

struct BrokenMixerRule {
  int tensor;

  std::string operator()(const GroupedQueryAttention& attention) const {
    if (attention.query_heads % tensor != 0) {
      return absl::StrCat("does not divide the query heads, ",
                          attention.query_heads);
    }
    if (attention.kv_heads % tensor != 0 && tensor % attention.kv_heads != 0) {
      return absl::StrCat("neither divides the KV heads, ", attention.kv_heads,
                          ", nor is a multiple of them");
    }
    return "";
  }
  std::string operator()(const LatentAttention& attention) const {
    return Divides("query heads", attention.query_heads);
  }
  std::string operator()(const CompressedAttention& attention) const {
    std::string broken = Divides("query heads", attention.query_heads);
    if (!broken.empty()) return broken;
    return Divides("groups of the output projection", attention.output_groups);
  }
  std::string operator()(const CrossAttention& attention) const {
    return (*this)(GroupedQueryAttention{.query_heads = attention.query_heads,
                                         .kv_heads = attention.kv_heads});
  }
  std::string operator()(const RecurrentMixer& mixer) const {
    std::string broken = Divides("recurrent heads", mixer.heads);
    if (!broken.empty()) return broken;
    if (mixer.key_heads % tensor != 0 && tensor % mixer.key_heads != 0) {
      return absl::StrCat("neither divides the key heads, ", mixer.key_heads,
                          ", nor is a multiple of them");
    }
    return "";
  }

  std::string Divides(absl::string_view what, int count) const {
    if (count % tensor == 0) return "";
    return absl::StrCat("does not divide the ", what, ", ", count);
  }
};

struct BrokenFeedForwardRule {
  int tensor;

  std::string operator()(const NoFeedForward& /*none*/) const { return ""; }
  std::string operator()(const DenseFeedForward& feed_forward) const {
    return Width("feed-forward width", feed_forward.intermediate_size);
  }
  std::string operator()(const MixtureOfExperts& experts) const {
    std::string broken =
        Width("experts' width", experts.expert_intermediate_size);
    if (!broken.empty()) return broken;
    return Width("shared experts' width", experts.shared_intermediate_size);
  }

  std::string Width(absl::string_view what, int64_t width) const {
    if (width % tensor == 0) return "";
    return absl::StrCat("does not divide the ", what, ", ", width);
  }
};

// What keeps `tensor` from dividing a layer; empty when nothing does.
std::string BrokenRule(int tensor, const LayerKind& kind) {
  const BrokenMixerRule rule{tensor};
  if (kind.attention.has_value()) {
    std::string broken = std::visit(rule, *kind.attention);
    if (!broken.empty()) return broken;
  }
  if (kind.recurrent.has_value()) {
    std::string broken = rule(*kind.recurrent);
    if (!broken.empty()) return broken;
  }
  return std::visit(BrokenFeedForwardRule{tensor}, kind.feed_forward);
}

std::string BrokenRule(int tensor, const ModelGraph& graph) {
  for (const LayerKind& kind : graph.spec().layer_kinds) {
    std::string broken = BrokenRule(tensor, kind);
    if (!broken.empty()) return broken;
  }
  return "";
}

std::string LegalTensorSizes(const ModelGraph& graph, const Fabric& fabric) {
  std::vector<int> legal;
  for (int tensor = 1; tensor <= fabric.NodeDevices(); ++tensor) {
    if (BrokenRule(tensor, graph).empty()) legal.push_back(tensor);
  }
  return absl::StrJoin(legal, ", ");
}

void CheckTensor(int tensor, const ModelGraph& graph, const Fabric& fabric,
                 Violations& violations) {
  std::string broken;
  if (tensor < 1) {
    broken = "is not a number of devices";
  } else if (tensor > fabric.NodeDevices()) {
    broken = absl::StrCat("exceeds the ", fabric.NodeDevices(),
                          " devices of one node of fabric \"", fabric.spec().id,
                          "\"");
  } else {
    broken = BrokenRule(tensor, graph);
  }
  if (!broken.empty()) {
    violations.Add(
        "tensor_size",
        absl::StrCat("is ", tensor, ", which ", broken,
                     "; allowed: ", LegalTensorSizes(graph, fabric)));
  }
}

void CheckOne(absl::string_view field, int size, Violations& violations) {
  if (size != 0 && size != 1) {
    violations.Add(field, absl::StrCat("is ", size,
                                       "; allowed in this version: 1 (only "
                                       "tensor parallelism is modelled)"));
  }
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
  const size_t before = violations.all().size();
  const int tensor = parallelism.tensor == 0 ? 1 : parallelism.tensor;
  CheckTensor(tensor, graph, fabric, violations);
  CheckOne("pipeline_size", parallelism.pipeline, violations);
  CheckOne("expert_size", parallelism.expert, violations);
  CheckOne("data_size", parallelism.data, violations);
  CheckOne("moe_tensor_size", parallelism.moe_tensor, violations);
  CheckOne("context_size", parallelism.context, violations);
  CheckOne("node_count", parallelism.nodes, violations);
  if (violations.all().size() != before) return std::nullopt;
  if (tensor == 1) return Layout(1, std::nullopt);
  // Not null: tensor is at most NodeDevices().
  return Layout(tensor, fabric.LinkFor(tensor)->tier);
}

int Layout::KvHeadsPerRank(int kv_heads) const {
  return kv_heads < tensor_ ? 1 : kv_heads / tensor_;
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
  const CacheEntries held = EntriesHeld(attention, group.context());
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
  mine.heads = mixer.heads / tensor_;
  mine.key_heads = KvHeadsPerRank(mixer.key_heads);
  return mine;
}

int Layout::QueryHeadsPerRank(const Attention& attention) const {
  return QueryHeads(attention) / tensor_;
}

int64_t Layout::VocabularyPerRank(const ModelGraph& graph) const {
  return (graph.spec().vocabulary_size + tensor_ - 1) / tensor_;
}

}  // namespace mansard::model
