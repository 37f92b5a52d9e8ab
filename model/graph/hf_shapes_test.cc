#include <cstdint>

#include "gtest/gtest.h"
#include "model/graph/hf_config.h"

namespace mansard::model {
namespace {

// Shapes of published models that are not among the files, against the number
// of parameters that their checkpoints hold.
struct Shape {
  const char* what;
  const char* text;
  int64_t parameters;
};

constexpr Shape kShapes[] = {
    {"OPT-350M",
     R"({"model_type": "opt", "hidden_size": 1024, "ffn_dim": 4096,
         "num_hidden_layers": 24, "num_attention_heads": 16,
         "vocab_size": 50272, "word_embed_proj_dim": 512,
         "max_position_embeddings": 2048, "do_layer_norm_before": false})",
     331196416},
    {"DeepSeek-V2-Lite",
     R"({"architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 2048,
         "intermediate_size": 10944, "num_hidden_layers": 27,
         "num_attention_heads": 16, "vocab_size": 102400,
         "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64,
         "n_shared_experts": 2, "num_experts_per_tok": 6,
         "moe_intermediate_size": 1408, "first_k_dense_replace": 1})",
     15706484224},
    {"Qwen1.5-MoE-A2.7B",
     R"({"architectures": ["Qwen2MoeForCausalLM"], "hidden_size": 2048,
         "intermediate_size": 5632, "num_hidden_layers": 24,
         "num_attention_heads": 16, "num_key_value_heads": 16,
         "vocab_size": 151936, "num_experts": 60, "num_experts_per_tok": 4,
         "moe_intermediate_size": 1408,
         "shared_expert_intermediate_size": 5632})",
     14315784192},
    {"Gemma-2-2B",
     R"({"architectures": ["Gemma2ForCausalLM"], "hidden_size": 2304,
         "intermediate_size": 9216, "num_hidden_layers": 26,
         "num_attention_heads": 8, "num_key_value_heads": 4,
         "head_dim": 256, "vocab_size": 256000})",
     2614341888},
    {"Phi-1.5",
     R"({"architectures": ["PhiForCausalLM"], "hidden_size": 2048,
         "intermediate_size": 8192, "num_hidden_layers": 24,
         "num_attention_heads": 32, "vocab_size": 51200})",
     1418270720},
    {"Command R+: norms of queries and keys",
     R"({"architectures": ["CohereForCausalLM"], "hidden_size": 12288,
         "intermediate_size": 33792, "num_hidden_layers": 64,
         "num_attention_heads": 96, "num_key_value_heads": 8,
         "vocab_size": 256000, "use_qk_norm": true})",
     103810674688},
    {"StarCoder2-3B",
     R"({"architectures": ["Starcoder2ForCausalLM"], "hidden_size": 3072,
         "intermediate_size": 12288, "num_hidden_layers": 30,
         "num_attention_heads": 24, "num_key_value_heads": 2,
         "vocab_size": 49152})",
     3030371328},
    {"StableLM-2-1.6B",
     R"({"architectures": ["StableLmForCausalLM"], "hidden_size": 2048,
         "intermediate_size": 5632, "num_hidden_layers": 24,
         "num_attention_heads": 32, "num_key_value_heads": 32,
         "vocab_size": 100352, "use_qkv_bias": true})",
     1644515328},
};

TEST(PublishedShapesTest, Totals) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.what);
    Violations violations;
    const absl::StatusOr<ImportedConfig> imported =
        ImportHuggingFaceConfig(shape.text, violations);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->graph.ParameterCount(), shape.parameters);
  }
}

}  // namespace
}  // namespace mansard::model
