// What the importer refuses, and in which words.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(HfRefusalsTest, StructureThatTheFamilyLacks) {
  for (const char* key :
       {"num_experts", "num_local_experts", "n_routed_experts",
        "moe_intermediate_size", "kv_lora_rank", "q_lora_rank",
        "qk_rope_head_dim", "num_nextn_predict_layers", "vision_config",
        "text_config", "use_qk_norm", "attention_chunk_size",
        "cla_share_factor", "dual_chunk_attention_config",
        "n_shared_experts"}) {
    EXPECT_THAT(
        Refusals(Config("LlamaForCausalLM", {{key, "8"}})),
        ElementsAre(std::string(key) +
                    ": is 8; LlamaForCausalLM has no such key, and by its name "
                    "it changes cost"));
    EXPECT_THAT(
        ImportOrDie(Config("LlamaForCausalLM", {{key, "null"}})).ignored_keys,
        ElementsAre(key));
  }
}

TEST(HfRefusalsTest, RepeatedKeys) {
  std::string text = Config("LlamaForCausalLM");
  text.pop_back();
  text += R"(, "hidden_size": 16, "hidden_size": 32, "use_cache": 1,
          "use_cache": 2})";
  EXPECT_THAT(Refusals(text), ElementsAre("hidden_size: stands more than once",
                                          "use_cache: stands more than once"));
}

struct Wrong {
  const char* key;
  const char* value;
  const char* refusal;
};

TEST(HfRefusalsTest, WrongValues) {
  const Wrong rows[] = {
      {"hidden_size", "", "hidden_size: is missing; must be an integer"},
      {"hidden_size", "\"8\"",
       "hidden_size: is \"8\"; must be an integer, 1 to 16777216"},
      {"hidden_size", "16777217",
       "hidden_size: is 16777217; must be an integer, 1 to 16777216"},
      {"num_attention_heads", "32.5",
       "num_attention_heads: is 32.5; must be an integer, 1 to 65536"},
      {"num_attention_heads", "-4",
       "num_attention_heads: is -4; must be an integer, 1 to 65536"},
      {"num_attention_heads", "0",
       "num_attention_heads: is 0; must be an integer, 1 to 65536"},
      {"num_attention_heads", "1e3",
       "num_attention_heads: is 1000; must be an integer, 1 to 65536"},
      {"num_attention_heads", "Infinity",
       "num_attention_heads: is inf; must be an integer, 1 to 65536"},
      {"num_attention_heads", "18446744073709551616",
       "num_attention_heads: is 1.84467e+19; must be an integer, 1 to 65536"},
      {"num_key_value_heads", "3",
       "num_key_value_heads: is 3; must divide num_attention_heads, 4"},
      {"num_hidden_layers", "4097",
       "num_hidden_layers: is 4097; must be an integer, 1 to 4096"},
      {"num_hidden_layers", "",
       "num_hidden_layers: is missing; must be an integer"},
      {"vocab_size", "268435457",
       "vocab_size: is 268435457; must be an integer, 1 to 268435456"},
      {"intermediate_size", "[16]",
       "intermediate_size: is a list; must be an integer, 1 to 16777216"},
      {"max_position_embeddings", "null",
       "max_position_embeddings: is null; must be an integer, 1 to "
       "1000000000"},
      {"tie_word_embeddings", "1",
       "tie_word_embeddings: is 1; must be true or false"},
      {"attention_bias", "null",
       "attention_bias: is null; must be true or false"},
      {"mlp_bias", "\"no\"", "mlp_bias: is \"no\"; must be true or false"},
      {"hidden_act", "{}", "hidden_act: is an object; must be a string"},
      {"torch_dtype", "16", "torch_dtype: is 16; must be a string"},
      {"model_type", "[]", "model_type: is a list; must be a string"},
      {"_name_or_path", "7", "_name_or_path: is 7; must be a string"},
      {"architectures", "\"LlamaForCausalLM\"",
       "architectures: is \"LlamaForCausalLM\"; must be a list of strings"},
      {"architectures", "[1]", "architectures[0]: is 1; must be a string"},
      {"architectures", R"(["LlamaForCausalLM", "LlamaModel"])",
       "architectures: has 2 entries; must name one architecture"},
      {"architectures", "", "architectures: is missing, and so is model_type"},
      {"layer_types", "\"full_attention\"",
       "layer_types: is \"full_attention\"; must be a list of strings"},
      {"layer_types", R"(["full_attention"])",
       "layer_types: has 1 entries; num_hidden_layers is 3"},
      {"layer_types",
       R"(["full_attention", "linear_attention", "linear_attention"])",
       "layer_types[1]: is \"linear_attention\"; allowed: full_attention, "
       "sliding_attention"},
      {"layer_types",
       R"(["full_attention", "full_attention", "sliding_attention"])",
       "layer_types[2]: is \"sliding_attention\"; but no sliding_window is in "
       "use"},
      {"sliding_window", "4096",
       "sliding_window: is 4096; LlamaForCausalLM has no window. Remove the "
       "key, or name an architecture that has one"},
      {"use_sliding_window", "1",
       "use_sliding_window: is 1; must be true or false"},
  };
  for (const Wrong& row : rows) {
    SCOPED_TRACE(std::string(row.key) + ": " + row.value);
    EXPECT_THAT(Refusals(Config("LlamaForCausalLM", {{row.key, row.value}})),
                ElementsAre(row.refusal));
  }
}

TEST(HfRefusalsTest, AllMistakesAtOnce) {
  EXPECT_THAT(
      Refusals(Config("MistralForCausalLM",
                      {{"hidden_size", "\"8\""},
                       {"num_attention_heads", ""},
                       {"num_hidden_layers", "0"},
                       {"tie_word_embeddings", "null"},
                       {"torch_dtype", "\"int8\""},
                       {"sliding_window", "-1"},
                       {"num_experts", "8"},
                       {"quantization_config", R"({"quant_method": "x"})"}})),
      UnorderedElementsAre(
          HasSubstr("hidden_size: "), HasSubstr("num_attention_heads: "),
          HasSubstr("num_hidden_layers: "), HasSubstr("tie_word_embeddings: "),
          HasSubstr("torch_dtype: "), HasSubstr("sliding_window: "),
          HasSubstr("num_experts: "),
          HasSubstr("quantization_config.quant_method: ")));
}

absl::Status StatusOf(const std::string& text) {
  Violations violations;
  absl::Status status = ImportHuggingFaceConfig(text, violations).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(violations.empty());
  return status;
}

struct Foreign {
  const char* architecture;
  const char* message;
};

TEST(HfRefusalsTest, UnsupportedArchitectures) {
  const std::string count =
      "; " + std::to_string(SupportedArchitectures().size()) + " are supported";
  const Foreign rows[] = {
      {"MixtralForCasualLM",
       "architecture \"MixtralForCasualLM\" is not supported; the closest is "
       "MixtralForCausalLM"},
      {"Qwen4MoeForCausalLM",
       "architecture \"Qwen4MoeForCausalLM\" is not supported; the closest is "
       "Qwen2MoeForCausalLM"},
      {"Grok1ModelForCausalLM",
       "architecture \"Grok1ModelForCausalLM\" is not supported"},
      {"T5", "architecture \"T5\" is not supported"},
  };
  for (const Foreign& row : rows) {
    const absl::Status status = StatusOf(Config(row.architecture));
    EXPECT_THAT(std::string(status.message()), StartsWith(row.message));
    EXPECT_THAT(std::string(status.message()), EndsWith(count));
    EXPECT_EQ(status.GetPayload(kUnsupportedArchitecture),
              absl::Cord(row.architecture));
  }
  const absl::Status by_type =
      StatusOf(R"({"model_type": "whisper", "n_layer": 2})");
  EXPECT_EQ(by_type.GetPayload(kUnsupportedArchitecture),
            absl::Cord("whisper"));
  // What `architectures` says decides, even where model_type is known.
  EXPECT_EQ(
      StatusOf(Config("Grok1ModelForCausalLM", {{"model_type", "\"mixtral\""}}))
          .GetPayload(kUnsupportedArchitecture),
      absl::Cord("Grok1ModelForCausalLM"));
}

// Two names of one key that say different things.
TEST(HfRefusalsTest, Contradictions) {
  EXPECT_THAT(
      Refusals(Config("LlamaForCausalLM", {{"n_layer", "4"}})),
      ElementsAre("n_layer: is 4, but num_hidden_layers is 3, and both mean "
                  "the same"));
  EXPECT_THAT(
      ImportOrDie(Config("LlamaForCausalLM", {{"n_layer", "3"}})).assumptions,
      IsEmpty());
}

TEST(HfRefusalsTest, LongNamesAreCut) {
  const absl::Status status = StatusOf(Config(std::string(900000, 'x')));
  EXPECT_LT(status.message().size(), 400u);
  EXPECT_EQ(status.GetPayload(kUnsupportedArchitecture),
            absl::Cord(std::string(128, 'x') + "..."));
  const std::vector<std::string> refusals = Refusals(
      Config("LlamaForCausalLM", {{"num_" + std::string(100000, 'x'), "1"}}));
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_LT(refusals[0].size(), 200u);
}

TEST(HfRefusalsTest, TextThatIsNotAConfig) {
  const std::string valid = Config("LlamaForCausalLM");
  EXPECT_THAT(std::string(StatusOf("").message()),
              HasSubstr("config.json is not JSON at byte 0"));
  EXPECT_THAT(std::string(StatusOf("[]").message()),
              HasSubstr("config.json is a list; it must be an object"));
  for (const char* open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 10000; ++i) deep += open;
    EXPECT_THAT(std::string(StatusOf(deep).message()),
                HasSubstr("config.json is nested deeper than 64 levels"));
  }
  std::string deep_value = valid;
  deep_value.pop_back();
  deep_value += ", \"rope_scaling\": " + std::string(10000, '[') +
                std::string(10000, ']') + "}";
  EXPECT_THAT(std::string(StatusOf(deep_value).message()),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_EQ(StatusOf(valid + std::string(2000000, ' ')).message(),
            "config.json has " + std::to_string(valid.size() + 2000000) +
                " bytes; allowed: up to 1000000");
  EXPECT_THAT(std::string(StatusOf(Config("LlamaForCausalLM",
                                          {{"hidden_act", "\"\xff\""}}))
                              .message()),
              HasSubstr("is not UTF-8 text at byte"));
  EXPECT_THAT(std::string(StatusOf(Config("LlamaForCausalLM",
                                          {{"hidden_size", "1e400"}}))
                              .message()),
              HasSubstr("config.json is not JSON at byte"));
}

TEST(HfRefusalsTest, EveryTruncationIsRefused) {
  const std::string valid = Config(
      "LlamaForCausalLM", {{"rope_scaling", R"({"factor": [1.5e1, Infinity]})"},
                           {"_name_or_path", "\"\xc3\xa9\""}});
  ImportOrDie(valid);
  for (size_t length = 0; length < valid.size(); ++length) {
    EXPECT_NE(StatusOf(valid.substr(0, length)).message(), "") << length;
  }
}

}  // namespace
}  // namespace mansard::model
