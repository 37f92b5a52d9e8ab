#include "model/workload/layout.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mansard::model {
namespace {

struct BrokenAttentionRule {
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
    if (attention.query_heads % tensor == 0) return "";
    return absl::StrCat("does not divide the query heads, ",
                        attention.query_heads);
  }
};

struct BrokenFeedForwardRule {
  int tensor;

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
  std::string broken = std::visit(BrokenAttentionRule{tensor}, kind.attention);
  if (!broken.empty()) return broken;
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

int Layout::KvHeadsPerRank(const GroupedQueryAttention& attention) const {
  return attention.kv_heads < tensor_ ? 1 : attention.kv_heads / tensor_;
}

int64_t Layout::KvElementsPerRank(const Attention& attention) const {
  if (const auto* grouped = std::get_if<GroupedQueryAttention>(&attention)) {
    return KvElementsPerToken(*grouped, KvHeadsPerRank(*grouped));
  }
  return KvElementsPerToken(std::get<LatentAttention>(attention));
}

int Layout::QueryHeadsPerRank(const Attention& attention) const {
  return QueryHeads(attention) / tensor_;
}

int64_t Layout::VocabularyPerRank(const ModelGraph& graph) const {
  return (graph.spec().vocabulary_size + tensor_ - 1) / tensor_;
}

}  // namespace mansard::model
