// Which modules a rule's name stands for.
#include "model/graph/module_rules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/module_names.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ModuleFormats kWide = {Format::kBf16, Format::kBf16};
constexpr ModuleFormats kNarrow = {Format::kFp8E4m3, Format::kFp8E4m3};

struct Case {
  const char* rule;
  const char* module;
  bool fits;
};

TEST(ModuleRulesTest, NamesStandForModules) {
  const Case cases[] = {
      // Whole names, their ends, their parts; always between dots.
      {"lm_head", "lm_head", true},
      {"lm_head", "model.lm_head", true},
      {"lm_head", "lm_head2", false},
      {"model.layers.1.mlp", "model.layers.1.mlp.up_proj", true},
      {"model.layers.1.mlp", "model.layers.10.mlp.up_proj", false},
      {"model.layers.1", "model.layers.1.mlp.up_proj", true},
      {"layers.1.mlp", "model.layers.1.mlp.up_proj", true},
      {"gate", "model.layers.0.block_sparse_moe.gate", true},
      {"gate", "model.layers.0.mlp.gate_proj", false},
      {"self_attn", "model.layers.7.self_attn.q_proj", true},
      {"attn", "model.layers.7.self_attn.q_proj", false},
      {"model.layers.0.mlp.gate.", "model.layers.0.mlp.gate", true},
      {"visual", "model.layers.7.self_attn.q_proj", false},
      // "*" is any text.
      {"model.layers.*.self_attn", "model.layers.31.self_attn.o_proj", true},
      {"model.layers.0.self_attn*", "model.layers.0.self_attn.o_proj", true},
      {"model.layers.0.self_attn*", "model.layers.1.self_attn.o_proj", false},
      {"*.mlp.gate", "model.layers.3.mlp.gate", true},
      {"*.mlp.gate", "model.layers.3.mlp.gate_proj", false},
      {"*proj", "model.layers.3.mlp.gate_proj", true},
      {"layers.?.mlp", "layers.1.mlp", false},
      // Expressions hold from the beginning.
      {"re:.*self_attn.*", "model.layers.0.self_attn.q_proj", true},
      {"re:self_attn.*", "model.layers.0.self_attn.q_proj", false},
      {"re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.up_proj",
       true},
      {"re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
       "model.layers.0.mlp.experts.0.up_proj", false},
      {"re:.*gate$", "model.layers.0.mlp.gate", true},
      {"re:.*gate$", "model.layers.0.mlp.gate_proj", false},
      {"re:.*layers\\.(0|1)\\..*", "model.layers.1.mlp.gate", true},
      {"re:.*layers\\.(0|1)\\..*", "model.layers.10.mlp.gate", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.rule) + " of " + c.module);
    ModuleRules rules;
    ASSERT_TRUE(rules.Add(c.rule, kNarrow));
    EXPECT_EQ(rules.Find(c.module).has_value(), c.fits);
    EXPECT_EQ(rules.Unused().empty(), c.fits);
  }
}

TEST(ModuleRulesTest, LiteralsHoldBeforePatternsAndFirstBeforeLater) {
  ModuleRules rules;
  ASSERT_TRUE(rules.Add("re:.*experts.*", kNarrow));
  ASSERT_TRUE(rules.Add("*up_proj", kWide));
  ASSERT_TRUE(rules.Add("mlp.experts.0.down_proj", kWide));
  EXPECT_EQ(rules.Find("mlp.experts.0.up_proj"), kNarrow);
  EXPECT_EQ(rules.Find("mlp.experts.0.down_proj"), kWide);
  EXPECT_EQ(rules.Find("mlp.up_proj"), kWide);
  EXPECT_EQ(rules.Find("mlp.gate"), std::nullopt);
  EXPECT_THAT(rules.Unused(), IsEmpty());
}

TEST(ModuleRulesTest, TellsWhetherNumbersMatter) {
  const std::pair<const char*, bool> cases[] = {
      {"lm_head", true},
      {"model.layers.*.self_attn", true},
      {"re:.*self_attn.*", true},
      {"re:.*mlp\\.(gate|up)_proj$", true},
      {"model.layers.3.mlp", false},
      {"*.layers.3.*", false},
      {"re:.*layers\\.3\\..*", false},
      {"re:.*layers\\.[a-z].*", false},
      {"re:.*layers\\.\\d\\..*", false},
      {"re:.*layers...mlp", false},
  };
  for (const auto& [name, none] : cases) {
    ModuleRules rules;
    ASSERT_TRUE(rules.Add(name, kWide));
    EXPECT_EQ(rules.SeesNoNumbers(), none) << name;
  }
}

TEST(ModuleRulesTest, TellsWhatItCannotRead) {
  ModuleRules rules;
  EXPECT_FALSE(rules.Add("re:(", kWide));
  EXPECT_FALSE(rules.Add("re:a{1,100000}", kWide));
  EXPECT_TRUE(rules.Add("(", kWide));
  EXPECT_TRUE(rules.Add("[*", kWide));
  EXPECT_EQ(rules.Find("model.layers.0.mlp"), std::nullopt);
  EXPECT_THAT(rules.Unused(), ElementsAre("(", "[*"));
}

TEST(ModuleNamesTest, EveryClassOfALayerHasNames) {
  LayerKind kind{.name = "all", .attention = GroupedQueryAttention{}};
  kind.recurrent = RecurrentMixer{};
  kind.feed_forward = MixtureOfExperts{
      .expert_count = 2, .shared_intermediate_size = 4, .latent_size = 4};
  for (LinearClass linear : AllLinearClasses()) {
    SCOPED_TRACE(std::string(LinearClassName(linear)));
    EXPECT_EQ(ParseLinearClass(LinearClassName(linear)), linear);
    if (!IsInLayers(linear)) {
      EXPECT_FALSE(TableNames(linear).empty());
      continue;
    }
    EXPECT_EQ(ModuleSpellings(kind, linear, false).empty(),
              !HasLinear(kind, linear));
    for (const ModuleSpelling& spelling : ModuleSpellings(kind, linear, true)) {
      EXPECT_FALSE(spelling.empty());
    }
  }
  EXPECT_EQ(ParseLinearClass("linear"), std::nullopt);
}

}  // namespace
}  // namespace mansard::model
