// What a caller asks to be estimated.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/estimate/formats.h"
#include "model/estimate/kv_send.h"
#include "model/graph/model_graph.h"
#include "model/hardware/collective_algorithm.h"
#include "model/hardware/engine_memory.h"
#include "model/hardware/hardware_profile.h"
#include "model/workload/overlap.h"
#include "model/workload/parallelism.h"

namespace mansard::model {

// Names are looked up already.
struct TargetSpec {
  std::shared_ptr<const ModelGraph> graph;
  std::shared_ptr<const HardwareProfile> hardware;
  const Fabric* fabric = nullptr;      // One of the profile's.
  const KernelStack* stack = nullptr;  // One of the profile's.
  Parallelism parallelism;
  // Empty: the graph's own.
  std::optional<Format> weights;
  std::optional<Format> activations;
  std::optional<Format> kv_cache;
  std::optional<Format> state;
  // Over the formats above.
  std::vector<LinearChoice> linears;
  std::optional<int> kv_heads;
  // What if scores went through memory?
  bool unfused_attention = false;
  // Set: passes end with their prompts' keys and values at another pool.
  std::optional<KvSend> kv_send = std::nullopt;
  // Empty: the stack's own.
  std::optional<bool> residual_into_norm = std::nullopt;
  std::optional<bool> cuda_graphs = std::nullopt;
  std::optional<Overlap> overlap = std::nullopt;
  // Over the stack's memory.
  EngineMemoryChoice memory = {};
  // Of all all-reduces; kAuto: as the stack chooses by size.
  CollectiveAlgorithm all_reduce_algorithm = CollectiveAlgorithm::kAuto;
  // What if all products of a stack with tiled GEMM families had this tile?
  std::optional<GemmTile> gemm_tile = std::nullopt;
  // Of the engine: some stacks' costs vary by it. Empty: of none in particular.
  std::string engine_version = "";
};

}  // namespace mansard::model
