// Command lines of TensorRT-LLM, with their files, and the engines they are.
#include "clients/import/import_case.h"
#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

TEST(TrtllmImport, FlagsAlone) {
  const auto import = Imported(
      Runtime::kTrtllm,
      "trtllm-serve nvidia/Llama-3.1-405B-Instruct-FP8 --backend pytorch "
      "--tp_size 8 --ep_size 1 --max_batch_size 64 --max_num_tokens 4096 "
      "--kv_cache_free_gpu_memory_fraction 0.95 --max_seq_len 8192 "
      "--host 0.0.0.0 --num_gpus 8");
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 8 pipeline_size: 1 "
            "data_size: 1 context_size: 1 } } "
            "limits { max_batched_token_count: 4096 max_sequence_count: 64 "
            "kv_block_token_count: 32 memory_utilization_ratio: 1 } "
            "scheduling: SCHEDULING_MIXED ");
  EXPECT_EQ(import->free_memory_ratio, 0.95);
  EXPECT_EQ(FateOf(import, "--num_gpus"), "unknown");
  EXPECT_EQ(FateOf(import, "kv_cache_config.tokens_per_block"), "default");
}

TEST(TrtllmImport, HoldsPromptsBackWhereBothNumbersSaySo) {
  const auto both =
      Imported(Runtime::kTrtllm,
               "trtllm-serve m --extra_llm_api_options options.yaml", {}, kH100,
               OneFile("batch_wait_timeout_iters: 20\n"
                       "batch_wait_max_tokens_ratio: 0.9\n"));
  const v1::EngineAdmission& admission = both->engine.admission();
  EXPECT_EQ(admission.batch_wait_pass_count(), 20);
  EXPECT_EQ(admission.batch_wait_token_ratio(), 0.9);
  EXPECT_EQ(BecomesOf(both, "batch_wait_max_tokens_ratio"),
            "--batch-wait-tokens 0.9");
  for (const char* alone :
       {"batch_wait_timeout_iters: 20\n", "batch_wait_max_tokens_ratio: 0.9\n",
        "batch_wait_timeout_iters: 0\nbatch_wait_max_tokens_ratio: 0.9\n"}) {
    const auto one = Imported(
        Runtime::kTrtllm, "trtllm-serve m --extra_llm_api_options options.yaml",
        {}, kH100, OneFile(alone));
    EXPECT_FALSE(one->engine.has_admission()) << alone;
  }
  EXPECT_EQ(FateOf(Imported(Runtime::kTrtllm,
                            "trtllm-serve m --batch_wait_timeout_iters 20"),
                   "--batch_wait_timeout_iters"),
            "no effect");
}

TEST(TrtllmImport, WithAnOptionsFile) {
  const auto import = Imported(
      Runtime::kTrtllm,
      "trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --max_batch_size 512 "
      "--extra_llm_api_options options.yaml",
      {.has_experts = true, .has_narrow_weights = true}, kH100, OneFile(R"(
enable_attention_dp: true
moe_expert_parallel_size: 8
max_batch_size: 128
max_num_tokens: 3136
cuda_graph_config: null
kv_cache_config:
  dtype: fp8
  free_gpu_memory_fraction: 0.8
  max_tokens: 1000
moe_config:
  backend: TRTLLM
speculative_config:
  decoding_type: MTP
  num_nextn_predict_layers: 3
print_iter_log: true
allreduce_strategy: ONESHOT
)"));
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 1 pipeline_size: 1 "
            "expert_size: 8 data_size: 8 context_size: 1 } precision { "
            "kv_cache: \"fp8\" } cuda_graphs: false all_reduce_algorithm: "
            "\"one-shot\" } "
            "limits { max_batched_token_count: 25088 max_sequence_count: 1024 "
            "kv_block_token_count: 32 memory_utilization_ratio: 1 "
            "kv_token_capacity_count: 8000 } scheduling: SCHEDULING_MIXED ");
  EXPECT_EQ(import->free_memory_ratio, 0.8);
  EXPECT_EQ(BecomesOf(import, "max_batch_size"),
            "--max-sequences 1024, 128 on each of 8 data ranks");
  EXPECT_EQ(FateOf(import, "moe_config.backend"), "not modelled");
  EXPECT_EQ(FateOf(import, "speculative_config.num_nextn_predict_layers"),
            "ask");
  EXPECT_EQ(FateOf(import, "print_iter_log"), "no effect");
}

TEST(TrtllmImport, SizesOfExperts) {
  EXPECT_EQ(
      EngineText(Imported(Runtime::kTrtllm, "m --tp 8 --ep 4 --config x",
                          {.has_experts = true}, kH100,
                          OneFile("moe_tensor_parallel_size: 4\n"))),
      "--ep 4 and moe_tensor_parallel_size 4: allowed: sizes whose product is "
      "8, the tensor ranks");
}

TEST(TrtllmImport, NodesByDevicesPerNode) {
  const auto import =
      Imported(Runtime::kTrtllm, "m --tp 8 --pp 2 --gpus_per_node 8");
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_EQ(import->engine.target().parallelism().node_count(), 2);
}

}  // namespace
}  // namespace mansard::importing
