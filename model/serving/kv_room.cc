#include "model/serving/kv_room.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/estimate/memory.h"
#include "model/estimate/step_counts.h"
#include "model/estimate/workspace.h"
#include "model/lower/lower.h"

namespace mansard::model {
namespace {

// One request on each data rank.
ForwardPass OneEach(int ranks) {
  Violations none;
  return *ForwardPass::Create({{Role::kDecode, ranks, 1, 0}}, 1, none);
}

std::optional<EngineMemory> MemoryOf(const Target& target,
                                     const ServingLimits& limits) {
  std::optional<EngineMemory> memory = target.view().stack.spec().memory;
  if (!memory.has_value()) return memory;
  memory->token_budget = limits.max_batched_tokens;
  memory->sequence_limit = limits.max_sequences;
  memory->block_tokens = limits.kv_block_tokens.value_or(memory->block_tokens);
  memory->usable_fraction =
      limits.memory_utilization.value_or(memory->usable_fraction);
  return memory;
}

// Beside all that does not depend on the requests. `engine`: null where nothing
// is known of it.
Bytes RoomBeside(const MemoryFootprint& memory, const Target& target,
                 const EngineMemory* engine) {
  if (engine == nullptr) return memory.kv_budget();
  const Workspace workspace(target.graph(), target.layout(), target.formats(),
                            *engine);
  const Bytes fixed = memory.fixed() - memory.workspace + workspace.For(1, 1);
  return Max(Bytes::Zero(), engine->usable_fraction * memory.capacity - fixed);
}

}  // namespace

KvRoom::KvRoom(const Target& target, const ServingLimits& limits)
    : target_(target), memory_(MemoryOf(target, limits)) {
  const Layout& layout = target.layout();
  const EngineMemory* paging = memory_.has_value() ? &*memory_ : nullptr;
  const ForwardPass pass = OneEach(layout.data());
  OpList ops;
  stages_.reserve(static_cast<size_t>(layout.pipeline()));
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int stage = 0; stage < layout.pipeline(); ++stage) {
    Lower(target.graph(), pass, layout, target.formats(), target.fusion(), ops,
          layout.pipeline() == 1
              ? StageRepeats{}
              : StageRepeats{.stage = stage, .there = 1, .elsewhere = 0});
    const MemoryFootprint memory =
        FootprintOf(ops, target.graph(), pass, layout, stage, target.formats(),
                    target.view());
    Stage& mine = stages_.emplace_back(Stage{
        RequestCache(target.graph(), layout, stage, target.formats(), paging),
        RoomBeside(memory, target, paging),
        {}});
    mine.of_token = mine.cache.PerToken(pass);
    if (mine.of_token == Bytes::Zero()) continue;
    grows_ = true;
    mine.room = RoomFor(mine, limits.kv_token_capacity);
    const int64_t block = mine.cache.BlockTokens();
    const double blocks =
        std::floor(mine.room / (static_cast<double>(block) * mine.of_token));
    fewest =
        std::min(fewest, static_cast<int64_t>(blocks) * block * layout.data());
  }
  token_capacity_ = grows_ ? fewest : 0;
}

Bytes KvRoom::RoomFor(const Stage& stage,
                      std::optional<int64_t> free_tokens) const {
  if (!free_tokens.has_value() || stage.of_token == Bytes::Zero()) {
    return stage.room;
  }
  return static_cast<double>(*free_tokens / target_.layout().data()) *
         stage.of_token;
}

bool KvRoom::Holds(const ForwardPass& pass,
                   std::optional<int64_t> free_tokens) const {
  return std::all_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
    Bytes needed;
    for (const RequestGroup& whole : pass.groups()) {
      if (whole.role != Role::kDecode) continue;
      const RequestGroup group = OnDataRank(whole, target_.layout());
      CacheBytes each = stage.cache.OfRequest(group);
      each += stage.cache.OfDrafts(group, pass);
      needed += static_cast<double>(group.request_count) * each.paged;
    }
    return needed <= RoomFor(stage, free_tokens);
  });
}

int64_t KvRoom::RequestsThatFit(int64_t context) const {
  const RequestGroup group{Role::kDecode, 1, 1, context - 1};
  double fewest = static_cast<double>(ForwardPass::kMaxRequests);
  for (const Stage& stage : stages_) {
    const Bytes each = stage.cache.OfRequest(group).paged;
    if (each == Bytes::Zero()) continue;
    fewest = std::min(fewest,
                      std::floor(stage.room / each) * target_.layout().data());
  }
  return static_cast<int64_t>(fewest);
}

}  // namespace mansard::model
