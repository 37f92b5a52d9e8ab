// Resolved serving engines of shipped models and stacks.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "model/io/shipped.h"
#include "model/serving/recommend_batch.h"
#include "model/serving/serving_engine.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {

using EnginePointer = std::unique_ptr<const model::ServingEngine>;

inline const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto data = model::LoadShippedData();
    if (!data.ok()) std::abort();
    return new model::ShippedData(*std::move(data));
  }();
  return *kData;
}

inline EnginePointer ResolveOn(const model::Target& target,
                               const model::ServingSpec& spec = {}) {
  model::Violations violations;
  EnginePointer engine =
      model::ServingEngine::Resolve(target, spec, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  if (engine == nullptr) std::abort();
  return engine;
}

// A shipped model on a stack of a shipped device.
inline model::Target ShippedTarget(const std::string& graph,
                                   const std::string& device,
                                   const std::string& stack,
                                   model::Parallelism parallelism = {}) {
  const auto& hardware = Shipped().profiles.at(device);
  model::TargetSpec spec = TargetOn(Shipped().graphs.at(graph), hardware);
  spec.parallelism = parallelism;
  spec.stack = hardware->FindStack(stack);
  if (spec.stack == nullptr) std::abort();
  return BuildTarget(spec);
}

// Of a question that keeps the rules.
inline model::BatchAnswer Recommend(const model::ServingEngine& engine,
                                    const model::BatchQuestion& question) {
  model::StepTimer timer;
  model::Violations violations;
  auto answer = model::RecommendBatch(engine, question, timer, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return answer.value_or(model::BatchAnswer{});
}

}  // namespace mansard::testing
