#include "model/estimate/workspace.h"

#include <gtest/gtest.h>

#include "model/estimate/estimate.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::TinyLatentGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;

Target On(const ModelGraphSpec& graph, int tensor = 1) {
  return BuildTarget(
      TargetOn(BuildGraph(graph), ToyHardware().Build(), tensor));
}

double WorkspaceFor(const EngineMemory& engine, int64_t tokens,
                    int64_t logits) {
  const Target target = On(TinyGraph());
  return Workspace(target.graph(), target.layout(), target.formats(), engine)
      .For(tokens, logits)
      .value();
}

// Vocabulary 40, hidden 16 in two bytes.
TEST(Workspace, IsOfTheEnginesLargestStep) {
  const EngineMemory engine{.token_budget = 100,
                            .sequence_limit = 10,
                            .bytes_per_logit = 1000,
                            .fixed_workspace = Bytes::Of(7)};
  const double engines = 7 + 10 * 40 * 1000.0 + (100 + 10) * 32;
  EXPECT_EQ(WorkspaceFor(engine, 1, 1), engines);
  EXPECT_EQ(WorkspaceFor(engine, 100, 10), engines);
  // A step of more makes it larger.
  EXPECT_EQ(WorkspaceFor(engine, 101, 10), engines + 32);
  EXPECT_EQ(WorkspaceFor(engine, 100, 11), engines + 40 * 1000 + 32);
}

// Gate, up and their product are 3 x 24 wide, beside two hidden states.
TEST(Workspace, IsTheLayersWhereThatIsMore) {
  const EngineMemory engine{.token_budget = 100};
  EXPECT_EQ(WorkspaceFor(engine, 1, 1), 100 * 2 * (2 * 16 + 3 * 24.0));
}

TEST(Workspace, WidestTensorsOfALayer) {
  const auto widest = [](const ModelGraphSpec& graph, int tensor) {
    const Target target = On(graph, tensor);
    return WidestElements(target.graph(), target.layout());
  };
  EXPECT_EQ(widest(TinyGraph(), 1), 72);
  // Queries and outputs of two heads, keys and values of one.
  EXPECT_EQ(widest(TinyGraph(), 2), 36);
  // Two experts of width 8, and their results of 16.
  EXPECT_EQ(widest(TinyMoeGraph(), 1), 2 * (3 * 8 + 16));
  EXPECT_EQ(widest(TinyMoeGraph(), 2), 2 * (3 * 4 + 16));
  ModelGraphSpec narrow = TinyLatentGraph();
  narrow.layer_kinds[0].feed_forward = DenseFeedForward{.intermediate_size = 4};
  // Four heads: queries and keys of 5, values and results of 4.
  EXPECT_EQ(widest(narrow, 1), 4 * (2 * 5 + 2 * 4));
}

}  // namespace
}  // namespace mansard::model
