// What a step costs in process, stage by stage: Llama-3.1-70B on eight H100.
// Times vary with the machine; compare the stages with each other.

#include <cstdlib>

#include "benchmark/benchmark.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

const model::Target& Llama70bOnEightH100() {
  static const model::Target* const kTarget = [] {
    auto shipped = model::LoadShippedData();
    if (!shipped.ok()) std::abort();
    return new model::Target(
        BuildTarget(TargetOn(shipped->graphs.at("llama-3.1-70b"),
                             shipped->profiles.at("h100-sxm"), 8)));
  }();
  return *kTarget;
}

void LowerStep(benchmark::State& state) {
  const model::Target& target = Llama70bOnEightH100();
  const model::ForwardPass pass = DecodePass(64, 4096);
  for (auto _ : state) {
    benchmark::DoNotOptimize(model::Lower(target.graph(), pass, target.layout(),
                                          target.formats(),
                                          target.view().stack.spec().fusion));
  }
}
BENCHMARK(LowerStep);

void PriceStep(benchmark::State& state) {
  const model::Target& target = Llama70bOnEightH100();
  const model::OpList ops =
      model::EstimatePass(target, DecodePass(64, 4096)).ops;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model::PriceAll(ops, target.view()));
  }
}
BENCHMARK(PriceStep);

void WholeEstimate(benchmark::State& state) {
  const model::Target& target = Llama70bOnEightH100();
  const model::ForwardPass pass = DecodePass(64, 4096);
  for (auto _ : state) {
    benchmark::DoNotOptimize(model::EstimatePass(target, pass));
  }
}
BENCHMARK(WholeEstimate);

void LoadShipped(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(model::LoadShippedData());
}
BENCHMARK(LoadShipped);

}  // namespace
}  // namespace mansard::testing
