// What a rank holds, whether it fits, and how much more would.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/estimate/cache_bytes.h"
#include "model/estimate/weight_class.h"
#include "model/estimate/workspace.h"
#include "model/graph/model_graph.h"
#include "model/lower/lower.h"
#include "model/price/hardware_view.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// The cache of the layers of one kind, or of one kind's in drafting modules.
struct LayerMemory {
  size_t layer_kind = 0;
  int64_t layers = 0;
  bool draft = false;
  // What another token of one request adds while no window is full.
  Bytes per_token;
  CacheBytes pass;  // All requests of the pass, new tokens included.
};

struct MemoryFootprint {
  // Of a pipeline: the stage with the least room, whose numbers these are; the
  // limits below hold for all stages.
  int stage = 0;

  WeightBytesByClass weights_by_class;
  Bytes weights;         // Their sum: with scales; embedding and head included.
  Bytes weight_padding;  // Of experts, by the stack.
  Bytes other_weights;   // Encoders of images and sound: whole on every rank.

  absl::InlinedVector<LayerMemory, 4> layers;
  // All requests of the pass, new tokens and drafts included. The next two are
  // parts of it.
  Bytes kv_cache;
  Bytes indexer;
  Bytes draft_kv_cache;
  // Recurrent states and the last inputs of convolutions, of all requests of
  // the pass: as much for a request of any length.
  Bytes state;
  Bytes paging;  // What pages hold beyond cache and state.

  // The engine's; zero where the stack does not say.
  Bytes workspace;
  Bytes communication;
  Bytes framework;

  Bytes capacity;  // Of the device.
  Bytes budget;    // The part that the engine uses.

  // On all data ranks together: in whole blocks of the cache, beside all that
  // is not cache and the pass's states, as windows are not full. 0 also where
  // no layer's cache grows: the states then bound the requests, and nothing the
  // tokens.
  int64_t kv_token_capacity = 0;
  int64_t block_tokens = 1;
  // Requests like the pass's largest one that fit instead of the pass, on all
  // data ranks together, at most as many as a pass can have; 0 where not even
  // one a rank does.
  int64_t max_requests = 0;
  // The longest context that all of the pass's requests can have, at most the
  // model's; 0 where they do not fit at any.
  int64_t max_context = 0;
  bool fits = false;

  // What does not depend on the requests.
  Bytes fixed() const {
    return weights + weight_padding + other_weights + workspace +
           communication + framework;
  }
  Bytes cache_and_state() const { return kv_cache + state + paging; }
  Bytes needed() const { return fixed() + cache_and_state(); }
  Bytes free() const { return budget - needed(); }
  // For cache and states; never negative.
  Bytes kv_budget() const { return Max(Bytes::Zero(), budget - fixed()); }
};

// Why there is no room for tokens; empty where there is.
absl::string_view NoTokenReason(const MemoryFootprint& memory);

// Per rank, the busiest of one stage. `ops` is the pass as lowered, once for
// the stage and not at all for others: each says which weights the rank holds
// for it, so time and memory cannot disagree. Where the stack says nothing of
// memory, the whole device is the budget and there are no pages.
MemoryFootprint FootprintOf(const OpList& ops, const ModelGraph& graph,
                            const ForwardPass& pass, const Layout& layout,
                            int stage, const PassFormats& formats,
                            const HardwareView& view);
// Of stages one by one: the one with the least room, and the limits of all.
MemoryFootprint Tightest(const MemoryFootprint& a, const MemoryFootprint& b);

}  // namespace mansard::model
