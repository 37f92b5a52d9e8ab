// What one request keeps on one rank between passes: cache and states, as they
// are and as an engine's pages hold them.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "model/base/units.h"
#include "model/graph/model_graph.h"
#include "model/hardware/engine_memory.h"
#include "model/lower/pass_formats.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Of one request, or a sum over requests.
struct CacheBytes {
  Bytes cache;    // Keys and values, without those of indexers.
  Bytes indexer;  // Keys of indexers.
  Bytes state;    // Recurrent states, inputs of convolutions, pools.
  Bytes paged;    // All three, in pages.

  Bytes total() const { return cache + indexer + state; }
  CacheBytes& operator+=(const CacheBytes& other);
  friend CacheBytes operator*(double factor, CacheBytes bytes);
};

// One rank's cache of one graph. What does not depend on the request is worked
// out once. Needs no memory of its own for graphs of a few layer kinds.
//
// Pages, where the stack has a policy:
// - A layer's cache is whole blocks; the last one is partly filled.
// - A full window or chunk lies across one block more than it fills, unless
//   it is the whole context.
// - Unified pages: a page holds a block of the widest layer, and one layer's
//   recurrent state; where the state is larger, the block grows by whole blocks
//   until it does. Narrower layers put more tokens into a page. A state takes a
//   page.
// - Compressed entries and encoder positions have blocks of their own.
// Padding of groups of layers to equal numbers is not modelled.
class RequestCache {
 public:
  // Of the layers of one stage of the pipeline. The references outlive it.
  // `paging`: null where nothing is known of it.
  RequestCache(const ModelGraph& graph, const Layout& layout, int stage,
               const PassFormats& formats, const EngineMemory* paging);

  // One layer of a kind, for one request of the group at its context.
  CacheBytes OfLayer(size_t kind, const RequestGroup& group) const;
  // Layers of a kind in the stage.
  int CountOf(size_t kind) const { return kinds_[kind].layers; }
  // All layers of the stage.
  CacheBytes OfRequest(const RequestGroup& group) const;
  // All layers of the stage: what a holder of the cache of the group's prior
  // tokens lacks of one request's at its context. A window or chunk is replaced
  // as far as new tokens reach; a state, and the encoder's positions of a first
  // pass, as a whole. All of OfRequest, pages not included, where nothing is
  // prior.
  Bytes Missing(const RequestGroup& group) const;
  // Layers of the stage that keep something of a request.
  int LayersHeld() const;
  // The modules that draft in `pass`, for one of the group's requests when all
  // drafts are made. Zero for prompts, which the modules' runs leave out, and
  // but for the last stage.
  CacheBytes OfDrafts(const RequestGroup& group, const ForwardPass& pass) const;

  // What another token adds to one layer's cache while no window is full: its
  // own entry and its share of a compressed one, index keys included.
  Bytes PerToken(size_t kind) const;
  // Over all layers, and over one layer of each module that drafts.
  Bytes PerToken(const ForwardPass& pass) const;
  // Tokens in a block of a layer of the kind, those that other context ranks
  // hold of it not included. 1 without paging.
  int64_t BlockTokens(size_t kind) const { return kinds_[kind].block; }
  // The largest block of a layer whose cache grows, of all context ranks.
  int64_t BlockTokens() const;

 private:
  struct Kind {
    Bytes entry;    // One position, without the index key.
    Bytes index;    // One index key.
    Bytes encoder;  // One encoder position.
    Bytes state;
    Bytes state_page;   // What the state takes; at least the state.
    int64_t block = 1;  // Tokens of a page.
    Bytes page;         // Of positions.
    int layers = 0;
  };
  void SetPages(const EngineMemory& paging);
  Bytes MissingOfLayer(size_t kind, const RequestGroup& group) const;
  // The growing cache of one layer, in pages. Precondition: there is paging,
  // and the layer has attention.
  Bytes PagedEntries(size_t kind, const CacheEntries& held,
                     const RequestGroup& group) const;

  const ModelGraph& graph_;
  const Layout& layout_;
  const bool drafts_;  // The stage has the modules.
  const PassFormats& formats_;
  const EngineMemory* paging_;
  absl::InlinedVector<Kind, 4> kinds_;
};

}  // namespace mansard::model
