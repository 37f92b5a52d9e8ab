// What a scheduler's questions cost on a resolved engine, in process, with the
// allocations of each, and what resolving the engine costs. On a shipped
// calibrated stack, the general families, and round numbers with a family for
// every kernel ("fine").

#include <cstdlib>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "model/io/shipped.h"
#include "model/serving/capacity.h"
#include "model/serving/latency_model.h"
#include "model/serving/predict_latency.h"
#include "model/serving/recommend_batch.h"
#include "model/serving/served_load.h"
#include "model/serving/serving_engine.h"
#include "tests/support/allocations.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Milliseconds;
using model::Role;
using model::ServingEngine;
using EnginePointer = std::unique_ptr<const ServingEngine>;

const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto shipped = model::LoadShippedData();
    if (!shipped.ok()) std::abort();
    return new model::ShippedData(*std::move(shipped));
  }();
  return *kData;
}

// `stack`: of the H200, or "fine". `data`: attention's ranks of eight.
model::Target OnStack(const std::string& model, const std::string& stack,
                      int data) {
  const bool fine = stack == "fine";
  const auto hardware =
      fine ? FineHardware().Build() : Shipped().profiles.at("h200-sxm");
  model::TargetSpec spec =
      TargetOn(Shipped().graphs.at(model), hardware, 8 / data);
  spec.parallelism.data = data;
  if (data > 1) spec.parallelism.expert = 8;
  if (!fine) spec.stack = hardware->FindStack(stack);
  if (spec.stack == nullptr) std::abort();
  return BuildTarget(spec);
}

EnginePointer Resolve(const model::Target& target) {
  model::Violations violations;
  EnginePointer engine = ServingEngine::Resolve(target, {}, violations);
  if (engine == nullptr) std::abort();
  return engine;
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

void BM_ServingResolve(benchmark::State& state, const std::string& model,
                       const std::string& stack, int data) {
  const model::Target target = OnStack(model, stack, data);
  const EnginePointer engine = Resolve(target);
  Measure(state, [&] { return Resolve(target); });
  state.counters["bytes"] = static_cast<double>(engine->memory_bytes());
}

void BM_ServingStep(benchmark::State& state, const std::string& model,
                    const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  const model::ForwardPass pass = DecodePass(64, 4096);
  model::StepTimer timer;
  Measure(state, [&] { return engine->Step(pass, timer); });
}

void BM_ServingMixedStep(benchmark::State& state, const std::string& model,
                         const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  const model::ForwardPass pass =
      BuildPass({{Role::kPrefill, 1, 512, 1024}, {Role::kDecode, 64, 1, 4095}});
  model::StepTimer timer;
  Measure(state, [&] { return engine->Step(pass, timer); });
}

void Recommend(benchmark::State& state, const ServingEngine& engine,
               const model::BatchQuestion& question) {
  model::StepTimer timer;
  model::Violations violations;
  const auto answer =
      model::RecommendBatch(engine, question, timer, violations);
  if (!answer.has_value()) {
    state.SkipWithError(violations.ToStatus().ToString().c_str());
    return;
  }
  Measure(state, [&] {
    return model::RecommendBatch(engine, question, timer, violations);
  });
  state.counters["batch"] = static_cast<double>(answer->batch);
  state.counters["looked_at"] = static_cast<double>(answer->batches_looked_at);
}

// A target that about half of the engine's sequences hold.
model::BatchQuestion Question(const ServingEngine& engine, int64_t context) {
  model::BatchQuestion question;
  question.contexts = {{context, 1}};
  model::StepTimer timer;
  question.slo.inter_token_latency =
      engine.StepTime(DecodePass(engine.max_batch() / 2, context), timer);
  return question;
}

void BM_Recommend(benchmark::State& state, const std::string& model,
                  const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  Recommend(state, *engine, Question(*engine, 500));
}

void BM_RecommendBesidePrompts(benchmark::State& state,
                               const std::string& model,
                               const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::BatchQuestion question = Question(*engine, 500);
  question.slo.inter_token_latency = 2.0 * *question.slo.inter_token_latency;
  question.prefill_tokens = 512;
  Recommend(state, *engine, question);
}

void BM_RecommendHistogram(benchmark::State& state, const std::string& model,
                           const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::BatchQuestion question = Question(*engine, 500);
  question.contexts.clear();
  for (int i = 1; i <= 8; ++i) {
    question.contexts.push_back({i * 110, 1.0 / i});
  }
  Recommend(state, *engine, question);
}

void BM_RecommendAllTargets(benchmark::State& state, const std::string& model,
                            const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::BatchQuestion question = Question(*engine, 500);
  question.shape = model::RequestShape{400, 200, 0};
  question.slo.time_per_output_token = Milliseconds(80);
  question.slo.time_to_first_token = Milliseconds(2000);
  question.slo.end_to_end = Milliseconds(30000);
  Recommend(state, *engine, question);
}

// Passes that draft are on no curve: every batch is lowered.
void BM_RecommendDrafting(benchmark::State& state, const std::string& model,
                          const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::BatchQuestion question = Question(*engine, 500);
  question.draft_tokens = 1;
  Recommend(state, *engine, question);
}

void BM_Predict(benchmark::State& state, const std::string& model,
                const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::LatencyQuery query;
  query.state = {40, 3, .5, 5000, 80000};
  query.input_tokens = 2000;
  query.prefix_hit_ratio = .25;
  query.slo.time_to_first_token = Milliseconds(500);
  query.slo.time_per_output_token = Milliseconds(40);
  model::StepTimer timer;
  model::Violations violations;
  Measure(state, [&] {
    return model::PredictLatency(*engine, query, timer, violations);
  });
}

void BM_Capacity(benchmark::State& state, const std::string& model,
                 const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::CapacityQuestion question;
  question.shape = {1024, 1024, 0};
  question.slo.time_per_output_token = Milliseconds(40);
  question.slo.time_to_first_token = Milliseconds(1000);
  model::StepTimer timer;
  model::Violations violations;
  Measure(state, [&] {
    return model::FindCapacity(*engine, question, timer, violations);
  });
  state.counters["looked_at"] = static_cast<double>(
      model::FindCapacity(*engine, question, timer, violations)
          ->batches_looked_at);
}

void BM_ServedLoad(benchmark::State& state, const std::string& model,
                   const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::ServedLoad load;
  load.shape = {1024, 1024, 0};
  load.requests_per_second = .5;
  model::StepTimer timer;
  model::Violations violations;
  Measure(state, [&] {
    return model::EstimateServedLoad(*engine, load, timer, violations);
  });
}

void BM_FitLatencyModel(benchmark::State& state, const std::string& model,
                        const std::string& stack, int data) {
  const EnginePointer engine = Resolve(OnStack(model, stack, data));
  model::LatencyModelQuestion question;
  question.shape = {1024, 1024, 0};
  model::StepTimer timer;
  model::Violations violations;
  Measure(state, [&] {
    return model::FitLatencyModel(*engine, question, timer, violations);
  });
}

#define MANSARD_BENCHMARK_ENGINES(stage)                                      \
  BENCHMARK_CAPTURE(stage, llama_70b_shipped, "llama-3.1-70b", "vllm-0.24",   \
                    1);                                                       \
  BENCHMARK_CAPTURE(stage, llama_70b_fine, "llama-3.1-70b", "fine", 1);       \
  BENCHMARK_CAPTURE(stage, deepseek_v3_generic, "deepseek-v3", "generic", 1); \
  BENCHMARK_CAPTURE(stage, deepseek_v3_shipped, "deepseek-v3", "vllm-0.24",   \
                    1);                                                       \
  BENCHMARK_CAPTURE(stage, deepseek_v3_shipped_ep8, "deepseek-v3",            \
                    "vllm-0.24", 8)

MANSARD_BENCHMARK_ENGINES(BM_ServingResolve);
MANSARD_BENCHMARK_ENGINES(BM_ServingStep);
MANSARD_BENCHMARK_ENGINES(BM_ServingMixedStep);
MANSARD_BENCHMARK_ENGINES(BM_Recommend);
MANSARD_BENCHMARK_ENGINES(BM_RecommendBesidePrompts);
MANSARD_BENCHMARK_ENGINES(BM_RecommendHistogram);
MANSARD_BENCHMARK_ENGINES(BM_RecommendAllTargets);
MANSARD_BENCHMARK_ENGINES(BM_Predict);
MANSARD_BENCHMARK_ENGINES(BM_Capacity);
MANSARD_BENCHMARK_ENGINES(BM_ServedLoad);
MANSARD_BENCHMARK_ENGINES(BM_FitLatencyModel);

BENCHMARK_CAPTURE(BM_RecommendDrafting, deepseek_v3_shipped, "deepseek-v3",
                  "vllm-0.24", 1);

#undef MANSARD_BENCHMARK_ENGINES

}  // namespace
}  // namespace mansard::testing
