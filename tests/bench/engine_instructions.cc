// Makes one kind of call many times, so that callgrind can count what it takes:
// engine_instructions <stage> <model> <calls>. Without arguments it lists the
// stages and models. scripts/checks/instructions.sh compares the counts with
// those recorded in engine_instructions.txt.
//
// The targets are made of published shapes and hardware of round numbers, so
// that the engine's libraries are all it needs.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "model/estimate/estimate.h"
#include "model/estimate/step_time.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

// What callgrind collects between: by this name.
extern "C" {
void MansardCountedCalls(const std::function<void()>& call, int64_t calls);
}

[[gnu::noinline]] void MansardCountedCalls(const std::function<void()>& call,
                                           int64_t calls) {
  for (int64_t i = 0; i < calls; ++i) call();
}

namespace mansard::testing {
namespace {

// Source: the checkpoint's config.json (meta-llama/Llama-3.1-70B).
model::ModelGraphSpec Llama70b() {
  model::ModelGraphSpec spec;
  spec.hidden_size = 8192;
  spec.vocabulary_size = 128256;
  spec.max_context = 131072;
  spec.layer_kinds = {{"dense",
                       model::GroupedQueryAttention{
                           .query_heads = 64, .kv_heads = 8, .head_size = 128},
                       model::DenseFeedForward{.intermediate_size = 28672}}};
  spec.layer_kind_indexes.assign(80, 0);
  return spec;
}

struct Model {
  const char* name;
  model::ModelGraphSpec (*spec)();
};
constexpr Model kModels[] = {{"llama-70b", Llama70b},
                             {"mixtral-8x7b", Mixtral8x7b},
                             {"deepseek-v3", DeepSeekV3}};

void Lower(const model::Target& target, int64_t calls) {
  const model::ForwardPass pass = DecodePass(64, 4096);
  model::OpList ops;
  const auto call = [&] {
    model::Lower(target.graph(), pass, target.layout(), target.formats(),
                 target.fusion(), ops);
  };
  call();
  MansardCountedCalls(call, calls);
}

void Price(const model::Target& target, int64_t calls) {
  const model::OpList ops =
      model::EstimatePass(target, DecodePass(64, 4096)).ops;
  MansardCountedCalls([&] { model::PriceAll(ops, target.view()); }, calls);
}

void ScalarStep(const model::Target& target, int64_t calls) {
  model::StepTimer timer;
  const auto call = [&] { timer.Estimate(target, DecodePass(64, 4096)); };
  call();
  MansardCountedCalls(call, calls);
}

void WholeEstimate(const model::Target& target, int64_t calls) {
  MansardCountedCalls(
      [&] { model::EstimatePass(target, DecodePass(64, 4096)); }, calls);
}

struct Stage {
  const char* name;
  void (*run)(const model::Target& target, int64_t calls);
};
constexpr Stage kStages[] = {{"lower", Lower},
                             {"price", Price},
                             {"scalar_step", ScalarStep},
                             {"whole_estimate", WholeEstimate}};

int List() {
  for (const Stage& stage : kStages) {
    for (const Model& model : kModels) {
      std::printf("%s %s\n", stage.name, model.name);
    }
  }
  return EXIT_SUCCESS;
}

int Run(const char* stage_name, const char* model_name, int64_t calls) {
  for (const Stage& stage : kStages) {
    for (const Model& model : kModels) {
      if (std::strcmp(stage.name, stage_name) != 0 ||
          std::strcmp(model.name, model_name) != 0) {
        continue;
      }
      stage.run(BuildTarget(TargetOn(BuildGraph(model.spec()),
                                     ToyHardware().Build(), 8)),
                calls);
      return EXIT_SUCCESS;
    }
  }
  std::fprintf(stderr, "no stage \"%s\" of model \"%s\"; there are:\n",
               stage_name, model_name);
  List();
  return EXIT_FAILURE;
}

int Main(int count, char** arguments) {
  if (count == 1) return List();
  const int64_t calls = count == 4 ? std::atoll(arguments[3]) : 0;
  if (calls < 1) {
    std::fprintf(stderr,
                 "usage: engine_instructions <stage> <model> <calls>\n");
    return EXIT_FAILURE;
  }
  return Run(arguments[1], arguments[2], calls);
}

}  // namespace
}  // namespace mansard::testing

int main(int argc, char** argv) { return mansard::testing::Main(argc, argv); }
