// Decoders inside larger files, and how a file's class is found.
#include "model/graph/hf_decoder.h"

#include <string>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// `inner` without its architectures, below `key` of a file with `outer` keys.
std::string Nest(const std::string& key, const std::string& inner,
                 const std::string& outer) {
  return "{" + outer + ", \"" + key + "\": " + inner + "}";
}

std::string Inner(const std::string& architecture, Keys changes) {
  changes.emplace("architectures", "");
  return Config(architecture, changes);
}

TEST(HfDecoderTest, TextPartsByTheirModelType) {
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const ImportedConfig imported = ImportOrDie(
        Nest(key, Inner("MistralForCausalLM", {{"model_type", "\"mistral\""}}),
             R"("architectures": ["Mistral3ForConditionalGeneration"],
                "vision_config": {"hidden_size": 1024},
                "image_token_index": 10, "projector_hidden_act": "gelu",
                "spatial_merge_size": 2)"));
    EXPECT_EQ(imported.graph.spec().hidden_size, 8);
    EXPECT_THAT(imported.assumptions,
                ElementsAre(std::string(key) +
                                " is the decoder: MistralForCausalLM, as " +
                                key + ".model_type says",
                            "vision_config is no part of the text decoder: "
                            "not counted"));
    EXPECT_THAT(
        imported.ignored_keys,
        UnorderedElementsAre("image_token_index", "projector_hidden_act",
                             "spatial_merge_size",
                             std::string(key) + ".sliding_window"));
  }
}

TEST(HfDecoderTest, TwoLevels) {
  const std::string thinker =
      Nest("text_config",
           Inner("Qwen3MoeForCausalLM", {{"attention_bias", "false"},
                                         {"num_experts", "8"},
                                         {"num_experts_per_tok", "2"},
                                         {"moe_intermediate_size", "4"}}),
           R"("audio_config": {"d_model": 20}, "audio_token_id": 3)");
  const ImportedConfig imported = ImportOrDie(
      Nest("thinker_config", thinker,
           R"("architectures": ["Qwen3OmniMoeForConditionalGeneration"],
              "talker_config": {"hidden_size": 3})"));
  EXPECT_EQ(imported.graph.ExpertCount(), 8);
  EXPECT_THAT(
      imported.assumptions,
      Contains("thinker_config.text_config is the decoder: "
               "Qwen3OmniMoeForConditionalGeneration, as architectures says"));
  EXPECT_THAT(imported.assumptions,
              Contains("thinker_config.audio_config is no part of the text "
                       "decoder: not counted"));
}

TEST(HfDecoderTest, InnerKeysHold) {
  const ImportedConfig imported = ImportOrDie(Nest(
      "text_config", Inner("LlamaForCausalLM", {{"model_type", "\"llama\""}}),
      R"("tie_word_embeddings": true, "vocab_size": 10)"));
  EXPECT_FALSE(imported.graph.spec().tied_embeddings);
  EXPECT_THAT(imported.assumptions,
              Contains("tie_word_embeddings is true, but "
                       "text_config.tie_word_embeddings is false: the inner "
                       "one holds"));
}

TEST(HfDecoderTest, OuterKeysWhereTheInnerOnesAreSilent) {
  const ImportedConfig imported =
      ImportOrDie(Nest("text_config",
                       Inner("LlamaForCausalLM", {{"model_type", "\"llama\""},
                                                  {"tie_word_embeddings", ""},
                                                  {"torch_dtype", "null"}}),
                       R"("tie_word_embeddings": true, "torch_dtype": "float16",
              "_name_or_path": "some/model")"));
  EXPECT_TRUE(imported.graph.spec().tied_embeddings);
  EXPECT_EQ(imported.graph.spec().native_precision.weights, Format::kFp16);
  EXPECT_EQ(imported.graph.spec().display_name, "some/model");
  EXPECT_THAT(imported.assumptions,
              Contains("tie_word_embeddings stands outside the decoder's own "
                       "keys: taken from there"));
}

// As LLaVA's files: the text part says next to nothing.
TEST(HfDecoderTest, SizesOfTheClass) {
  const ImportedConfig imported = ImportOrDie(
      R"({"architectures": ["LlavaForConditionalGeneration"],
          "text_config": {"model_type": "llama", "vocab_size": 100}})");
  // 2 x 100 x 4096, 32 layers of 4 x 4096^2, 3 x 4096 x 11008 and two norms.
  EXPECT_EQ(imported.graph.ParameterCount(),
            2 * 100 * 4096 +
                32 * (int64_t{4} * 4096 * 4096 + int64_t{3} * 4096 * 11008 +
                      2 * 4096) +
                4096);
  EXPECT_THAT(imported.assumptions,
              Contains("hidden_size is absent: 4096, as the class default"));
  EXPECT_THAT(imported.assumptions,
              Contains("num_hidden_layers is absent: 32, as the class "
                       "default"));
}

TEST(HfDecoderTest, MistakesAreNamedByTheirPath) {
  EXPECT_THAT(
      Refusals(Nest("text_config",
                    Inner("LlamaForCausalLM", {{"model_type", "\"llama\""},
                                               {"hidden_size", "\"8\""},
                                               {"kv_lora_rank", "4"}}),
                    R"("num_extra_layers": 3)")),
      ElementsAre(
          "text_config.hidden_size: is \"8\"; must be an integer, 1 to "
          "16777216",
          "text_config.kv_lora_rank: is 4; LlamaForCausalLM has no such key, "
          "and by its name it changes cost",
          "num_extra_layers: is 3; LlamaForCausalLM has no such key, and by "
          "its name it changes cost"));
}

TEST(HfDecoderTest, UnknownAroundAKnownDecoder) {
  const ImportedConfig imported = ImportOrDie(Nest(
      "text_config", Inner("LlamaForCausalLM", {{"model_type", "\"llama\""}}),
      R"("architectures": ["NewVisionModel"], "model_type": "new_vl")"));
  EXPECT_THAT(imported.assumptions,
              ElementsAre("text_config is the decoder: LlamaForCausalLM, as "
                          "text_config.model_type says"));
}

TEST(HfDecoderTest, UnknownEverywhereIsNamedByTheOutermost) {
  Violations violations;
  const absl::Status status = ImportHuggingFaceConfig(
                                  R"({"architectures": ["NewVisionModel"],
              "text_config": {"model_type": "new_text"}})",
                                  violations)
                                  .status();
  EXPECT_EQ(status.GetPayload(kUnsupportedArchitecture),
            absl::Cord("NewVisionModel"));
}

TEST(HfDecoderTest, NamesThatCannotBeRead) {
  EXPECT_THAT(Refusals(R"({"text_config": {"architectures": "x"}})"),
              ElementsAre("text_config.architectures: is \"x\"; must be a "
                          "list of strings"));
  EXPECT_THAT(Refusals(R"({"text_config": {}})"),
              ElementsAre("architectures: is missing, and so is model_type"));
}

TEST(HfDecoderTest, ManyInnerKeys) {
  std::string inner = "{\"a\": 1";
  for (int i = 0; i < 600; ++i) {
    inner += ", \"k" + std::to_string(i) + "\": 1";
  }
  EXPECT_THAT(Refusals("{\"text_config\": " + inner + "}}"),
              ElementsAre(HasSubstr("text_config: has 601 keys; allowed: up "
                                    "to 500")));
}

}  // namespace
}  // namespace mansard::model
