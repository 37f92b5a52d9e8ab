// What a graph has beyond its layers, worked out by hand.

#include "model/graph/graph_parameters.h"

#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

// Two layers of hidden size 8, vocabulary 10.
ModelGraphSpec Small() {
  ModelGraphSpec spec;
  spec.hidden_size = 8;
  spec.vocabulary_size = 10;
  spec.layer_kinds = {
      {.name = "layer",
       .attention = GroupedQueryAttention{4, 2, 3},
       .feed_forward = DenseFeedForward{16}},
      {.name = "moe",
       .feed_forward = MixtureOfExperts{.expert_count = 4,
                                        .experts_per_token = 1,
                                        .expert_intermediate_size = 2}}};
  spec.layer_kind_indexes = {0, 0};
  spec.max_context = 128;
  return spec;
}

struct Change {
  const char* name;
  std::function<void(ModelGraphSpec&)> change;
  TensorClass tensor_class;
  int64_t adds;
  int64_t tables;  // Added to the tables by token id.
};

TEST(GraphParameters, EachFlagAddsItsTerm) {
  const ModelGraphSpec base = Small();
  const ParameterCounts before = AroundLayersParameters(base);
  EXPECT_EQ(before[TensorClass::kEmbedding], 80);
  EXPECT_EQ(before[TensorClass::kHead], 80);
  EXPECT_EQ(before[TensorClass::kNorm], 8);
  EXPECT_EQ(before.Total(), 168);
  EXPECT_EQ(TableParameters(base), 160);
  const std::vector<Change> changes = {
      {"tied", [](ModelGraphSpec& s) { s.tied_embeddings = true; },
       TensorClass::kHead, -80, -80},
      {"rows", [](ModelGraphSpec& s) { s.extra_embedding_rows = 3; },
       TensorClass::kEmbedding, 24, 24},
      {"positions", [](ModelGraphSpec& s) { s.position_rows = 50; },
       TensorClass::kPosition, 400, 0},
      {"embedding norm", [](ModelGraphSpec& s) { s.embedding_norm = true; },
       TensorClass::kNorm, 8, 0},
      {"no last norm", [](ModelGraphSpec& s) { s.final_norm = false; },
       TensorClass::kNorm, -8, 0},
      {"its bias", [](ModelGraphSpec& s) { s.norm_bias = true; },
       TensorClass::kNorm, 8, 0},
      {"head bias", [](ModelGraphSpec& s) { s.head_bias = true; },
       TensorClass::kHead, 10, 0},
      {"scales", [](ModelGraphSpec& s) { s.extra_parameters = 5; },
       TensorClass::kScale, 5, 0},
      {"three streams: 9 x 8 + 3 + 1",
       [](ModelGraphSpec& s) { s.residual_streams = 3; },
       TensorClass::kResidual, 76, 0},
      {"drafting modules are beyond it",
       [](ModelGraphSpec& s) {
         s.mtp = {.modules = 1, .layer_kind_indexes = {0}};
       },
       TensorClass::kHead, 0, 0},
  };
  for (const Change& row : changes) {
    SCOPED_TRACE(row.name);
    ModelGraphSpec spec = base;
    row.change(spec);
    ParameterCounts expected = before;
    expected[row.tensor_class] += row.adds;
    EXPECT_EQ(AroundLayersParameters(spec), expected);
    EXPECT_EQ(TableParameters(spec), 160 + row.tables);
  }
}

// OPT-350M: tables narrower than the layers, projections in and out.
TEST(GraphParameters, NarrowTables) {
  ModelGraphSpec spec = Small();
  spec.embedding_size = 3;
  const ParameterCounts counts = AroundLayersParameters(spec);
  EXPECT_EQ(counts[TensorClass::kEmbedding], 30 + 24);
  EXPECT_EQ(counts[TensorClass::kHead], 30 + 24);
  EXPECT_EQ(TableParameters(spec), 60);
  spec.tied_embeddings = true;
  EXPECT_EQ(AroundLayersParameters(spec)[TensorClass::kHead], 24);
  EXPECT_EQ(TableParameters(spec), 30);
}

// Gemma 3n: 7 rows of 2 layers x 5, a projection of the embedding 8 x 10 and
// its norm of 5.
TEST(GraphParameters, SecondEmbedding) {
  ModelGraphSpec spec = Small();
  spec.layer_input_size = 5;
  spec.layer_input_rows = 7;
  const ParameterCounts counts = AroundLayersParameters(spec);
  EXPECT_EQ(counts[TensorClass::kEmbedding], 80 + 70);
  EXPECT_EQ(counts[TensorClass::kLayerInput], 80);
  EXPECT_EQ(counts[TensorClass::kNorm], 8 + 5);
  EXPECT_EQ(TableParameters(spec), 160 + 70);
}

TEST(GraphParameters, DraftingModule) {
  ModelGraphSpec spec = Small();
  spec.mtp = {.modules = 3, .layer_kind_indexes = {0, 1}};
  const int64_t layers = LayerParameters(spec.layer_kinds[0], spec).Total() +
                         LayerParameters(spec.layer_kinds[1], spec).Total();
  // Attention 288, feed-forward 384, two norms; router 32, experts 4 x 48, one
  // norm.
  EXPECT_EQ(layers, 288 + 384 + 16 + 32 + 192 + 8);
  // Projection 16x8 and three norms.
  const int64_t module = layers + 128 + 24;
  EXPECT_EQ(MtpModuleParameters(spec).Total(), module);
  spec.norm_bias = true;
  EXPECT_EQ(MtpModuleParameters(spec).Total(), module + 24 + 24);
  spec.norm_bias = false;
  spec.mtp.own_embedding = true;
  EXPECT_EQ(MtpModuleParameters(spec).Total(), module + 80);
  spec.mtp.own_head = true;
  EXPECT_EQ(MtpModuleParameters(spec).Total(), module + 160);
  spec.mtp.own_head = false;
  spec.mtp.own_embedding = false;
  // Mixing in the first layer twice and in the second once, and before the
  // head.
  spec.residual_streams = 2;
  EXPECT_EQ(MtpModuleParameters(spec).Total(),
            module + 3 * (16 * 8 + 8 + 3) + 4 * 8 + 3);
}

}  // namespace
}  // namespace mansard::model
