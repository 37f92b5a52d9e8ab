#include "model/estimate/layout_assumptions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace mansard::model {
namespace {

// Of those that are not 1, innermost first.
std::string PlacementText(const Layout& layout) {
  std::vector<std::string> sizes;
  for (const auto& [name, size] : {std::pair("tensor", layout.tensor()),
                                   {"context", layout.context()},
                                   {"data", layout.data()},
                                   {"pipeline", layout.pipeline()}}) {
    if (size > 1) sizes.push_back(absl::StrCat(name, " ", size));
  }
  return absl::StrJoin(sizes, ", ");
}

std::string ExpertText(const Layout& layout) {
  std::string text = "each rank holds";
  if (layout.expert() > 1) {
    absl::StrAppend(&text, " 1/", layout.expert(), " of the experts,");
  }
  if (layout.moe_tensor() == 1) {
    absl::StrAppend(&text, " whole ones");
  } else {
    absl::StrAppend(&text, " 1/", layout.moe_tensor(), " of the width of each");
  }
  if (layout.ExchangesTokens()) {
    absl::StrAppend(&text,
                    "; tokens are sent to the ranks of their experts and back, "
                    "one copy a rank");
    if (layout.ExchangeSlices() > 1) {
      absl::StrAppend(&text, ", each tensor rank sends its share");
    }
  }
  if (layout.gather_group().ranks > 1) {
    absl::StrAppend(&text, "; ", layout.gather_group().ranks,
                    " data ranks gather their tokens before the experts and "
                    "scatter the sums after");
  }
  if (layout.tensor() > 1) {
    absl::StrAppend(&text,
                    "; the tensor ranks' all-reduce sums routed and shared "
                    "experts");
  }
  return text;
}

std::string BusiestText(const Fusion& fusion) {
  std::string text =
      "experts: the step waits for the busiest rank: with a histogram the "
      "largest share of neighbouring experts, else the expected maximum over "
      "the ranks";
  if (fusion.foreign_expert_rows > 0) {
    absl::StrAppend(&text, "; element-wise kernels also pass over ",
                    fusion.foreign_expert_rows,
                    " of the rows of other ranks' experts");
  }
  return text;
}

std::string PipelineText(const ModelGraph& graph, const Layout& layout) {
  std::vector<int> layers;
  for (int stage = 0; stage < layout.pipeline(); ++stage) {
    layers.push_back(layout.StageEnd(stage) - layout.StageBegin(stage));
  }
  std::string text = absl::StrCat(
      "pipeline stages have ", absl::StrJoin(layers, ", "), " layers (of ",
      graph.layer_count(), "), the first the embedding, the last the head; ",
      layout.micro_batches() == 1
          ? "the pass goes through them in one piece"
          : absl::StrCat("the pass goes through them in up to ",
                         layout.micro_batches(), " parts, by requests"));
  absl::StrAppend(&text, ", and finds them idle");
  return text;
}

}  // namespace

std::vector<std::string> LayoutAssumptions(const ModelGraph& graph,
                                           const Layout& layout,
                                           const Fabric& fabric,
                                           const Fusion& fusion) {
  std::vector<std::string> assumptions;
  const bool tensor_only = layout.device_count() == layout.tensor() &&
                           layout.node_count() == 1 && layout.expert() == 1;
  if (tensor_only) return assumptions;
  assumptions.push_back(absl::StrCat(
      layout.device_count(), " devices in ", layout.node_count(),
      layout.node_count() == 1 ? " node" : " nodes", " of fabric \"",
      fabric.spec().id, "\", neighbours first by: ", PlacementText(layout)));
  if (layout.data() > 1) {
    assumptions.push_back(
        "data ranks share the requests of each group as evenly as can be; the "
        "numbers are of one that has the most");
  }
  if (graph.ExpertCount() > 0 && layout.tensor() * layout.data() > 1) {
    assumptions.push_back(ExpertText(layout));
    if (layout.expert() > 1) assumptions.push_back(BusiestText(fusion));
  }
  if (layout.context() > 1) {
    assumptions.push_back(
        "context ranks share the positions of each request evenly: prompts "
        "gather all keys and values, decodes sum their parts of the outputs; "
        "all else of a decode is on every one of them");
  }
  if (layout.pipeline() > 1) assumptions.push_back(PipelineText(graph, layout));
  return assumptions;
}

std::string OverlapAssumption(const Overlap& overlap) {
  const std::string shares = absl::StrFormat(
      "%.0f %% (%.0f to %.0f, expected, not measured)",
      100 * overlap.efficiency, 100 * overlap.Worst(), 100 * overlap.Best());
  const std::string taken = absl::StrFormat(
      "communication takes %d multiprocessors", overlap.multiprocessors);
  if (overlap.kind == Overlap::Kind::kGemm) {
    return absl::StrCat(
        "overlap behind products: collectives beside them run in chunks, of a "
        "wave of tiles at least, where that is faster; each chunk pays its "
        "latency, and ",
        shares, " of the shorter of both is hidden; ", taken, " beside them");
  }
  return absl::StrCat(
      "two-batch overlap: two halves of the requests take turns, each reads "
      "all weights, and ",
      shares, " of the shorter of computation and communication is hidden; ",
      taken, " throughout and no memory bandwidth");
}

}  // namespace mansard::model
