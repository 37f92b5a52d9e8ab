// Rules of the parts that a plain dense transformer does not have; its own are
// in model_graph_test.

#include "model/graph/graph_rules.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/graph/model_graph.h"

namespace mansard::model {
namespace {

// One kind for each part; every rule is kept.
ModelGraphSpec Varied() {
  ModelGraphSpec spec;
  spec.hidden_size = 64;
  spec.vocabulary_size = 100;
  spec.max_context = 4096;
  const SparseIndexer indexer{4, 16, 64};
  spec.layer_kinds = {
      {.name = "grouped",
       .attention =
           GroupedQueryAttention{
               .query_heads = 8, .kv_heads = 2, .head_size = 16},
       .feed_forward = MixtureOfExperts{.expert_count = 8,
                                        .experts_per_token = 2,
                                        .expert_intermediate_size = 32}},
      {.name = "latent",
       .attention = LatentAttention{.query_heads = 8,
                                    .kv_lora_rank = 32,
                                    .query_lora_rank = 24,
                                    .nope_head_size = 16,
                                    .rope_head_size = 8,
                                    .value_head_size = 12,
                                    .indexer = indexer}},
      {.name = "compressed",
       .attention = CompressedAttention{.query_heads = 8,
                                        .head_size = 32,
                                        .rope_head_size = 8,
                                        .query_lora_rank = 24,
                                        .output_groups = 4,
                                        .output_lora_rank = 12,
                                        .sliding_window = 128,
                                        .ratio = 4,
                                        .indexer = indexer}},
      {.name = "cross", .attention = CrossAttention{8, 2, 16}},
      {.name = "delta",
       .recurrent = RecurrentMixer{.rule = StateRule::kKeyGatedDelta,
                                   .heads = 4,
                                   .key_heads = 4,
                                   .key_size = 16,
                                   .value_size = 12,
                                   .decay_rank = 5}},
      {.name = "mamba",
       .recurrent = RecurrentMixer{.rule = StateRule::kMamba,
                                   .heads = 96,
                                   .key_heads = 1,
                                   .key_size = 16,
                                   .value_size = 1,
                                   .decay_rank = 5}},
      {.name = "mlp", .feed_forward = DenseFeedForward{128}}};
  spec.layer_kind_indexes = {0, 1, 2, 3, 4, 5, 6};
  return spec;
}

template <typename T>
T& As(ModelGraphSpec& spec, size_t kind) {
  return std::get<T>(*spec.layer_kinds[kind].attention);
}

MixtureOfExperts& Experts(ModelGraphSpec& spec) {
  return std::get<MixtureOfExperts>(spec.layer_kinds[0].feed_forward);
}

struct Broken {
  std::string field;
  std::string description;
  std::function<void(ModelGraphSpec&)> change;
};

// Each row breaks one rule and is the only violation.
void ExpectViolations(const std::vector<Broken>& rows) {
  for (const Broken& row : rows) {
    ModelGraphSpec spec = Varied();
    row.change(spec);
    Violations violations;
    EXPECT_FALSE(ModelGraph::Create(spec, violations).has_value()) << row.field;
    ASSERT_EQ(violations.all().size(), 1u)
        << row.field << ": " << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, row.field);
    EXPECT_EQ(violations.all()[0].description, row.description);
  }
}

TEST(GraphRules, VariedIsValid) {
  Violations violations;
  EXPECT_TRUE(ModelGraph::Create(Varied(), violations).has_value())
      << violations.ToStatus();
}

TEST(GraphRules, Attention) {
  using Grouped = GroupedQueryAttention;
  const std::string grouped = "layer_kinds[0].attention.grouped_query.";
  const std::string latent = "layer_kinds[1].attention.multi_head_latent.";
  const std::string compressed = "layer_kinds[2].attention.compressed.";
  const std::string cross = "layer_kinds[3].attention.cross.";
  ExpectViolations({
      {grouped + "nope_head_size", "is 17; may be up to the head size, 16",
       [](ModelGraphSpec& s) { As<Grouped>(s, 0).nope_head_size = 17; }},
      {grouped + "value_head_size", "is -1; allowed: 0 to 65536",
       [](ModelGraphSpec& s) { As<Grouped>(s, 0).value_head_size = -1; }},
      {grouped + "value_head_size",
       "is 12; values that are the keys have the head size, 16",
       [](ModelGraphSpec& s) {
         As<Grouped>(s, 0).value_head_size = 12;
         As<Grouped>(s, 0).value_from_key = true;
       }},
      {"layer_kinds[0].attention.chunk_token_count",
       "is 8; must be 0 beside a sliding window",
       [](ModelGraphSpec& s) {
         As<Grouped>(s, 0).chunk = 8;
         As<Grouped>(s, 0).sliding_window = 8;
       }},
      {latent + "query_lora_rank",
       "is 0; an indexer projects its queries from the latent query, so that "
       "it must be at least 1",
       [](ModelGraphSpec& s) {
         As<LatentAttention>(s, 1).query_lora_rank = 0;
       }},
      {latent + "indexer.selected_entry_count",
       "is 0; allowed: 1 to 1000000000",
       [](ModelGraphSpec& s) { As<LatentAttention>(s, 1).indexer->top_k = 0; }},
      {latent + "indexer.head_size", "is 0; allowed: 1 to 65536",
       [](ModelGraphSpec& s) {
         As<LatentAttention>(s, 1).indexer->head_size = 0;
       }},
      {latent + "indexer.head_size",
       "is 65536; times the indexer's heads, 512, it may be up to 16777216",
       [](ModelGraphSpec& s) {
         As<LatentAttention>(s, 1).indexer = SparseIndexer{512, 65536, 64};
       }},
      {"layer_kinds[2].attention.sliding_window_token_count",
       "is 0; allowed: 1 to 1000000000",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).sliding_window = 0;
       }},
      {compressed + "rope_head_size", "is 33; may be up to the head size, 32",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).rope_head_size = 33;
       }},
      {compressed + "query_lora_rank", "is 0; allowed: 1 to 16777216",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).query_lora_rank = 0;
       }},
      {compressed + "output_group_count",
       "is 3; must divide the query heads, 8",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).output_groups = 3;
       }},
      {compressed + "output_group_count", "is 0; allowed: 1 to 65536",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).output_groups = 0;
       }},
      {compressed + "output_lora_rank",
       "is 8388608; times the output groups, 4, it may be up to 16777216",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).output_lora_rank = 1 << 23;
       }},
      {compressed + "compression_ratio", "is -4; allowed: 0 to 65536",
       [](ModelGraphSpec& s) { As<CompressedAttention>(s, 2).ratio = -4; }},
      {compressed + "indexer",
       "must be unset without compression: there are no entries to choose "
       "among",
       [](ModelGraphSpec& s) { As<CompressedAttention>(s, 2).ratio = 0; }},
      {compressed + "overlap", "is true; must be false without compression",
       [](ModelGraphSpec& s) {
         As<CompressedAttention>(s, 2).ratio = 0;
         As<CompressedAttention>(s, 2).indexer.reset();
         As<CompressedAttention>(s, 2).overlap = true;
       }},
      {cross + "kv_head_count", "is 3; must divide the query heads, 8",
       [](ModelGraphSpec& s) { As<CrossAttention>(s, 3).kv_heads = 3; }},
  });
}

TEST(GraphRules, Recurrent) {
  const auto delta = [](ModelGraphSpec& s) -> RecurrentMixer& {
    return *s.layer_kinds[4].recurrent;
  };
  const auto mamba = [](ModelGraphSpec& s) -> RecurrentMixer& {
    return *s.layer_kinds[5].recurrent;
  };
  const std::string four = "layer_kinds[4].recurrent.";
  const std::string five = "layer_kinds[5].recurrent.";
  ExpectViolations({
      {four + "head_count", "is 0; allowed: 1 to 16777216",
       [=](ModelGraphSpec& s) { delta(s).heads = 0; }},
      {four + "key_head_count", "is 3; must divide the heads, 4",
       [=](ModelGraphSpec& s) { delta(s).key_heads = 3; }},
      {four + "key_head_count",
       "is 2; with one decay a key element it is as the heads, 4",
       [=](ModelGraphSpec& s) { delta(s).key_heads = 2; }},
      {four + "key_size", "is 0; allowed: 1 to 65536",
       [=](ModelGraphSpec& s) { delta(s).key_size = 0; }},
      {four + "value_size",
       "is 65536; times the heads, 512, it may be up to 16777216",
       [=](ModelGraphSpec& s) {
         delta(s).heads = 512;
         delta(s).key_heads = 512;
         delta(s).value_size = 65536;
       }},
      {four + "key_size",
       "is 65536; times the key heads, 512, it may be up to 16777216",
       [=](ModelGraphSpec& s) {
         delta(s).heads = 512;
         delta(s).key_heads = 512;
         delta(s).key_size = 65536;
       }},
      {four + "convolution_token_count", "is -1; allowed: 0 to 65536",
       [=](ModelGraphSpec& s) { delta(s).conv_kernel = -1; }},
      {four + "convolution_bias",
       "is true; must be false without a convolution",
       [=](ModelGraphSpec& s) { delta(s).conv_bias = true; }},
      {four + "gate_rank", "is 0; allowed: 1 to 16777216",
       [=](ModelGraphSpec& s) { delta(s).gate = OutputGate::kLowRank; }},
      {four + "gate_rank", "is 8; must be 0 but for a low-rank gate",
       [=](ModelGraphSpec& s) { delta(s).gate_rank = 8; }},
      {four + "decay_rank", "is 0; allowed: 1 to 16777216",
       [=](ModelGraphSpec& s) { delta(s).decay_rank = 0; }},
      {four + "decay_rank",
       "is 5; must be 0 but for a decay a key element, and Mamba",
       [=](ModelGraphSpec& s) { delta(s).rule = StateRule::kGatedDelta; }},
      {four + "inner_norms", "is true; must be false but for Mamba",
       [=](ModelGraphSpec& s) { delta(s).inner_norms = true; }},
      {five + "value_size", "is 2; must be 1 for Mamba",
       [=](ModelGraphSpec& s) { mamba(s).value_size = 2; }},
      {five + "key_head_count", "is 2; must be 1 for Mamba",
       [=](ModelGraphSpec& s) { mamba(s).key_heads = 2; }},
  });
}

TEST(GraphRules, LayersAndExperts) {
  ExpectViolations({
      {"layer_kinds[6].attention",
       "is required, or recurrent, dense or experts: a layer has a mixer, a "
       "feed-forward or both",
       [](ModelGraphSpec& s) {
         s.layer_kinds[6].feed_forward = NoFeedForward{};
       }},
      {"layer_kinds[6].parallel",
       "is true; must be false without both a mixer and a feed-forward",
       [](ModelGraphSpec& s) { s.layer_kinds[6].parallel = true; }},
      {"layer_kinds[0].parallel_norms",
       "is true; must be false in a layer that is not parallel",
       [](ModelGraphSpec& s) { s.layer_kinds[0].parallel_norms = true; }},
      {"layer_kinds[0].parallel",
       "is true; must be false beside a residual_stream_count of 4",
       [](ModelGraphSpec& s) {
         s.layer_kinds[0].parallel = true;
         s.residual_streams = 4;
       }},
      {"layer_kinds[0].extra_parameter_count",
       "is -1; allowed: 0 to 1000000000000",
       [](ModelGraphSpec& s) { s.layer_kinds[0].extra_parameters = -1; }},
      {"layer_kinds[0].experts.latent_size", "is -1; allowed: 0 to 16777216",
       [](ModelGraphSpec& s) { Experts(s).latent_size = -1; }},
      {"layer_kinds[0].experts.latent_norm",
       "is true; must be false without a latent size",
       [](ModelGraphSpec& s) { Experts(s).latent_norm = true; }},
      {"layer_kinds[0].experts.shared_expert_gate",
       "is true; must be false without shared experts",
       [](ModelGraphSpec& s) { Experts(s).shared_expert_gate = true; }},
      {"layer_kinds[0].experts.separate_norms",
       "is true; must be false without shared experts",
       [](ModelGraphSpec& s) { Experts(s).separate_norms = true; }},
  });
}

LinearFormats Wide(LinearClass linear) {
  return {linear, Format::kBf16, Format::kBf16};
}

TEST(GraphRules, FormatsOfClasses) {
  ExpectViolations({
      {"layer_kinds[6].formats[0].linear_class",
       "is \"head\", of which the layer has none",
       [](ModelGraphSpec& s) {
         s.layer_kinds[6].formats = {Wide(LinearClass::kHead)};
       }},
      {"layer_kinds[0].formats[1].linear_class",
       absl::StrCat("is \"experts\" after \"router\"; each class stands "
                    "once, in the order ",
                    LinearClassNames()),
       [](ModelGraphSpec& s) {
         s.layer_kinds[0].formats = {Wide(LinearClass::kRouter),
                                     Wide(LinearClass::kExperts)};
       }},
      {"formats[0].linear_class",
       "is \"router\", of which what stands around the layers has none",
       [](ModelGraphSpec& s) { s.formats = {Wide(LinearClass::kRouter)}; }},
      {"formats",
       "gives head and embedding different weights; they are tied and must "
       "have the same",
       [](ModelGraphSpec& s) {
         s.tied_embeddings = true;
         s.formats = {Wide(LinearClass::kHead)};
       }},
      {"other_weight_bytes", "is -1; allowed: 0 to 9e+18",
       [](ModelGraphSpec& s) { s.other_weight_bytes = -1; }},
  });
}

TEST(GraphRules, AroundTheLayers) {
  ExpectViolations({
      {"extra_embedding_row_count", "is -1; allowed: 0 to 268435456",
       [](ModelGraphSpec& s) { s.extra_embedding_rows = -1; }},
      {"embedding_size", "is -1; allowed: 0 to 16777216",
       [](ModelGraphSpec& s) { s.embedding_size = -1; }},
      {"position_row_count", "is -1; allowed: 0 to 1000000000",
       [](ModelGraphSpec& s) { s.position_rows = -1; }},
      {"extra_parameter_count", "is -1; allowed: 0 to 1000000000000",
       [](ModelGraphSpec& s) { s.extra_parameters = -1; }},
      {"layer_input_row_count",
       "is 0; beside a layer_input_size of 8: both are 0 or neither is",
       [](ModelGraphSpec& s) { s.layer_input_size = 8; }},
      {"layer_input_size",
       "is 16777216; times the layers, 7, it may be up to 16777216",
       [](ModelGraphSpec& s) {
         s.layer_input_size = 1 << 24;
         s.layer_input_rows = 1;
       }},
      {"layer_input_size",
       "is 8; must be 0 beside a residual_stream_count of 2",
       [](ModelGraphSpec& s) {
         s.layer_input_size = 8;
         s.layer_input_rows = 1;
         s.residual_streams = 2;
       }},
      {"layer_input_size",
       "is 8; must be 0 beside modules for multi-token prediction",
       [](ModelGraphSpec& s) {
         s.layer_input_size = 8;
         s.layer_input_rows = 1;
         s.mtp = {.modules = 1, .layer_kind_indexes = {0}};
       }},
      {"residual_stream_count", "is 0; allowed: 1 to 64",
       [](ModelGraphSpec& s) { s.residual_streams = 0; }},
      {"residual_stream_count",
       "is 64; times the hidden size, 1048576, it may be up to 16777216",
       [](ModelGraphSpec& s) {
         s.hidden_size = 1 << 20;
         s.residual_streams = 64;
       }},
      {"multi_token_prediction.module_count", "is -1; allowed: 0 to 64",
       [](ModelGraphSpec& s) { s.mtp.modules = -1; }},
      {"multi_token_prediction.module_count",
       "is 0; must be at least 1 where modules are described",
       [](ModelGraphSpec& s) { s.mtp.own_head = true; }},
      {"multi_token_prediction.layer_kind_indexes",
       "is empty; names the layers of one module",
       [](ModelGraphSpec& s) { s.mtp.modules = 1; }},
      {"multi_token_prediction.layer_kind_indexes",
       "names 65 layers; allowed: 1 to 64",
       [](ModelGraphSpec& s) {
         s.mtp.modules = 1;
         s.mtp.layer_kind_indexes.assign(65, 0);
       }},
      {"multi_token_prediction.layer_kind_indexes[1]",
       "is 7; there are 7 layer kinds",
       [](ModelGraphSpec& s) {
         s.mtp.modules = 1;
         s.mtp.layer_kind_indexes = {0, 7};
       }},
  });
}

// Layers that take something from an earlier one need one that has it.
TEST(GraphRules, Sources) {
  const std::string description =
      "takes an earlier layer's keys and values or choice of positions, and no "
      "earlier layer has fitting ones";
  const auto first = [](size_t kind) {
    return [kind](ModelGraphSpec& s) {
      s.layer_kind_indexes = {static_cast<int>(kind)};
    };
  };
  const auto share = [](ModelGraphSpec& s) {
    LayerKind shared = s.layer_kinds[0];
    shared.name = "shared";
    std::get<GroupedQueryAttention>(*shared.attention).shared_kv = true;
    s.layer_kinds.push_back(shared);
    s.layer_kind_indexes.push_back(7);
  };
  const auto follow = [](ModelGraphSpec& s) {
    LayerKind follows = s.layer_kinds[1];
    follows.name = "follows";
    std::get<LatentAttention>(*follows.attention).indexer->heads = 0;
    s.layer_kinds.push_back(follows);
    s.layer_kind_indexes.push_back(7);
  };
  ModelGraphSpec valid = Varied();
  share(valid);
  Violations none;
  EXPECT_TRUE(ModelGraph::Create(valid, none).has_value()) << none.ToStatus();
  valid = Varied();
  follow(valid);
  EXPECT_TRUE(ModelGraph::Create(valid, none).has_value()) << none.ToStatus();
  ExpectViolations({
      {"layer_kind_indexes[0]", "is 7; kind \"shared\" " + description,
       [=](ModelGraphSpec& s) {
         share(s);
         first(7)(s);
       }},
      {"layer_kind_indexes[7]", "is 7; kind \"shared\" " + description,
       [=](ModelGraphSpec& s) {
         share(s);
         As<GroupedQueryAttention>(s, 7).kv_heads = 4;
       }},
      {"layer_kind_indexes[0]", "is 7; kind \"follows\" " + description,
       [=](ModelGraphSpec& s) {
         follow(s);
         s.layer_kind_indexes = {7, 2};
       }},
      // Compressed attention chooses among other entries.
      {"layer_kind_indexes[1]", "is 7; kind \"follows\" " + description,
       [=](ModelGraphSpec& s) {
         follow(s);
         s.layer_kind_indexes = {2, 7};
       }},
  });
}

TEST(GraphRules, AllAtOnce) {
  ModelGraphSpec spec = Varied();
  As<GroupedQueryAttention>(spec, 0).nope_head_size = 17;
  As<CompressedAttention>(spec, 2).output_groups = 3;
  spec.layer_kinds[4].recurrent->gate_rank = 8;
  spec.residual_streams = 0;
  spec.mtp.own_head = true;
  Violations violations;
  EXPECT_FALSE(ModelGraph::Create(spec, violations).has_value());
  EXPECT_EQ(violations.all().size(), 5u) << violations.ToStatus();
}

}  // namespace
}  // namespace mansard::model
