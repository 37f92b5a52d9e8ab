#include "clients/import/launch_command.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/import/import_case.h"
#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

// "model | name=value ..." or what is wrong.
std::string Parsed(Runtime runtime, const std::string& text,
                   const FileReader& read = NoFiles()) {
  const auto command = ParseLaunch(runtime, text, read);
  if (!command.ok()) return std::string(command.status().message());
  std::string out = command->model + " |";
  for (const GivenFlag& flag : command->flags) {
    absl::StrAppend(&out, flag.spec == nullptr ? " ?" : " ", flag.name, "=",
                    flag.value);
  }
  return out;
}

TEST(LaunchCommand, EveryWayToWriteAFlag) {
  const struct {
    const char* text;
    const char* parsed;
  } kTable[] = {
      {"vllm serve m --tensor-parallel-size 8", "m | tensor-parallel-size=8"},
      {"vllm serve m --tensor-parallel-size=8", "m | tensor-parallel-size=8"},
      {"vllm serve m --tensor_parallel_size=8", "m | tensor-parallel-size=8"},
      {"vllm serve m -tp 8", "m | tensor-parallel-size=8"},
      {"vllm serve -tp=8 m", "m | tensor-parallel-size=8"},
      {"--model m -tp 8", "m | model=m tensor-parallel-size=8"},
      {"m --enforce-eager --port 80", "m | enforce-eager=true port=80"},
      {"m --no-enable-prefix-caching", "m | enable-prefix-caching=false"},
      {"--enable-chunked-prefill False m", "m | enable-chunked-prefill=false"},
      {"--enforce-eager m", "m | enforce-eager=true"},
      {"m -O3", "m | compilation-config=3"},
      {"m -O 0", "m | compilation-config=0"},
      {"m -O.cudagraph_mode=NONE",
       "m | compilation-config.cudagraph-mode=NONE"},
      {"m --served-model-name a b --port 1",
       "m | served-model-name=a,b port=1"},
      {R"(m --speculative-config '{"method":"mtp","num_speculative_tokens":2}')",
       "m | speculative-config.method=mtp "
       "speculative-config.num-speculative-tokens=2"},
      {"m --speculative-config.num_speculative_tokens 2",
       "m | speculative-config.num-speculative-tokens=2"},
      {"m --what-is-this 3 --and-this --and=4",
       "m | ?what-is-this=3 ?and-this= ?and=4"},
      {"CUDA_VISIBLE_DEVICES=0,1 python3 -m vllm.entrypoints.openai.api_server "
       "--model m",
       "m | model=m"},
      {"docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.11.0 "
       "--model m -tp 2",
       "m | model=m tensor-parallel-size=2"},
      {"nohup /opt/bin/vllm serve m", "m |"},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(Parsed(Runtime::kVllm, row.text), row.parsed) << row.text;
  }
}

TEST(LaunchCommand, OfOtherEngines) {
  EXPECT_EQ(Parsed(Runtime::kSglang,
                   "python -m sglang.launch_server --model-path m --tp 8 "
                   "--chunked-prefill-size -1"),
            "m | model=m tp-size=8 chunked-prefill-size=-1");
  EXPECT_EQ(Parsed(Runtime::kSglang, "sglang serve --model m --tp-size=2"),
            "m | model=m tp-size=2");
  EXPECT_EQ(Parsed(Runtime::kTrtllm,
                   "mpirun -n 8 --oversubscribe trtllm-llmapi-launch "
                   "trtllm-serve m --tp_size 8 --max_batch_size=64"),
            "m | tp-size=8 max-batch-size=64");
  EXPECT_EQ(Parsed(Runtime::kTrtllm, "trtllm-serve serve m --ep 4"),
            "m | ep-size=4");
}

TEST(LaunchCommand, WhatIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } kTable[] = {
      {"", "is empty; allowed: a command of vLLM"},
      {"m --tensor-parallel-size", "--tensor-parallel-size needs a value"},
      {"m --max-num-seqs --port 1", "--max-num-seqs needs a value"},
      {"m n",
       "\"n\" stands beside the model \"m\"; allowed: one model, and "
       "flags"},
      {"m --model n",
       "\"n\" stands beside the model \"m\"; allowed: one model, and flags"},
      {"m -tp 4 --tensor-parallel-size 8",
       "-tp is \"4\" and --tensor-parallel-size \"8\"; allowed: one of them"},
      {"m --enable-expert-parallel --no-enable-expert-parallel",
       "--enable-expert-parallel is \"true\" and --no-enable-expert-parallel "
       "\"false\"; allowed: one of them"},
      {"python -m sglang.launch_server --model m",
       "is a command of SGLang; allowed: one of vLLM"},
      {"m | tee log",
       "has \"|\" outside of quotes; allowed: one command, without pipes or "
       "redirections"},
      {"m --speculative-config '{\"a\": '",
       "--speculative-config is \"{\"a\": \"; allowed: an object in JSON "
       "(2:1: did not find expected node content)"},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(Parsed(Runtime::kVllm, row.text), row.message) << row.text;
  }
  EXPECT_EQ(Parsed(Runtime::kVllm, "m -tp 4 -tp 4"),
            "m | tensor-parallel-size=4");
}

TEST(LaunchCommand, FilesOfFlags) {
  const FileReader file =
      OneFile("max_batch_size: 16\nkv_cache_config:\n  dtype: fp8\n");
  // The file of TensorRT-LLM wins.
  EXPECT_EQ(Parsed(Runtime::kTrtllm,
                   "m --max_batch_size 8 --extra_llm_api_options a.yaml", file),
            "m | max-batch-size=16 config=a.yaml kv-cache-config.dtype=fp8");
  // The command line of vLLM wins.
  EXPECT_EQ(Parsed(Runtime::kVllm, "--config a.yaml -tp 8",
                   OneFile("model: m\ntensor-parallel-size: 4\n"
                           "max-num-seqs: 64\n")),
            "m | config=a.yaml tensor-parallel-size=8 model=m max-num-seqs=64");
  EXPECT_EQ(ParseLaunch(Runtime::kVllm, "m --config a.yaml", NoFiles())
                .status()
                .code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Parsed(Runtime::kTrtllm, "m --config a.yaml", OneFile("[1]")),
            "a.yaml:1:1: the text is no map of keys");
}

TEST(LaunchCommand, NamesOfFlagsAreUnique) {
  for (const Runtime runtime :
       {Runtime::kVllm, Runtime::kSglang, Runtime::kTrtllm}) {
    for (const FlagSpec& spec : FlagsOf(runtime)) {
      EXPECT_EQ(FindFlag(runtime, MainName(spec)), &spec) << spec.names;
      EXPECT_EQ(spec.fate == Fate::kEngine, spec.note.empty()) << spec.names;
      EXPECT_EQ(spec.names.find('_'), absl::string_view::npos) << spec.names;
    }
  }
}

}  // namespace
}  // namespace mansard::importing
