// The three stages as text, against files in tests/golden. UPDATE_GOLDENS=1
// rewrites them. The toy hardware has round numbers, so that a reader can work
// a line out by hand.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Role;

std::string Path(const std::string& name) {
  return std::string(MANSARD_SOURCE_DIR "/tests/golden/") + name + ".txt";
}

void ExpectGolden(const std::string& name, const std::string& text) {
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream(Path(name)) << text;
    return;
  }
  std::ifstream file(Path(name));
  ASSERT_TRUE(file) << "no golden " << Path(name);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "in " << Path(name);
}

std::string AllStages(const model::Target& target,
                      const model::ForwardPass& pass) {
  const model::Estimate estimate = EstimatePass(target, pass);
  return "== lower\n" + model::DumpOps(estimate.ops, target.graph()) +
         "== price\n" +
         model::DumpTimes(estimate.ops, estimate.times, target.graph()) +
         "== aggregate\n" + model::DumpEstimate(estimate.phase);
}

model::Target ToyTarget(int tensor) {
  model::ModelGraphSpec spec = TinyGraph();
  GroupedOf(spec.layer_kinds[0]).qk_norm = model::QkNorm::kPerHead;
  GroupedOf(spec.layer_kinds[0]).qkv_bias = true;
  return BuildTarget(TargetOn(BuildGraph(spec), ToyHardware().Build(), tensor));
}

TEST(Golden, ToyDecode) {
  ExpectGolden("toy_decode", AllStages(ToyTarget(1), DecodePass(3, 100)));
}

TEST(Golden, ToyMixedOnTwoRanks) {
  ExpectGolden("toy_mixed_tp2",
               AllStages(ToyTarget(2), BuildPass({{Role::kPrefill, 1, 64, 32},
                                                  {Role::kDecode, 4, 2, 50}})));
}

TEST(Golden, ToyFp8) {
  model::TargetSpec spec =
      TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build());
  spec.weights = spec.activations = model::Format::kFp8E4m3;
  ExpectGolden("toy_fp8", AllStages(BuildTarget(spec), PrefillPass(2, 32)));
}

TEST(Golden, ToyExpertsOnTwoRanks) {
  const model::Target target = BuildTarget(
      TargetOn(BuildGraph(TinyMoeGraph()), ToyHardware().Build(), 2));
  ExpectGolden("toy_moe_tp2", AllStages(target, DecodePass(3, 100)));
}

// A prompt expands its keys and values, decodes work on the latent vectors.
TEST(Golden, ToyLatentMixed) {
  const model::Target target = BuildTarget(
      TargetOn(BuildGraph(TinyLatentGraph()), ToyHardware().Build()));
  ExpectGolden("toy_mla_mixed",
               AllStages(target, BuildPass({{Role::kPrefill, 1, 64, 32},
                                            {Role::kDecode, 4, 2, 50}})));
}

TEST(Golden, Llama70bOnEightH100) {
  const absl::StatusOr<model::ShippedData> shipped = model::LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const model::Target target =
      BuildTarget(TargetOn(shipped->graphs.at("llama-3.1-70b"),
                           shipped->profiles.at("h100-sxm"), 8));
  ExpectGolden("llama_70b_h100_tp8", AllStages(target, DecodePass(64, 4096)));
}

// Chosen positions, a window with entries of four, an encoder.
TEST(Golden, ToyAttentionKinds) {
  model::ModelGraphSpec spec = TinyGraph();
  const model::FeedForward ffn = spec.layer_kinds[0].feed_forward;
  spec.layer_kinds = {
      {"sparse",
       model::LatentAttention{
           .query_heads = 4,
           .kv_lora_rank = 6,
           .query_lora_rank = 10,
           .nope_head_size = 3,
           .rope_head_size = 2,
           .value_head_size = 4,
           .indexer =
               model::SparseIndexer{.heads = 2, .head_size = 4, .top_k = 16}},
       ffn},
      {"compressed",
       model::CompressedAttention{
           .query_heads = 4,
           .head_size = 6,
           .rope_head_size = 2,
           .query_lora_rank = 10,
           .output_groups = 2,
           .output_lora_rank = 5,
           .sliding_window = 8,
           .ratio = 4,
           .overlap = true,
           .indexer =
               model::SparseIndexer{.heads = 2, .head_size = 4, .top_k = 4}},
       ffn},
      {"cross",
       model::CrossAttention{.query_heads = 4, .kv_heads = 2, .head_size = 6},
       ffn}};
  spec.layer_kind_indexes = {0, 1, 2};
  ExpectGolden("toy_attention_kinds",
               AllStages(BuildTarget(TargetOn(BuildGraph(spec),
                                              ToyHardware().Build(), 2)),
                         BuildPass({{Role::kPrefill, 1, 20, 0, 30},
                                    {Role::kDecode, 4, 1, 50, 30}})));
}

}  // namespace
}  // namespace mansard::testing
