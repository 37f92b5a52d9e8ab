// What of a pass its ops depend on.
#pragma once

#include <cstdint>

#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Of the busiest rank. Without context parallelism and micro-batches.
struct StepCounts {
  int64_t tokens = 0;         // New ones, of all its requests.
  int64_t expert_tokens = 0;  // Of all data ranks.
  int64_t decode_tokens = 0;
  int64_t prompt_positions = 0;  // Of prompts, cached ones included.
  int64_t prompt_cached = 0;
  int64_t prompt_tokens = 0;
  int64_t logits = 0;
  int64_t requests = 0;
  int64_t states_read = 0;  // Requests that have been computed before.
  Phase phase = Phase::kDecode;
};

// The group as the rank has it.
RequestGroup OnDataRank(const RequestGroup& group, const Layout& layout);

// Allocates nothing.
StepCounts CountsOf(const ForwardPass& pass, const Layout& layout);

}  // namespace mansard::model
