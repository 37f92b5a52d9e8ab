// A step on a resolved Engine beside the same step lowered and priced, what
// resolving costs, and a whole estimate where every op searches its kernels.
// On general families, on a shipped calibrated stack, and on round numbers with
// a family for every kernel ("fine").

#include <cstdlib>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "model/estimate/engine.h"
#include "model/io/shipped.h"
#include "tests/support/allocations.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::ForwardPass;
using model::Role;

const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto shipped = model::LoadShippedData();
    if (!shipped.ok()) std::abort();
    return new model::ShippedData(*std::move(shipped));
  }();
  return *kData;
}

// `stack`: of the H100, or "fine".
model::Target OnStack(const std::string& model, const std::string& stack) {
  const bool fine = stack == "fine";
  const auto hardware =
      fine ? FineHardware().Build() : Shipped().profiles.at("h100-sxm");
  model::TargetSpec spec = TargetOn(Shipped().graphs.at(model), hardware, 8);
  if (!fine) spec.stack = hardware->FindStack(stack);
  if (spec.stack == nullptr) std::abort();
  return BuildTarget(spec);
}

ForwardPass Decode() { return DecodePass(64, 4096); }
ForwardPass Mixed() {
  return BuildPass(
      {{Role::kPrefill, 1, 512, 1024}, {Role::kDecode, 64, 1, 4095}});
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

model::Engine Resolve(const model::Target& target) {
  model::Violations violations;
  auto engine = model::Engine::Resolve(target, {}, violations);
  if (!engine.has_value()) std::abort();
  return *std::move(engine);
}

void EngineStep(benchmark::State& state, const std::string& model,
                const std::string& stack, const ForwardPass& pass) {
  const model::Engine engine = Resolve(OnStack(model, stack));
  if (engine.SourceOf(pass) != model::StepSource::kEngine) {
    state.SkipWithError("the engine does not hold the pass");
    return;
  }
  model::StepTimer timer;
  Measure(state, [&] { return engine.StepTime(pass, timer); });
}

void BM_EngineStep(benchmark::State& state, const std::string& model,
                   const std::string& stack) {
  EngineStep(state, model, stack, Decode());
}

void BM_EngineMixedStep(benchmark::State& state, const std::string& model,
                        const std::string& stack) {
  EngineStep(state, model, stack, Mixed());
}

void BM_LoweredStep(benchmark::State& state, const std::string& model,
                    const std::string& stack) {
  const model::Target target = OnStack(model, stack);
  const ForwardPass pass = Decode();
  model::StepTimer timer;
  timer.Estimate(target, pass);
  Measure(state, [&] { return timer.Estimate(target, pass); });
}

void BM_LoweredMixedStep(benchmark::State& state, const std::string& model,
                         const std::string& stack) {
  const model::Target target = OnStack(model, stack);
  const ForwardPass pass = Mixed();
  model::StepTimer timer;
  timer.Estimate(target, pass);
  Measure(state, [&] { return timer.Estimate(target, pass); });
}

void BM_EngineResolve(benchmark::State& state, const std::string& model,
                      const std::string& stack) {
  const model::Target target = OnStack(model, stack);
  const model::Engine engine = Resolve(target);
  Measure(state, [&] { return Resolve(target); });
  state.counters["nodes"] = static_cast<double>(engine.nodes());
  state.counters["bytes"] = static_cast<double>(engine.memory_bytes());
}

// Every op with its parts, of a pass that nothing is known of.
void BM_ColdEstimate(benchmark::State& state, const std::string& model,
                     const std::string& stack) {
  const model::Target target = OnStack(model, stack);
  const ForwardPass pass = Mixed();
  Measure(state, [&] { return model::EstimatePass(target, pass); });
}

#define MANSARD_BENCHMARK_STACKS(stage)                                      \
  BENCHMARK_CAPTURE(stage, llama_70b_generic, "llama-3.1-70b", "generic");   \
  BENCHMARK_CAPTURE(stage, llama_70b_shipped, "llama-3.1-70b", "vllm-0.24"); \
  BENCHMARK_CAPTURE(stage, llama_70b_fine, "llama-3.1-70b", "fine");         \
  BENCHMARK_CAPTURE(stage, deepseek_v3_generic, "deepseek-v3", "generic");   \
  BENCHMARK_CAPTURE(stage, deepseek_v3_shipped, "deepseek-v3", "vllm-0.24"); \
  BENCHMARK_CAPTURE(stage, deepseek_v3_fine, "deepseek-v3", "fine")

MANSARD_BENCHMARK_STACKS(BM_EngineStep);
MANSARD_BENCHMARK_STACKS(BM_LoweredStep);
MANSARD_BENCHMARK_STACKS(BM_EngineMixedStep);
MANSARD_BENCHMARK_STACKS(BM_LoweredMixedStep);
MANSARD_BENCHMARK_STACKS(BM_EngineResolve);
MANSARD_BENCHMARK_STACKS(BM_ColdEstimate);

#undef MANSARD_BENCHMARK_STACKS

}  // namespace
}  // namespace mansard::testing
