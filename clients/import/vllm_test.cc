// Command lines of vLLM and the engines that they are.
#include <string>

#include "clients/import/import_case.h"
#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

absl::StatusOr<EngineImport> Of(absl::string_view text,
                                const ModelFacts& model = {},
                                const DeviceFacts& device = kH100) {
  return Imported(Runtime::kVllm, text, model, device);
}

TEST(VllmImport, ALargeCommand) {
  const auto import = Of(
      "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 8 "
      "--max-num-seqs 256 --max-num-batched-tokens 8k "
      "--gpu-memory-utilization 0.9 --kv-cache-dtype fp8 --quantization fp8 "
      "--enforce-eager --block-size 32 --max-model-len 32k --port 8000 "
      "--disable-log-requests --brand-new-flag 7");
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 8 pipeline_size: 1 "
            "data_size: 1 context_size: 1 } precision { weights: \"fp8\" "
            "activations: \"fp8\" kv_cache: \"fp8\" } cuda_graphs: false } "
            "limits { max_batched_token_count: 8000 max_sequence_count: 256 "
            "kv_block_token_count: 32 memory_utilization_ratio: 0.9 } "
            "scheduling: SCHEDULING_MIXED ");
  const struct {
    const char* flag;
    const char* fate;
    const char* becomes;
  } kTable[] = {
      {"--tensor-parallel-size", "engine", "--tp 8"},
      {"--max-num-seqs", "engine", "--max-sequences 256"},
      {"--max-num-batched-tokens", "engine", "--max-batched-tokens 8000"},
      {"--gpu-memory-utilization", "engine", "--memory-utilization 0.9"},
      {"--kv-cache-dtype", "engine", "--kv fp8"},
      {"--quantization", "engine", "--weights fp8 --activations fp8"},
      {"--enforce-eager", "engine", "--eager"},
      {"--block-size", "engine", "--kv-block-tokens 32"},
      {"--max-model-len", "no effect", "limits requests alone"},
      {"--port", "no effect", "front end"},
      {"--disable-log-requests", "no effect", "front end"},
      {"--brand-new-flag", "unknown", ""},
      {"--model", "", ""},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(FateOf(import, row.flag), row.fate) << row.flag;
    EXPECT_EQ(BecomesOf(import, row.flag), row.becomes) << row.flag;
  }
  EXPECT_EQ(import->flag_of_field.at("target.parallelism.tensor_size"),
            "--tensor-parallel-size 8");
}

TEST(VllmImport, DefaultsAreOfTheDevice) {
  const struct {
    DeviceFacts device;
    int tokens;
    int sequences;
  } kTable[] = {
      {{"h100-sxm", 80e9}, 8192, 1024},
      {{"a100-sxm-80gb", 85e9}, 2048, 256},
      {{"l40s", 48e9}, 2048, 256},
      {{"b200-sxm", 180e9}, 8192, 1024},
  };
  for (const auto& row : kTable) {
    const auto import = Of("m", {}, row.device);
    ASSERT_TRUE(import.ok());
    const v1::EngineLimits& limits = import->engine.limits();
    EXPECT_EQ(limits.max_batched_token_count(), row.tokens) << row.device.id;
    EXPECT_EQ(limits.max_sequence_count(), row.sequences) << row.device.id;
    EXPECT_EQ(limits.memory_utilization_ratio(), 0.92);
    EXPECT_EQ(FateOf(import, "--max-num-seqs"), "default");
    EXPECT_EQ(FateOf(import, "--gpu-memory-utilization"), "default");
  }
}

TEST(VllmImport, LimitsAreOfEachDataRank) {
  const auto import =
      Of("m -dp 16 --data-parallel-size-local 8 --enable-expert-parallel "
         "--max-num-seqs 64 --max-num-batched-tokens 1024",
         {.has_experts = true});
  EXPECT_EQ(EngineText(import),
            "target { parallelism { tensor_size: 1 pipeline_size: 1 "
            "expert_size: 16 data_size: 16 context_size: 1 node_count: 2 } } "
            "limits { max_batched_token_count: 16384 max_sequence_count: 1024 "
            "memory_utilization_ratio: 0.92 } scheduling: SCHEDULING_MIXED ");
  EXPECT_EQ(BecomesOf(import, "--max-num-seqs"),
            "--max-sequences 1024, 64 on each of 16 data ranks");
}

TEST(VllmImport, ExpertsNeedExperts) {
  EXPECT_EQ(FateOf(Of("m -tp 8 -ep"), "-ep"), "no effect");
  const auto import =
      Of("m -tp 4 -dp 2 --enable-expert-parallel", {.has_experts = true});
  ASSERT_TRUE(import.ok());
  EXPECT_EQ(import->engine.target().parallelism().expert_size(), 8);
}

TEST(VllmImport, Quantization) {
  const struct {
    const char* scheme;
    bool narrow;
    const char* fate;
    const char* weights;
    const char* activations;
  } kTable[] = {
      {"fp8", false, "engine", "fp8", "fp8"},
      {"awq_marlin", false, "engine", "int4", ""},
      {"modelopt_fp4", false, "engine", "nvfp4", "nvfp4"},
      {"compressed-tensors", false, "not modelled", "", ""},
      {"gptq", false, "not modelled", "", ""},
      {"fp8", true, "no effect", "", ""},
      {"compressed-tensors", true, "no effect", "", ""},
  };
  for (const auto& row : kTable) {
    const auto import = Of(std::string("m -q ") + row.scheme,
                           {.has_narrow_weights = row.narrow});
    ASSERT_TRUE(import.ok()) << import.status();
    EXPECT_EQ(FateOf(import, "-q"), row.fate) << row.scheme;
    const v1::Precision& precision = import->engine.target().precision();
    EXPECT_EQ(precision.weights(), row.weights) << row.scheme;
    EXPECT_EQ(precision.activations(), row.activations) << row.scheme;
  }
}

TEST(VllmImport, CheckpointsOf32BitsRunWith16) {
  const struct {
    const char* flags;
    bool fp32;
    const char* weights;
    const char* kv;
  } kTable[] = {
      {"m", false, "", ""},
      {"m", true, "bf16", "bf16"},
      {"m --dtype half", true, "bf16", "bf16"},
      {"m --dtype bfloat16", false, "", ""},
      {"m --dtype float32", false, "fp32", "fp32"},
      {"m --kv-cache-dtype fp8 -q fp8", true, "fp8", "fp8"},
  };
  for (const auto& row : kTable) {
    const auto import = Of(row.flags, {.has_fp32_weights = row.fp32});
    ASSERT_TRUE(import.ok()) << import.status();
    const v1::Precision& precision = import->engine.target().precision();
    EXPECT_EQ(precision.weights(), row.weights) << row.flags;
    EXPECT_EQ(precision.kv_cache(), row.kv) << row.flags;
  }
}

TEST(VllmImport, DraftsAreAskedAbout) {
  const auto import = Of(
      R"(m --speculative-config '{"method": "mtp", "num_speculative_tokens": 3}')");
  EXPECT_EQ(FateOf(import, "--speculative-config.num_speculative_tokens"),
            "ask");
  EXPECT_EQ(BecomesOf(import, "--speculative-config.num_speculative_tokens"),
            "--draft-tokens 3 of batch, predict");
}

TEST(VllmImport, KernelsAndRoles) {
  const auto import =
      Of("m --enable-dbo -O0 --kv-transfer-config "
         R"('{"kv_connector":"NixlConnector","kv_role":"kv_producer"}' )"
         "--num-gpu-blocks-override 1000 -dcp 2 --disable-custom-all-reduce");
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_EQ(import->engine.role(), v1::Engine::ROLE_PREFILL);
  EXPECT_EQ(import->engine.target().overlap().kind(), "two-batch");
  EXPECT_TRUE(import->engine.target().has_cuda_graphs());
  EXPECT_FALSE(import->engine.target().cuda_graphs());
  EXPECT_EQ(import->engine.limits().kv_token_capacity_count(), 16000);
  EXPECT_EQ(FateOf(import, "-dcp"), "not modelled");
  EXPECT_EQ(FateOf(import, "--disable-custom-all-reduce"), "not modelled");
  EXPECT_EQ(FateOf(import, "--kv-transfer-config.kv_connector"), "no effect");
}

TEST(VllmImport, EnvironmentIsUnknown) {
  EXPECT_EQ(FateOf(Of("VLLM_ATTENTION_BACKEND=X vllm serve m"),
                   "VLLM_ATTENTION_BACKEND"),
            "unknown");
}

TEST(VllmImport, WrongValuesAreAllNamed) {
  EXPECT_EQ(
      EngineText(Of("m -tp 0 --max-num-seqs many --gpu-memory-utilization 90 "
                    "--kv-cache-dtype fp7 -dp 6 -dpl 4")),
      "-tp is \"0\"; allowed: a whole number, 1 to 2147483647\n"
      "-dpl 4: allowed: a size that divides 6, the data ranks\n"
      "--max-num-seqs is \"many\"; allowed: a whole number, 1 to 2147483647\n"
      "--gpu-memory-utilization is \"90\"; allowed: a number above 0, at most "
      "1\n"
      "--kv-cache-dtype is \"fp7\"; allowed: auto, bf16, bfloat16, float16, "
      "fp4_e2m1, fp4_mx_block16, fp8, fp8_ds_mla, fp8_e4m3, fp8_e5m2, "
      "fp8_inc, int8, mxfp8, nvfp4");
  EXPECT_EQ(EngineText(Of("m -dp 8 -dpl 4 --nnodes 4")),
            "--nnodes 4 stands beside -dpl 4, which makes 2; allowed: sizes "
            "that agree");
}

}  // namespace
}  // namespace mansard::importing
