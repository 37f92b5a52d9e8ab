// Parameters of single layers worked out by hand, and of whole published models
// against the published totals.

#include "model/graph/layer_parameters.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/published_shapes.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

ModelGraph Build(ModelGraphSpec spec) {
  Violations violations;
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  EXPECT_TRUE(graph.has_value()) << violations.ToStatus();
  return *std::move(graph);
}

// DeepSeek-V3, hidden 7168.
constexpr int64_t kLatentAttention = 7168 * 1536          // queries down
                                     + 1536 * 128 * 192   // and up,
                                     + 7168 * (512 + 64)  // latent and key,
                                     + 512 * 128 * 256    // expansion,
                                     + 128 * 128 * 7168;  // output.
constexpr int64_t kExpert = 3 * 7168 * 2048;

TEST(LayerParameters, LatentAttention) {
  const ModelGraphSpec spec = mansard::testing::DeepSeekV3();
  const LayerKind& kind = spec.layer_kinds[1];
  EXPECT_EQ(AttentionParameters(kind.attention, 7168), kLatentAttention);
  EXPECT_EQ(kLatentAttention, 187'105'280);
  EXPECT_EQ(NormParameters(kind, 7168), 2 * 7168 + 1536 + 512);

  // DeepSeek-V2-Lite projects its queries directly.
  LatentAttention direct = std::get<LatentAttention>(kind.attention);
  direct.query_heads = 16;
  direct.query_lora_rank = 0;
  EXPECT_EQ(AttentionParameters(direct, 2048),
            2048 * 16 * 192 + 2048 * 576 + 512 * 16 * 256 + 16 * 128 * 2048);
}

TEST(LayerParameters, MixtureOfExperts) {
  const ModelGraphSpec spec = mansard::testing::DeepSeekV3();
  const FeedForward& experts = spec.layer_kinds[1].feed_forward;
  EXPECT_EQ(FeedForwardParameters(experts, 7168),
            7168 * 256 + 256 * kExpert + kExpert);
  EXPECT_EQ(IdleParameters(experts, 7168), 248 * kExpert);
  EXPECT_EQ(IdleParameters(spec.layer_kinds[0].feed_forward, 7168), 0);
  // Plain experts have two matrices.
  const MixtureOfExperts plain{.expert_count = 4,
                               .experts_per_token = 1,
                               .expert_intermediate_size = 10,
                               .shared_intermediate_size = 6,
                               .gated = false};
  EXPECT_EQ(FeedForwardParameters(plain, 8), 8 * 4 + 4 * 2 * 80 + 2 * 48);
  EXPECT_EQ(IdleParameters(plain, 8), 3 * 2 * 80);
}

TEST(LayerParameters, GroupedQueryAttentionAndDense) {
  const GroupedQueryAttention attention{.query_heads = 4,
                                        .kv_heads = 2,
                                        .head_size = 5,
                                        .qkv_bias = true,
                                        .output_bias = true,
                                        .qk_norm = true,
                                        .chunk = 64};
  EXPECT_EQ(AttentionParameters(attention, 16), 16 * 40 + 40 + 20 * 16 + 16);
  const DenseFeedForward plain{
      .intermediate_size = 24, .gated = false, .bias = true};
  EXPECT_EQ(FeedForwardParameters(plain, 16), 2 * 24 * 16 + 24 + 16);
  LayerKind kind{"layer", attention, plain};
  EXPECT_EQ(NormParameters(kind, 16), 2 * 16 + 2 * 5);
  kind.parallel = true;  // One norm for both.
  EXPECT_EQ(NormParameters(kind, 16), 16 + 2 * 5);
}

TEST(LayerParameters, DeepSeekV3HasThePublishedTotal) {
  const ModelGraph graph = Build(mansard::testing::DeepSeekV3());
  EXPECT_EQ(graph.ParameterCount(TensorClass::kAttention),
            61 * kLatentAttention);
  EXPECT_EQ(graph.ParameterCount(TensorClass::kFeedForward),
            3 * (3LL * 7168 * 18432) + 58 * (7168 * 256 + 257 * kExpert));
  EXPECT_EQ(graph.ParameterCount(), 671'026'404'352);
  EXPECT_EQ(graph.ActiveParameterCount(), 37'552'282'624);
  EXPECT_EQ(graph.ExpertCount(), 256);
  // 61 x (512 + 64) x 2 bytes, however many heads.
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 70272);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kFp8E4m3).value(), 35136);
}

TEST(LayerParameters, MixtralHasThePublishedTotal) {
  const ModelGraph graph = Build(mansard::testing::Mixtral8x7b());
  EXPECT_EQ(graph.ParameterCount(), 46'702'792'704);
  EXPECT_EQ(graph.ActiveParameterCount(), 12'879'925'248);
  EXPECT_EQ(graph.ExpertCount(), 8);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 131072);
}

// The same facts as an independent counter's, where its table is at hand.
TEST(LayerParameters, TotalsAreThoseOfTheIndex) {
  std::ifstream index(MANSARD_SOURCE_DIR "/../shared/model_configs/index.csv");
  if (!index) GTEST_SKIP() << "no ../shared/model_configs/index.csv";
  int found = 0;
  for (std::string line; std::getline(index, line);) {
    if (line.rfind("deepseek-ai__DeepSeek-V3.json,", 0) == 0) {
      EXPECT_THAT(line, HasSubstr(",671026404352,37552282624,"));
      EXPECT_THAT(line, HasSubstr(",70272,70272,"));
      ++found;
    }
    if (line.rfind("mistralai__Mixtral-8x7B-v0.1.json,", 0) == 0) {
      EXPECT_THAT(line, HasSubstr(",46702792704,12879925248,"));
      EXPECT_THAT(line, HasSubstr(",131072,131072,"));
      ++found;
    }
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace mansard::model
