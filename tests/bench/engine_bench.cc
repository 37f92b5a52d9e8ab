// What a step costs in process, stage by stage and whole, with the allocations
// of each. Times vary with the machine; compare the stages with each other.
// Instruction counts, which do not vary, are checked by engine_instructions.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "model/estimate/estimate.h"
#include "model/estimate/step_time.h"
#include "model/graph/hf_config.h"
#include "model/io/shipped.h"
#include "tests/support/allocations.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto shipped = model::LoadShippedData();
    if (!shipped.ok()) std::abort();
    return new model::ShippedData(*std::move(shipped));
  }();
  return *kData;
}

model::Target OnH100(const std::string& model, int tensor) {
  return BuildTarget(TargetOn(Shipped().graphs.at(model),
                              Shipped().profiles.at("h100-sxm"), tensor));
}

// Times `call`, and counts what it allocates each time.
template <class Call>
void Measure(benchmark::State& state, const Call& call) {
  const int64_t before = Allocations();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(call());
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(Allocations() - before),
                         benchmark::Counter::kAvgIterations);
}

void Lower(benchmark::State& state, const std::string& model, int tensor) {
  const model::Target target = OnH100(model, tensor);
  const model::ForwardPass pass = DecodePass(64, 4096);
  Measure(state, [&] {
    return model::Lower(target.graph(), pass, target.layout(), target.formats(),
                        target.fusion());
  });
}

void Price(benchmark::State& state, const std::string& model, int tensor) {
  const model::Target target = OnH100(model, tensor);
  const model::OpList ops =
      model::EstimatePass(target, DecodePass(64, 4096)).ops;
  Measure(state, [&] { return model::PriceAll(ops, target.view()); });
}

// What Price costs where the estimate alone is asked for.
void PriceScalar(benchmark::State& state, const std::string& model,
                 int tensor) {
  const model::Target target = OnH100(model, tensor);
  const model::OpList ops =
      model::EstimatePass(target, DecodePass(64, 4096)).ops;
  Measure(state, [&] { return model::SumOfEstimates(ops, target.view()); });
}

void WholeEstimate(benchmark::State& state, const std::string& model,
                   int tensor) {
  const model::Target target = OnH100(model, tensor);
  const model::ForwardPass pass = DecodePass(64, 4096);
  Measure(state, [&] { return model::EstimatePass(target, pass); });
}

void ScalarStep(benchmark::State& state, const std::string& model, int tensor) {
  const model::Target target = OnH100(model, tensor);
  const model::ForwardPass pass = DecodePass(64, 4096);
  model::StepTimer timer;
  timer.Estimate(target, pass);
  Measure(state, [&] { return timer.Estimate(target, pass); });
}

// The pass is made and checked for each call, with another context.
void ScalarStepOfNewPass(benchmark::State& state, const std::string& model,
                         int tensor) {
  const model::Target target = OnH100(model, tensor);
  model::StepTimer timer;
  int64_t context = 1;
  timer.Estimate(target, DecodePass(64, context));
  Measure(state, [&] {
    context = context % 8192 + 1;
    return timer.Estimate(target, DecodePass(64, context));
  });
}

#define MANSARD_BENCHMARK_MODELS(stage)                          \
  BENCHMARK_CAPTURE(stage, llama_8b_tp1, "llama-3.1-8b", 1);     \
  BENCHMARK_CAPTURE(stage, llama_70b_tp8, "llama-3.1-70b", 8);   \
  BENCHMARK_CAPTURE(stage, mixtral_8x7b_tp8, "mixtral-8x7b", 8); \
  BENCHMARK_CAPTURE(stage, deepseek_v3_tp8, "deepseek-v3", 8)

MANSARD_BENCHMARK_MODELS(ScalarStep);
MANSARD_BENCHMARK_MODELS(ScalarStepOfNewPass);
MANSARD_BENCHMARK_MODELS(WholeEstimate);
MANSARD_BENCHMARK_MODELS(Lower);
MANSARD_BENCHMARK_MODELS(Price);
MANSARD_BENCHMARK_MODELS(PriceScalar);

#undef MANSARD_BENCHMARK_MODELS

void LoadShipped(benchmark::State& state) {
  Measure(state, [] { return model::LoadShippedData(); });
}
BENCHMARK(LoadShipped);

// A published config.json of the largest kind: the parts of every layer listed
// one by one, about 30 kB.
std::string LongConfig() {
  std::string blocks;
  for (int i = 0; i < 126; ++i) {
    absl::StrAppend(
        &blocks, i == 0 ? "" : ", ",
        R"({"attention": {"n_heads_in_group": 8, "no_op": )",
        i % 3 == 0 ? "true" : "false",
        R"(, "num_sink_tokens": null, "replace_with_linear": false, )",
        R"("sparsify": null, "unshifted_sink": false, "use_prefill_window": )",
        R"(false, "window_length": null}, "ffn": {"ffn_mult": )", 1 + i % 5,
        R"(.5, "no_op": false, "replace_with_linear": false, )",
        R"("sparsify": null}})");
  }
  return absl::StrCat(
      R"({"architectures": ["DeciLMForCausalLM"], "hidden_size": 8192, )",
      R"("num_attention_heads": 64, "num_hidden_layers": 126, )",
      R"("num_key_value_heads": null, "vocab_size": 128256, )",
      R"("max_position_embeddings": 131072, "hidden_act": "silu", )",
      R"("block_configs": [)", blocks, "]}");
}

void ImportLongConfig(benchmark::State& state) {
  const std::string config = LongConfig();
  model::Violations none;
  if (!model::ImportHuggingFaceConfig(config, none).ok()) {
    state.SkipWithError("the config is refused");
    return;
  }
  Measure(state, [&] {
    model::Violations violations;
    return model::ImportHuggingFaceConfig(config, violations).ok();
  });
}
BENCHMARK(ImportLongConfig);

}  // namespace
}  // namespace mansard::testing
