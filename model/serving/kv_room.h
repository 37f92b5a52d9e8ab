// What of a device's memory is left for requests, and how many fit into it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/base/units.h"
#include "model/estimate/cache_bytes.h"
#include "model/estimate/estimate.h"
#include "model/hardware/engine_memory.h"
#include "model/serving/serving_spec.h"

namespace mansard::model {

// Of the stages of a target, which outlives it. Immutable. Requests count as
// the memory code counts them: whole blocks, windows no further than they are
// full, states; on the busiest data rank.
class KvRoom {
 public:
  // Room beside weights, reserves and the workspace of the limits' largest
  // pass. A capacity given as tokens replaces it: as many bytes as those
  // tokens take while no window is full. Where no layer's cache grows, tokens
  // say nothing, and the memory holds.
  KvRoom(const Target& target, const ServingLimits& limits);
  KvRoom(const KvRoom&) = delete;
  KvRoom& operator=(const KvRoom&) = delete;

  // Tokens on all data ranks together, in whole blocks; 0 where there is no
  // room or no layer's cache grows.
  int64_t token_capacity() const { return token_capacity_; }
  // Whether a token adds to some layer's cache.
  bool grows() const { return grows_; }

  // Whether the decoding requests of the pass, with what it drafts, have room;
  // `free_tokens`, of all data ranks, instead of all there is. Allocates
  // nothing for graphs of a few layer kinds.
  bool Holds(const ForwardPass& pass, std::optional<int64_t> free_tokens) const;
  // Requests of `context` tokens that have, on all data ranks together, at most
  // ForwardPass::kMaxRequests.
  int64_t RequestsThatFit(int64_t context) const;

 private:
  struct Stage {
    RequestCache cache;
    Bytes room;      // Of one rank.
    Bytes of_token;  // While no window is full, without drafts.
  };
  Bytes RoomFor(const Stage& stage, std::optional<int64_t> free_tokens) const;

  const Target& target_;
  std::optional<EngineMemory> memory_;  // The stack's, with the limits.
  std::vector<Stage> stages_;
  int64_t token_capacity_ = 0;
  bool grows_ = false;
};

}  // namespace mansard::model
