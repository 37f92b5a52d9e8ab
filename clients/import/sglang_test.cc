// Command lines of SGLang and the engines that they are.
#include "clients/import/import_case.h"
#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

absl::StatusOr<EngineImport> Of(absl::string_view text,
                                const ModelFacts& model = {},
                                const DeviceFacts& device = kH100) {
  return Imported(Runtime::kSglang, text, model, device);
}

TEST(SglangImport, AttentionOnDataRanks) {
  const auto import =
      Of("python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 "
         "--tp 16 --dp 16 --enable-dp-attention --moe-a2a-backend deepep "
         "--chunked-prefill-size 16384 --max-running-requests 512 "
         "--mem-fraction-static 0.85 --nnodes 2 --node-rank 0 --page-size 64 "
         "--trust-remote-code",
         {.has_experts = true, .has_narrow_weights = true});
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 1 pipeline_size: 1 "
            "expert_size: 16 data_size: 16 context_size: 1 node_count: 2 } } "
            "limits { max_batched_token_count: 16384 max_sequence_count: 512 "
            "kv_block_token_count: 64 memory_utilization_ratio: 0.85 } "
            "scheduling: SCHEDULING_PREFILL_FIRST ");
  EXPECT_EQ(BecomesOf(import, "--tp"), "--tp 1: 16 ranks in all");
  EXPECT_EQ(BecomesOf(import, "--moe-a2a-backend"), "--ep 16");
  EXPECT_EQ(FateOf(import, "--node-rank"), "no effect");
}

TEST(SglangImport, CopiesAreNotOneEngine) {
  const auto import =
      Of("sglang serve --model m --tp 2 --dp 4 --max-running-requests 400");
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 2 pipeline_size: 1 "
            "data_size: 1 context_size: 1 } } "
            "limits { max_batched_token_count: 8192 max_sequence_count: 100 "
            "kv_block_token_count: 1 memory_utilization_ratio: 0.834 } "
            "scheduling: SCHEDULING_PREFILL_FIRST ");
  EXPECT_EQ(BecomesOf(import, "--dp"), "this engine is one of 4 copies");
}

TEST(SglangImport, ChunksByTheDevice) {
  const struct {
    double gib;
    const char* flags;
    int tokens;
  } kTable[] = {
      {24, "", 2048},
      {48, "", 4096},
      {80, "", 8192},
      {141, "", 8192},
      {180, "", 16384},
      {80, "--chunked-prefill-size 2048", 2048},
      {80, "--chunked-prefill-size -1", 16384},
      {80, "--chunked-prefill-size -1 --max-prefill-tokens 4096", 4096},
      {80, "--max-prefill-tokens 1024", 1024},
  };
  for (const auto& row : kTable) {
    const auto import = Of(std::string("--model m ") + row.flags, {},
                           {"x", row.gib * 1024 * 1024 * 1024});
    ASSERT_TRUE(import.ok()) << import.status();
    EXPECT_EQ(import->engine.limits().max_batched_token_count(), row.tokens)
        << row.gib << " " << row.flags;
  }
}

TEST(SglangImport, ShareOfTheMemoryByTheDevice) {
  constexpr double kMib = 1024.0 * 1024;
  const struct {
    double mib;
    const char* flags;
    double ratio;
  } kTable[] = {
      // 512 + 3072 + 128 + 48 MiB are reserved,
      {24564, "", 0.847},
      // 512 + 12288 + 128 + 512,
      {81920, "", 0.836},
      // 512 + 12288 + 1024 + 1024, and as much again as 512 x 8 x 4.5,
      {143771, "--tp 8 --dp 8 --enable-dp-attention", 0.769},
      // and 10 GiB at least on large devices.
      {143771, "--chunked-prefill-size 2048", 0.929},
      {0, "", 0.88},
      {81920, "--mem-fraction-static 0.7", 0.7},
  };
  for (const auto& row : kTable) {
    const auto import =
        Of(std::string("--model m ") + row.flags, {}, {"x", row.mib * kMib});
    ASSERT_TRUE(import.ok()) << import.status();
    EXPECT_DOUBLE_EQ(import->engine.limits().memory_utilization_ratio(),
                     row.ratio)
        << row.mib << " " << row.flags;
  }
}

TEST(SglangImport, LooksAtRequestsOnceInSoManyPasses) {
  const auto import = Of("--model m --scheduler-recv-interval 30");
  EXPECT_EQ(import->engine.admission().poll_pass_count(), 30);
  EXPECT_EQ(BecomesOf(import, "--scheduler-recv-interval"), "--poll-passes 30");
  EXPECT_FALSE(Of("--model m")->engine.has_admission());
}

TEST(SglangImport, PassesAndRoles) {
  const auto import =
      Of("--model m --enable-mixed-chunk --disable-cuda-graph "
         "--disaggregation-mode decode --kv-cache-dtype fp8_e5m2 "
         "--speculative-algorithm EAGLE --speculative-num-steps 3 "
         "--attention-backend fa3 --max-total-tokens 100000");
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 1 pipeline_size: 1 "
            "data_size: 1 context_size: 1 } precision { kv_cache: "
            "\"fp8-e5m2\" } cuda_graphs: false } "
            "limits { max_batched_token_count: 8192 max_sequence_count: 2048 "
            "kv_block_token_count: 1 memory_utilization_ratio: 0.811 "
            "kv_token_capacity_count: 100000 } "
            "scheduling: SCHEDULING_MIXED role: ROLE_DECODE ");
  EXPECT_EQ(FateOf(import, "--speculative-num-steps"), "ask");
  EXPECT_EQ(FateOf(import, "--attention-backend"), "not modelled");
}

TEST(SglangImport, SizesMustAgree) {
  EXPECT_EQ(EngineText(Of("--model m --tp 8 --dp 3 --enable-dp-attention")),
            "--dp 3 with --enable-dp-attention: allowed: a size that divides "
            "8, the tensor ranks");
  EXPECT_EQ(EngineText(Of("--model m --tp 8 --ep 3", {.has_experts = true})),
            "--ep 3: allowed: a size that divides 8, the tensor ranks");
}

}  // namespace
}  // namespace mansard::importing
