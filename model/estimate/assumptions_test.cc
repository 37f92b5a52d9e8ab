#include "model/estimate/assumptions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Assumptions(ModelGraphSpec spec, int tensor) {
  return BuildTarget(TargetOn(BuildGraph(std::move(spec)),
                              ToyHardware().Build(), tensor))
      .assumptions();
}

TEST(AttentionAssumptions, AreNamedWhereTheyMatter) {
  const auto sparse = Assumptions(mansard::testing::DeepSeekV32Attention(), 1);
  EXPECT_THAT(sparse, Contains(HasSubstr("the indexer runs on every rank")));
  EXPECT_THAT(sparse, Contains(HasSubstr("on latent vectors")));
  EXPECT_THAT(sparse, Not(Contains(HasSubstr("compressed entry"))));
  const auto compressed =
      Assumptions(mansard::testing::DeepSeekV4FlashAttention(), 1);
  EXPECT_THAT(compressed, Contains(HasSubstr("indexer")));
  EXPECT_THAT(compressed, Contains(HasSubstr("compressed entry")));
  EXPECT_THAT(compressed, Not(Contains(HasSubstr("on latent vectors"))));
  for (const std::string& assumption : Assumptions(TinyGraph(), 2)) {
    for (const char* word : {"indexer", "latent", "compressed", "norms over"}) {
      EXPECT_THAT(assumption, Not(HasSubstr(word)));
    }
  }
}

TEST(AttentionAssumptions, NormsOverAllHeadsAreReducedOnlyAmongRanks) {
  ModelGraphSpec spec = TinyGraph();
  GroupedOf(spec.layer_kinds[0]).qk_norm = QkNorm::kAllHeads;
  EXPECT_THAT(Assumptions(spec, 2), Contains(HasSubstr("norms over")));
  EXPECT_THAT(Assumptions(spec, 1), Not(Contains(HasSubstr("norms over"))));
}

TEST(PassAssumptions, NameTheLayersThatAreSkipped) {
  const auto graph = BuildGraph(mansard::testing::LlamaVisionAttention());
  EXPECT_THAT(
      PassAssumptions(*graph, DecodePass(1, 10)),
      ElementsAre("encoder_token_count is 0: 8 layers with cross-attention are "
                  "skipped, their weights are held"));
  EXPECT_THAT(
      PassAssumptions(*graph, BuildPass({{Role::kDecode, 1, 1, 9, 100}})),
      IsEmpty());
  EXPECT_THAT(PassAssumptions(*BuildGraph(TinyGraph()), DecodePass(1, 10)),
              IsEmpty());
}

}  // namespace
}  // namespace mansard::model
