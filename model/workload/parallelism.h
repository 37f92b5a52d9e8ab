// The sizes of a layout.
#pragma once

namespace mansard::model {

// As a caller writes it; 0 means the default. Defaults: 1 each, but for
// - experts: where one of expert and moe_tensor is given, the other makes
//   expert x moe_tensor = tensor x data; where neither is, each rank holds a
//   share of every expert (expert 1), as vLLM does;
// - nodes: as few as the fabric allows, equally full, so that no group lies
//   across them unevenly;
// - micro_batches: 1.
struct Parallelism {
  int tensor = 0;
  int pipeline = 0;
  int expert = 0;
  int data = 0;
  int moe_tensor = 0;
  int context = 0;
  int nodes = 0;
  // Parts of a pass, by requests, that follow each other through the stages of
  // a pipeline.
  int micro_batches = 0;

  // In all.
  static constexpr int kMaxDevices = 65'536;

  bool operator==(const Parallelism&) const = default;
};

}  // namespace mansard::model
