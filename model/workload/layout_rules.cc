#include "model/workload/layout_rules.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/workload/forward_pass.h"

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

std::string BrokenWidth(absl::string_view what, int64_t width, int ranks) {
  if (width % ranks == 0) return "";
  return absl::StrCat("does not divide the ", what, ", ", width);
}

struct BrokenFeedForwardRule {
  int tensor;

  std::string operator()(const NoFeedForward& /*none*/) const { return ""; }
  std::string operator()(const DenseFeedForward& feed_forward) const {
    return BrokenWidth("feed-forward width", feed_forward.intermediate_size,
                       tensor);
  }
  std::string operator()(const MixtureOfExperts& experts) const {
    return BrokenWidth("shared experts' width",
                       experts.shared_intermediate_size, tensor);
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

// What keeps `ranks` from sharing the width of each expert.
std::string BrokenExpertWidth(int ranks, const ModelGraph& graph) {
  for (const LayerKind& kind : graph.spec().layer_kinds) {
    const auto* experts = std::get_if<MixtureOfExperts>(&kind.feed_forward);
    if (experts == nullptr) continue;
    std::string broken =
        BrokenWidth("experts' width", experts->expert_intermediate_size, ranks);
    if (!broken.empty()) return broken;
  }
  return "";
}

std::string BrokenRule(int tensor, const ModelGraph& graph) {
  for (const LayerKind& kind : graph.spec().layer_kinds) {
    std::string broken = BrokenRule(tensor, kind);
    if (!broken.empty()) return broken;
  }
  return "";
}

class Resolver {
 public:
  Resolver(const Parallelism& asked, const ModelGraph& graph,
           const Fabric& fabric, Violations& violations)
      : asked_(asked),
        graph_(graph),
        fabric_(fabric),
        violations_(violations),
        several_nodes_(fabric.FindLink(LinkTier::kRdma) != nullptr) {}

  std::optional<Parallelism> Run() {
    const size_t before = violations_.all().size();
    TakeTensor();
    Take("data_size", asked_.data, Parallelism::kMaxDevices, sizes_.data);
    if (ok_ || graph_.ExpertCount() == 0) {
      TakeExperts();
    } else {
      CheckNotNegative("expert_size", asked_.expert);
      CheckNotNegative("moe_tensor_size", asked_.moe_tensor);
    }
    Take("pipeline_size", asked_.pipeline, graph_.layer_count(),
         sizes_.pipeline);
    TakeContext();
    Take("micro_batch_count", asked_.micro_batches, ForwardPass::kMaxRequests,
         sizes_.micro_batches);
    if (ok_) {
      TakeNodes();
    } else {
      CheckNotNegative("node_count", asked_.nodes);
    }
    if (asked_.micro_batches > 1 && sizes_.pipeline == 1) {
      violations_.Add("micro_batch_count",
                      absl::StrCat("is ", asked_.micro_batches,
                                   "; allowed without a pipeline: 1"));
    }
    if (violations_.all().size() != before) return std::nullopt;
    return sizes_;
  }

 private:
  // 0 means 1.
  void Take(absl::string_view field, int asked, int64_t most, int& size) {
    if (asked != 0 &&
        !violations_.CheckRange(field, asked, 1, static_cast<double>(most))) {
      ok_ = false;
    }
    size = std::max(asked, 1);
  }

  // Of sizes whose own rule cannot be judged.
  void CheckNotNegative(absl::string_view field, int asked) {
    if (asked < 0) {
      violations_.CheckRange(field, asked, 0, Parallelism::kMaxDevices);
    }
  }

  void TakeContext() {
    Take("context_size", asked_.context, Parallelism::kMaxDevices,
         sizes_.context);
    if (asked_.context <= 1) return;
    for (const LayerKind& kind : graph_.spec().layer_kinds) {
      if (TakesContext(kind)) continue;
      violations_.Add(
          "context_size",
          absl::StrCat("is ", asked_.context, ", but layers of kind \"",
                       kind.name,
                       "\" are neither of grouped nor of latent attention "
                       "without an indexer; allowed: 1"));
      return;
    }
  }

  static bool TakesContext(const LayerKind& kind) {
    if (kind.recurrent.has_value()) return false;
    if (!kind.attention.has_value()) return true;
    if (const auto* latent = std::get_if<LatentAttention>(&*kind.attention)) {
      return !latent->indexer.has_value();
    }
    const auto* grouped = std::get_if<GroupedQueryAttention>(&*kind.attention);
    return grouped != nullptr && grouped->chunk == 0 && !grouped->shared_kv;
  }

  // Tensor parallelism shares the experts' width, too, where nothing else says
  // how they are shared.
  bool SharesExpertsByTensor() const {
    return asked_.expert == 0 && asked_.moe_tensor == 0 && asked_.data <= 1;
  }

  std::string BrokenTensor(int tensor) const {
    std::string broken = BrokenRule(tensor, graph_);
    if (broken.empty() && SharesExpertsByTensor()) {
      broken = BrokenExpertWidth(tensor, graph_);
    }
    return broken;
  }

  std::string LegalTensorSizes() const {
    const int most = several_nodes_ ? kMostListed : fabric_.NodeDevices();
    std::vector<int> legal;
    for (int tensor = 1; tensor <= most; ++tensor) {
      if (BrokenTensor(tensor).empty()) legal.push_back(tensor);
    }
    return absl::StrJoin(legal, ", ");
  }

  void TakeTensor() {
    const int tensor = asked_.tensor == 0 ? 1 : asked_.tensor;
    std::string broken;
    if (tensor < 1) {
      broken = "is not a number of devices";
    } else if (!several_nodes_ && tensor > fabric_.NodeDevices()) {
      broken = absl::StrCat("exceeds the ", fabric_.NodeDevices(),
                            " devices of one node of fabric \"",
                            fabric_.spec().id, "\"");
    } else {
      broken = BrokenTensor(tensor);
    }
    sizes_.tensor = std::max(tensor, 1);
    if (broken.empty()) return;
    ok_ = false;
    violations_.Add("tensor_size",
                    absl::StrCat("is ", tensor, ", which ", broken,
                                 "; allowed: ", LegalTensorSizes()));
  }

  // What keeps `moe_tensor` and the expert size that goes with it.
  std::string BrokenExperts(int64_t expert) const {
    const int64_t ranks = int64_t{sizes_.tensor} * sizes_.data;
    if (expert < 1 || ranks % expert != 0) {
      return absl::StrCat("does not divide tensor_size x data_size, ", ranks);
    }
    for (const LayerKind& kind : graph_.spec().layer_kinds) {
      const auto* experts = std::get_if<MixtureOfExperts>(&kind.feed_forward);
      if (experts != nullptr && experts->expert_count % expert != 0) {
        return absl::StrCat("does not divide the experts, ",
                            experts->expert_count);
      }
    }
    const auto moe_tensor = static_cast<int>(ranks / expert);
    std::string broken = BrokenExpertWidth(moe_tensor, graph_);
    if (broken.empty() && moe_tensor % sizes_.tensor != 0 &&
        sizes_.tensor % moe_tensor != 0) {
      broken = absl::StrCat("neither divides tensor_size, ", sizes_.tensor,
                            ", nor is a multiple of it");
    }
    if (broken.empty()) return "";
    return absl::StrCat("leaves moe_tensor_size ", moe_tensor, ", which ",
                        broken);
  }

  std::string LegalExpertSizes() const {
    const int64_t ranks = int64_t{sizes_.tensor} * sizes_.data;
    std::vector<int64_t> legal;
    for (int64_t expert = 1; expert <= ranks; ++expert) {
      if (BrokenExperts(expert).empty()) legal.push_back(expert);
    }
    return legal.empty() ? "none, with these tensor_size and data_size"
                         : absl::StrJoin(legal, ", ");
  }

  void TakeExperts() {
    sizes_.expert = sizes_.moe_tensor = 1;
    if (graph_.ExpertCount() == 0) {
      RefuseExperts("expert_size", asked_.expert);
      RefuseExperts("moe_tensor_size", asked_.moe_tensor);
      return;
    }
    const int64_t ranks = int64_t{sizes_.tensor} * sizes_.data;
    if (ranks > Parallelism::kMaxDevices) return;  // TakeNodes says so.
    const int asked_moe = asked_.moe_tensor;
    if (asked_moe < 0 || (asked_moe > 0 && ranks % asked_moe != 0)) {
      violations_.Add("moe_tensor_size",
                      absl::StrCat("is ", asked_moe,
                                   ", which does not divide tensor_size x "
                                   "data_size, ",
                                   ranks, "; allowed: ", Divisors(ranks)));
      ok_ = false;
      return;
    }
    int64_t expert = asked_.expert;
    // Where neither is given, data parallelism is what cannot be.
    const char* field = asked_.expert == 0 ? "data_size" : "expert_size";
    if (expert == 0) {
      expert = asked_moe == 0 ? 1 : ranks / asked_moe;
      if (asked_moe != 0) field = "moe_tensor_size";
    }
    std::string broken = BrokenExperts(expert);
    if (broken.empty() && asked_moe != 0 && expert * asked_moe != ranks) {
      broken = absl::StrCat("times moe_tensor_size, ", asked_moe,
                            ", is not tensor_size x data_size, ", ranks);
    }
    if (!broken.empty()) {
      ok_ = false;
      violations_.Add(
          field, absl::StrCat(ExpertText(expert, asked_moe), broken,
                              "; allowed expert_size: ", LegalExpertSizes()));
      return;
    }
    sizes_.expert = static_cast<int>(expert);
    sizes_.moe_tensor = static_cast<int>(ranks / expert);
  }

  std::string ExpertText(int64_t expert, int asked_moe) const {
    if (asked_.expert != 0) return absl::StrCat("is ", expert, ", which ");
    if (asked_moe == 0) {
      return absl::StrCat("is ", asked_.data, ", which with expert_size 1 ");
    }
    return absl::StrCat("is ", asked_moe, ": expert_size is then ", expert,
                        ", which ");
  }

  void RefuseExperts(absl::string_view field, int asked) {
    if (asked == 0 || asked == 1) return;
    violations_.Add(field, absl::StrCat("is ", asked,
                                        ", but the model has no experts; "
                                        "allowed: 1"));
    ok_ = false;
  }

  static std::string Divisors(int64_t number) {
    std::vector<int64_t> divisors;
    for (int64_t i = 1; i <= number; ++i) {
      if (number % i == 0) divisors.push_back(i);
    }
    return absl::StrJoin(divisors, ", ");
  }

  // Whether nodes of so many devices hold whole groups, or whole shares of one.
  bool IsEven(int64_t node_devices) const {
    int64_t inner = 1;
    for (int64_t size :
         {sizes_.tensor, sizes_.context, sizes_.data, sizes_.pipeline}) {
      const int64_t outer = inner * size;
      if (node_devices % inner == 0 && outer % node_devices == 0) return true;
      inner = outer;
    }
    return false;
  }

  void TakeNodes() {
    const int64_t devices =
        int64_t{sizes_.tensor} * sizes_.context * sizes_.data * sizes_.pipeline;
    if (devices > Parallelism::kMaxDevices) {
      violations_.Add(
          "data_size",
          absl::StrCat("makes ", devices,
                       " devices (tensor_size x context_size x data_size x "
                       "pipeline_size); allowed: 1 to ",
                       Parallelism::kMaxDevices));
      return;
    }
    std::vector<int64_t> legal;
    const int64_t most_nodes = several_nodes_ ? devices : 1;
    for (int64_t nodes = 1; nodes <= most_nodes; ++nodes) {
      if (devices % nodes == 0 && devices / nodes <= fabric_.NodeDevices() &&
          IsEven(devices / nodes)) {
        legal.push_back(nodes);
      }
    }
    const int64_t asked = asked_.nodes;
    if (legal.empty()) {
      violations_.Add(
          "node_count",
          absl::StrCat("would be more than 1, for ", devices,
                       " devices (tensor_size x context_size x data_size x "
                       "pipeline_size), but fabric \"",
                       fabric_.spec().id, "\" joins ", fabric_.NodeDevices(),
                       " devices and has no rdma tier; allowed: 1"));
      return;
    }
    sizes_.nodes = static_cast<int>(asked == 0 ? legal.front() : asked);
    if (asked == 0 ||
        std::find(legal.begin(), legal.end(), asked) != legal.end()) {
      return;
    }
    violations_.Add(
        "node_count",
        absl::StrCat(
            "is ", asked, " for ", devices, " devices, at most ",
            fabric_.NodeDevices(), " a node of fabric \"", fabric_.spec().id,
            "\", nodes equally full; allowed: ", absl::StrJoin(legal, ", ")));
  }

  // Larger tensor sizes are judged, not listed.
  static constexpr int kMostListed = 1024;

  const Parallelism& asked_;
  const ModelGraph& graph_;
  const Fabric& fabric_;
  Violations& violations_;
  const bool several_nodes_;
  Parallelism sizes_;
  bool ok_ = true;  // All sizes so far.
};

}  // namespace

std::optional<Parallelism> ResolveSizes(const Parallelism& asked,
                                        const ModelGraph& graph,
                                        const Fabric& fabric,
                                        Violations& violations) {
  return Resolver(asked, graph, fabric, violations).Run();
}

}  // namespace mansard::model
