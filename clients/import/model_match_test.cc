#include "clients/import/model_match.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

std::vector<KnownModel> Catalog() {
  return {{"llama-3.1-8b", "meta-llama/Llama-3.1-8B config.json"},
          {"llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B config.json"},
          {"llama-3.1-70b-fp8", "neuralmagic/Llama-3.1-70B-FP8 config.json"},
          {"mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1 config.json"},
          {"mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1 config.json"},
          {"deepseek-v3", "deepseek-ai/DeepSeek-V3 config.json"},
          {"qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B config.json"},
          {"qwen3-235b-a22b-fp8", "Qwen/Qwen3-235B-A22B-FP8 config.json"},
          {"gpt-oss-120b", "openai/gpt-oss-120b config.json"}};
}

TEST(ModelMatch, ByIdSourceAndName) {
  const struct {
    const char* name;
    const char* id;
  } kTable[] = {
      {"llama-3.1-8b", "llama-3.1-8b"},
      {"meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b"},
      {"meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b"},
      {"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"/models/Llama-3.1-8B-Instruct/", "llama-3.1-8b"},
      {"meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b"},
      {"nvidia/Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b-fp8"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
      {"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
      {"Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"},
      {"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "qwen3-235b-a22b-fp8"},
      {"openai/gpt-oss-120b", "gpt-oss-120b"},
      // Another vocabulary, and other formats: not the same.
      {"mistralai/Mistral-7B-Instruct-v0.3", ""},
      {"neuralmagic/Llama-3.1-8B-quantized.w4a16", ""},
      {"acme/Unheard-Of-13B", ""},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(MatchModel(row.name, Catalog()).id, row.id) << row.name;
  }
}

TEST(ModelMatch, SaysWhyAndWhatIsClose) {
  EXPECT_EQ(MatchModel("meta-llama/Llama-3.1-8B", Catalog()).because, "");
  EXPECT_EQ(MatchModel("x/Llama-3.1-8B-Instruct", Catalog()).because,
            "by its name");
  EXPECT_EQ(MatchModel("meta-llama/Llama-3.3-70B", Catalog()).because,
            "a model of the same shapes");
  EXPECT_EQ(MatchModel("mistralai/Mistral-7B-v0.3", Catalog()).closest,
            (std::vector<std::string>{"mistral-7b-v0.1"}));
  // Sizes alone are nothing alike.
  EXPECT_TRUE(MatchModel("acme/Unheard-Of-8B", Catalog()).closest.empty());
}

}  // namespace
}  // namespace mansard::importing
