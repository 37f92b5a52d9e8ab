// A slow counter of the work of one pass: it walks every index of every loop of
// one rank and marks what it touches. Kept to check Lower's closed forms;
// never linked into a product. Only for tiny shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"

namespace mansard::testing {

// Elements and operations, before any format.
struct ReferenceWork {
  int64_t multiply_adds = 0;  // On tensor units; two operations each.
  int64_t exponentials = 0;   // Attention's and the activation's.
  int64_t weights = 0;        // Distinct weight elements read.
  int64_t kv_read = 0;        // Distinct cached elements read.
  int64_t kv_write = 0;
  int64_t activations_in = 0;
  int64_t activations_out = 0;
  int64_t message = 0;

  bool operator==(const ReferenceWork&) const = default;
};

// Work of one rank by part ("qkv_proj", "attention", ...), summed over layers
// and groups. Norms take the residual add with them. The rank holds the KV
// heads that its query heads use, however many ranks share one.
std::map<std::string, ReferenceWork> CountPass(const model::ModelGraph& graph,
                                               const model::ForwardPass& pass,
                                               int tensor, int rank);

}  // namespace mansard::testing
