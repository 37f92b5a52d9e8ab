// What a step costs in process, stage by stage and whole, with the allocations
// of each. Times vary with the machine; compare the stages with each other.
// Instruction counts, which do not vary, are checked by engine_instructions.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "benchmark/benchmark.h"
#include "model/estimate/estimate.h"
#include "model/estimate/step_time.h"
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

}  // namespace
}  // namespace mansard::testing
