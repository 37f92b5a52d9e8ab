#include "model/estimate/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mansard::model {
namespace {

// The largest value in [low, high] that `fits`, which holds up to one; low - 1
// where it holds for none.
template <class Fits>
int64_t LargestThatFits(int64_t low, int64_t high, const Fits& fits) {
  if (high < low || !fits(low)) return low - 1;
  if (fits(high)) return high;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

const EngineMemory* PagingOf(const HardwareView& view) {
  const auto& memory = view.stack.spec().memory;
  return memory.has_value() ? &*memory : nullptr;
}

class Footprint {
 public:
  // `pass`: of one data rank.
  Footprint(const ModelGraph& graph, const ForwardPass& pass,
            const Layout& layout, int stage, const PassFormats& formats,
            const HardwareView& view)
      : graph_(graph),
        pass_(pass),
        layout_(layout),
        engine_(PagingOf(view)),
        cache_(graph, layout, stage, formats, engine_),
        workspace_(graph, layout, formats,
                   engine_ == nullptr ? EngineMemory{} : *engine_) {
    memory_.stage = stage;
    memory_.capacity = view.device.HbmCapacity();
    memory_.budget = memory_.capacity;
    if (engine_ == nullptr) return;
    memory_.budget *= engine_->usable_fraction;
    memory_.framework = engine_->framework;
    if (layout.device_count() > 1) {
      memory_.communication = engine_->communication;
    }
    memory_.workspace = WorkspaceOf(pass);
  }

  MemoryFootprint Of(const OpList& ops) {
    AddWeights(ops);
    AddCache();
    memory_.fits = memory_.free() >= Bytes::Zero();
    AddTokenCapacity();
    AddMaxRequests();
    AddMaxContext();
    return std::move(memory_);
  }

 private:
  // Of one micro-batch, and the positions of one context rank.
  Bytes WorkspaceOf(const ForwardPass& pass) const {
    if (layout_.micro_batches() == 1 && layout_.context() == 1) {
      return workspace_.For(pass.total_new_tokens(), pass.logit_positions());
    }
    const ForwardPass part = pass.LargestPart(layout_.micro_batches())
                                 .ContextPart(layout_.context());
    return workspace_.For(part.total_new_tokens(), part.logit_positions());
  }

  void AddWeights(const OpList& ops) {
    memory_.weights_by_class = WeightsByClass(ops);
    memory_.weights = memory_.weights_by_class.Total();
    memory_.other_weights =
        Bytes::Of(static_cast<double>(graph_.spec().other_weight_bytes));
    if (engine_ == nullptr) return;
    memory_.weight_padding =
        ExpertPadding(ops, graph_, engine_->mxfp4_width_multiple);
  }

  void AddCache() {
    CacheBytes all;
    for (size_t i = 0; i < graph_.spec().layer_kinds.size(); ++i) {
      if (cache_.CountOf(i) == 0) continue;
      LayerMemory& layer = memory_.layers.emplace_back();
      layer.layer_kind = i;
      layer.layers = cache_.CountOf(i);
      layer.per_token = static_cast<double>(layer.layers) * cache_.PerToken(i);
      for (const RequestGroup& group : pass_.groups()) {
        layer.pass += static_cast<double>(group.request_count * layer.layers) *
                      cache_.OfLayer(i, group);
      }
      all += layer.pass;
    }
    AddDraftCache(all);
    memory_.kv_cache = all.cache + all.indexer;
    memory_.indexer = all.indexer;
    memory_.state = all.state;
    memory_.paging = Max(Bytes::Zero(), all.paged - all.total());
  }

  void AddDraftCache(CacheBytes& all) {
    CacheBytes drafts;
    for (const RequestGroup& group : pass_.groups()) {
      drafts += static_cast<double>(group.request_count) *
                cache_.OfDrafts(group, pass_);
    }
    memory_.draft_kv_cache = drafts.cache + drafts.indexer;
    all += drafts;
  }

  void AddTokenCapacity() {
    memory_.block_tokens = cache_.BlockTokens();
    const Bytes block =
        static_cast<double>(memory_.block_tokens) * cache_.PerToken(pass_);
    if (block == Bytes::Zero()) return;
    const Bytes left = Max(Bytes::Zero(), memory_.kv_budget() - memory_.state);
    memory_.kv_token_capacity = static_cast<int64_t>(std::floor(left / block)) *
                                memory_.block_tokens * layout_.data();
  }

  CacheBytes OfRequest(const RequestGroup& group) const {
    CacheBytes bytes = cache_.OfRequest(group);
    bytes += cache_.OfDrafts(group, pass_);
    return bytes;
  }

  void AddMaxRequests() {
    const RequestGroup* largest = nullptr;
    Bytes most;
    for (const RequestGroup& group : pass_.groups()) {
      const Bytes each = OfRequest(group).paged;
      if (largest != nullptr && each <= most) continue;
      largest = &group;
      most = each;
    }
    const Bytes room = memory_.budget - memory_.fixed() + memory_.workspace;
    const int64_t logits =
        largest->role == Role::kDecode ? largest->new_tokens : 1;
    const auto fits = [&](int64_t requests) {
      Bytes needed = static_cast<double>(requests) * most;
      if (engine_ != nullptr) {
        const int64_t part =
            (requests + layout_.micro_batches() - 1) / layout_.micro_batches();
        needed += workspace_.For(part * largest->new_tokens, part * logits);
      }
      return needed <= room;
    };
    memory_.max_requests = LargestThatFits(
        1,
        std::min(ForwardPass::kMaxRequests,
                 ForwardPass::kMaxTotalTokens / largest->new_tokens),
        fits);
    memory_.max_requests = std::min(ForwardPass::kMaxRequests,
                                    memory_.max_requests * layout_.data());
  }

  void AddMaxContext() {
    int64_t shortest = 1;
    for (const RequestGroup& group : pass_.groups()) {
      shortest = std::max(shortest, group.new_tokens);
    }
    const auto fits = [&](int64_t context) {
      Bytes needed = memory_.fixed();
      for (RequestGroup group : pass_.groups()) {
        group.prior_tokens = context - group.new_tokens;
        needed +=
            static_cast<double>(group.request_count) * OfRequest(group).paged;
      }
      return needed <= memory_.budget;
    };
    const int64_t found =
        LargestThatFits(shortest, graph_.spec().max_context, fits);
    memory_.max_context = found < shortest ? 0 : found;
  }

  const ModelGraph& graph_;
  const ForwardPass& pass_;
  const Layout& layout_;
  const EngineMemory* engine_;
  RequestCache cache_;
  Workspace workspace_;
  MemoryFootprint memory_;
};

}  // namespace

absl::string_view NoTokenReason(const MemoryFootprint& memory) {
  if (memory.kv_token_capacity > 0) return "";
  const Bytes weights =
      memory.weights + memory.weight_padding + memory.other_weights;
  if (weights > memory.budget) return "the weights alone exceed the budget";
  if (memory.kv_budget() == Bytes::Zero()) {
    return "weights, workspace and reserve leave nothing of the budget";
  }
  if (memory.state > memory.kv_budget()) {
    return "the states of the pass leave nothing of the budget";
  }
  for (const LayerMemory& layer : memory.layers) {
    if (layer.per_token > Bytes::Zero()) {
      return "what is left is less than one block of tokens";
    }
  }
  return "no layer's cache grows with the tokens";
}

MemoryFootprint FootprintOf(const OpList& ops, const ModelGraph& graph,
                            const ForwardPass& pass, const Layout& layout,
                            int stage, const PassFormats& formats,
                            const HardwareView& view) {
  if (layout.data() == 1) {
    return Footprint(graph, pass, layout, stage, formats, view).Of(ops);
  }
  return Footprint(graph, pass.LargestPart(layout.data()), layout, stage,
                   formats, view)
      .Of(ops);
}

MemoryFootprint Tightest(const MemoryFootprint& a, const MemoryFootprint& b) {
  MemoryFootprint tightest = b.free() < a.free() ? b : a;
  tightest.kv_token_capacity =
      std::min(a.kv_token_capacity, b.kv_token_capacity);
  tightest.max_requests = std::min(a.max_requests, b.max_requests);
  tightest.max_context = std::min(a.max_context, b.max_context);
  tightest.fits = a.fits && b.fits;
  return tightest;
}

}  // namespace mansard::model
