// Which layers have a sliding window, by family and keys.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;

struct WindowCase {
  const char* name;
  const char* architecture;
  Keys keys;
  std::vector<int64_t> windows;  // By layer.
};

TEST(HfWindowsTest, Windows) {
  const WindowCase rows[] = {
      {"in every layer",
       "MistralForCausalLM",
       {{"sliding_window", "64"}},
       {64, 64, 64}},
      {"class default",
       "MistralForCausalLM",
       {{"sliding_window", ""}},
       {4096, 4096, 4096}},
      {"null", "MistralForCausalLM", {{"sliding_window", "null"}}, {0, 0, 0}},
      {"off",
       "MistralForCausalLM",
       {{"sliding_window", "64"}, {"use_sliding_window", "false"}},
       {0, 0, 0}},
      {"max_window_layers is not Mistral's",
       "MistralForCausalLM",
       {{"sliding_window", "64"}, {"max_window_layers", "2"}},
       {64, 64, 64}},
      {"list that agrees",
       "MistralForCausalLM",
       {{"sliding_window", "64"},
        {"layer_types",
         R"(["sliding_attention", "sliding_attention", "sliding_attention"])"}},
       {64, 64, 64}},
      {"written but off",
       "Qwen2ForCausalLM",
       {{"sliding_window", "64"}, {"max_window_layers", "1"}},
       {0, 0, 0}},
      {"from a layer on",
       "Qwen2ForCausalLM",
       {{"use_sliding_window", "true"},
        {"sliding_window", "64"},
        {"max_window_layers", "1"}},
       {0, 64, 64}},
      {"from the first layer on",
       "Qwen3ForCausalLM",
       {{"use_sliding_window", "true"},
        {"sliding_window", "64"},
        {"max_window_layers", "0"}},
       {64, 64, 64}},
      {"beyond the last layer",
       "Qwen3ForCausalLM",
       {{"use_sliding_window", "true"},
        {"sliding_window", "64"},
        {"max_window_layers", "3"}},
       {0, 0, 0}},
      {"on, but null",
       "Qwen3ForCausalLM",
       {{"use_sliding_window", "true"},
        {"sliding_window", "null"},
        {"max_window_layers", "0"}},
       {0, 0, 0}},
      {"list before max_window_layers",
       "Qwen3ForCausalLM",
       {{"use_sliding_window", "true"},
        {"sliding_window", "64"},
        {"max_window_layers", "3"},
        {"layer_types",
         R"(["sliding_attention", "full_attention", "sliding_attention"])"}},
       {64, 0, 64}},
      {"by a pattern",
       "Gemma3ForCausalLM",
       {{"sliding_window", "64"}, {"sliding_window_pattern", "2"}},
       {64, 0, 64}},
      {"class default of a pattern",
       "Gemma2ForCausalLM",
       {{"sliding_window", "64"}},
       {64, 0, 64}},
      {"by letters",
       "Exaone4ForCausalLM",
       {{"sliding_window", "64"}, {"sliding_window_pattern", "\"LG\""}},
       {64, 0, 64}},
      {"list before pattern",
       "Olmo3ForCausalLM",
       {{"sliding_window", "64"},
        {"layer_types",
         R"(["full_attention", "full_attention", "sliding_attention"])"}},
       {0, 0, 64}},
      {"every layer, where neither is there",
       "MinistralForCausalLM",
       {{"sliding_window", "64"}},
       {64, 64, 64}},
      {"as long as the context",
       "Phi3ForCausalLM",
       {{"sliding_window", "8192"}},
       {0, 0, 0}},
      {"shorter than the context",
       "Phi3ForCausalLM",
       {{"sliding_window", "8191"}},
       {8191, 8191, 8191}},
      {"list of full layers",
       "LlamaForCausalLM",
       {{"layer_types",
         R"(["full_attention", "full_attention", "full_attention"])"}},
       {0, 0, 0}},
      {"null and off in Llama",
       "LlamaForCausalLM",
       {{"sliding_window", "4096"}, {"use_sliding_window", "false"}},
       {0, 0, 0}},
  };
  for (const WindowCase& row : rows) {
    SCOPED_TRACE(std::string(row.architecture) + " " + row.name);
    const ImportedConfig imported =
        ImportOrDie(Config(row.architecture, row.keys));
    const ModelGraphSpec& spec = imported.graph.spec();
    std::vector<int64_t> windows;
    for (int index : spec.layer_kind_indexes) {
      const LayerKind& kind = spec.layer_kinds[static_cast<size_t>(index)];
      windows.push_back(GroupedOf(kind).sliding_window);
      EXPECT_EQ(kind.name,
                GroupedOf(kind).sliding_window > 0 ? "window" : "dense");
    }
    EXPECT_EQ(windows, row.windows);
  }
}

TEST(HfWindowsTest, WindowDefaultsWhenOn) {
  const ImportedConfig imported =
      ImportOrDie(Config("Qwen2ForCausalLM", {{"use_sliding_window", "true"},
                                              {"num_hidden_layers", "30"}}));
  EXPECT_THAT(
      imported.assumptions,
      ElementsAre("sliding_window is absent: 4096, as the class default",
                  "max_window_layers is absent: 28, as the class "
                  "default"));
  EXPECT_EQ(imported.graph.CountOf(0), 28);
  EXPECT_EQ(imported.graph.CountOf(1), 2);
}

TEST(HfWindowsTest, SaysWhichWindowKeysChangeNothing) {
  EXPECT_THAT(
      ImportOrDie(Config("Qwen2ForCausalLM", {{"sliding_window", "64"},
                                              {"max_window_layers", "1"}}))
          .ignored_keys,
      ElementsAre("max_window_layers", "sliding_window"));
  EXPECT_THAT(ImportOrDie(Config("MistralForCausalLM",
                                 {{"sliding_window", "64"},
                                  {"use_sliding_window", "false"}}))
                  .assumptions,
              ElementsAre("use_sliding_window is false: no layer has a "
                          "window"));
}

// Cohere 2 and EXAONE 4 rotate where there is a window; SmolLM 3 by a list.
TEST(HfWindowsTest, LayersWithoutRotation) {
  const auto unrotated = [](const std::string& text) {
    const ImportedConfig imported = ImportOrDie(text);
    const ModelGraphSpec& spec = imported.graph.spec();
    std::vector<int> sizes;
    for (const int index : spec.layer_kind_indexes) {
      sizes.push_back(GroupedOf(spec.layer_kinds[static_cast<size_t>(index)])
                          .nope_head_size);
    }
    return sizes;
  };
  EXPECT_THAT(unrotated(Config(
                  "Cohere2ForCausalLM",
                  {{"sliding_window", "64"}, {"sliding_window_pattern", "3"}})),
              ElementsAre(0, 0, 2));
  EXPECT_THAT(
      unrotated(Config("Exaone4ForCausalLM", {{"sliding_window", "null"}})),
      ElementsAre(0, 0, 0));
  EXPECT_THAT(unrotated(Config("SmolLM3ForCausalLM",
                               {{"no_rope_layers", "[1, 0, 1]"}})),
              ElementsAre(0, 2, 0));
  EXPECT_THAT(unrotated(Config("SmolLM3ForCausalLM",
                               {{"no_rope_layer_interval", "3"}})),
              ElementsAre(0, 0, 2));
}

TEST(HfWindowsTest, WrongWindows) {
  EXPECT_THAT(
      Refusals(Config(
          "Exaone4ForCausalLM",
          {{"sliding_window", "64"}, {"sliding_window_pattern", "\"LGL\""}})),
      ElementsAre("sliding_window_pattern: is \"LGL\"; allowed: a number, or "
                  "L for each layer with a window and a G at the end"));
  EXPECT_THAT(
      Refusals(Config("MistralForCausalLM", {{"sliding_window", "0"}})),
      ElementsAre("sliding_window: is 0; must be an integer, 1 to 1000000000"));
  EXPECT_THAT(
      Refusals(Config("MistralForCausalLM", {{"sliding_window", "false"}})),
      ElementsAre(
          "sliding_window: is false; must be an integer, 1 to 1000000000"));
  EXPECT_THAT(
      Refusals(Config(
          "MistralForCausalLM",
          {{"sliding_window", "64"},
           {"layer_types",
            R"(["sliding_attention", "full_attention", "full_attention"])"}})),
      ElementsAre("layer_types[1]: is \"full_attention\"; but this "
                  "architecture has its window in every layer"));
  EXPECT_THAT(
      Refusals(Config("Qwen2ForCausalLM", {{"use_sliding_window", "true"},
                                           {"max_window_layers", "-1"}})),
      ElementsAre(
          "max_window_layers: is -1; must be an integer, 0 to 1000000000"));
}

}  // namespace
}  // namespace mansard::model
