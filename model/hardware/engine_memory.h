// What an engine takes of a device's memory beside weights and cache, and how
// it hands the rest out.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/device.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

struct EngineMemory {
  // Of the device's memory, that the engine uses. CUDA graphs and what other
  // programs hold lie in the rest.
  double usable_fraction = 1;
  // Of the driver and the framework, outside of the engine's tensors.
  Bytes framework = {};
  // Buffers of the collectives, with more than one rank.
  Bytes communication = {};
  // The largest step that the engine makes room for: tokens, and sequences
  // that get a next token.
  int64_t token_budget = 1;
  int64_t sequence_limit = 1;
  // Of every logit while next tokens are chosen.
  double bytes_per_logit = 0;
  // Workspace that depends on neither the model nor the step.
  Bytes fixed_workspace = {};
  // The cache comes in blocks of this many tokens.
  int64_t block_tokens = 1;
  // Layers of all kinds share pages of one size: the cache's blocks grow until
  // one holds a recurrent state.
  bool unified_pages = false;
  // mxfp4 experts are padded to widths of a multiple of this.
  int64_t mxfp4_width_multiple = 1;
  Provenance provenance = {};
};

// Rules: the fraction lies above 0 and is at most 1; bytes are 0 or more and
// finite; counts are 1 or more, within limits that keep products finite.
void CheckEngineMemory(const EngineMemory& memory, Violations& violations);

// What one deployment has otherwise than its stack's EngineMemory. Of one data
// rank. Empty: the stack's.
struct EngineMemoryChoice {
  std::optional<double> usable_fraction = std::nullopt;
  std::optional<int64_t> token_budget = std::nullopt;
  std::optional<int64_t> sequence_limit = std::nullopt;
  std::optional<int64_t> block_tokens = std::nullopt;

  bool operator==(const EngineMemoryChoice&) const = default;
};

// Rules: as CheckEngineMemory, and at most kMaxChosenTokens in the budget and
// in a block. Violations are at "memory_utilization_ratio",
// "max_batched_token_count", "max_sequence_count" and "kv_block_token_count".
inline constexpr int64_t kMaxChosenTokens = 1'000'000;
void CheckEngineMemoryChoice(const EngineMemoryChoice& choice,
                             Violations& violations);

// `memory` with what is chosen. Where the stack has none, the rest is as of an
// engine that takes nothing.
EngineMemory WithChoice(const std::optional<EngineMemory>& memory,
                        const EngineMemoryChoice& choice);

// One serving engine's defaults, measured on the H100 and taken for every
// device: of 70 GiB and more, but for Ampere, steps of 8,192 tokens and 1,024
// sequences; else of 2,048 and 256.
//
// A logit takes 38 bytes: itself in 2 bytes, in fp32 and sorted (4 + 4), its
// place in the order (8), the sort's copies of both (4 + 8), its probability
// and the running sum (4 + 4). With one hidden state for every token and
// sequence, and 46.8 MB fitted, that is within 0.2 % of the five measured
// starts of text models.
EngineMemory DefaultEngineMemory(const Device& device);

}  // namespace mansard::model
