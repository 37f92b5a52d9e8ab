// Graphs of published models for tests: the checked graph, sizes, layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/graph/model_graph.h"

namespace mansard::model {

inline ModelGraph Build(ModelGraphSpec spec) {
  Violations violations;
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  EXPECT_TRUE(graph.has_value()) << violations.ToStatus();
  return *std::move(graph);
}

inline ModelGraphSpec Sized(int64_t hidden, int64_t vocabulary) {
  ModelGraphSpec spec;
  spec.hidden_size = hidden;
  spec.vocabulary_size = vocabulary;
  spec.max_context = 131072;
  return spec;
}

// `pattern` names the kind of each layer by its place: "0" is the first.
inline std::vector<int> Layers(int repeats, const std::string& pattern) {
  std::vector<int> indexes;
  for (int i = 0; i < repeats; ++i) {
    for (char c : pattern) indexes.push_back(c - '0');
  }
  return indexes;
}

}  // namespace mansard::model
