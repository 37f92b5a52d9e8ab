// "tiled-prefill": attention of prompts on a machine of equal multiprocessors.
// A tile of queries walks over the blocks of positions that it sees; tiles of
// all heads and sequences go to multiprocessors in turn. With S
// multiprocessors, F tensor rate, B device memory rate, a tile of R query rows
// and blocks of C positions, G = 1 or, where the query heads of a KV head are
// packed into a tile, their number:
//
//   heads   = sequences * query heads / G      rows = q G
//   tiles   = ceil(rows / R)                   jobs = heads * tiles
//   end_i   = prior + min(q, (i + 1) R / G)    positions before a tile's end
//   seen_i  = ceil(end_i / C)                  causal; within a window
//             min(that, ceil((R / G + window - 1) / C)) + window_blocks
//             ceil((prior + q) / C)            not causal
//   block   = 2 R C (key + value) / (peak_fraction F / S)
//   work    = ceil(jobs / S) (start + block mean of seen)
//   path    = start + block largest seen
//             Where kernels split positions, the floor(S / jobs)
//             multiprocessors that a tile has share the blocks of both, with
//             kMinSharedBlocks or more each.
//   core    = max(work, path) + solo min(work, path)
//   memory  = (moved + append_passes appended) / (hbm_fraction B)
//   append  = appended tokens append_token min(1, elements / append_elements)
//   time    = (launch + core + memory + append) (1 + droop x / (1 + x)),
//             x = time before droop / droop_time
//
// the least over the head's tiles and, where heads may share a tile, G. The
// appending kernels come before attention's: nothing hides their traffic.
// Attention's own is added too, as it fits better than a norm does: queries are
// read before the first block and outputs written after the last. A chunked
// mask is a list of sequences, each over its own chunk, which fill each other's
// gaps: work is then sum of seen / S. Blocks are summed in closed form.
// Source: Mansard design, performance model §1.5; appending and its token cost,
// splits and whole waves are of the rows of measured tables. Valid: fitted on
// q 16 to 16384, priors to 16384, head sizes 64 to 512, windows from 128.
#pragma once

#include <cstdint>

#include "model/base/units.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

struct PrefillMachine {
  double multiprocessors = 1;
  FlopsPerSecond tensor;  // Datasheet rate of the compute format.
  BytesPerSecond hbm;     // Datasheet rate.
};

struct PrefillProblem {
  int64_t sequences = 1;
  int64_t new_tokens = 1;  // Of each.
  // Cached before them. Not causal: all positions but as many as new tokens,
  // which may be fewer.
  int64_t prior_tokens = 0;
  int64_t query_heads = 1;
  int64_t kv_heads = 1;
  int64_t key_size = 128;  // Of one head.
  int64_t value_size = 128;
  // Positions that a token sees, itself included; 0: all before it.
  int64_t window = 0;
  int64_t chunk = 0;    // Of the mask; 0: none.
  bool causal = true;   // False: all positions; window and chunk do not count.
  Bytes moved = {};     // Queries, outputs, keys and values that were there.
  Bytes appended = {};  // New keys and values, read and written to the cache.
  double appended_tokens = 0;    // Of all sequences.
  double appended_elements = 0;  // Of one token's keys in the cache.
};

// Tiles of one head of all sequences, and the blocks that they see.
struct TileCount {
  double tiles = 0;
  double blocks = 0;   // Of all tiles.
  double longest = 0;  // Of one.
};

// Of one sequence without a chunked mask. `rows`, `columns`: of a tile and a
// block; `group`: query heads that share a tile. All arguments but prior and
// window at least 1, sums below 2^62: tokens up to 1e9, groups up to 1024.
TileCount CountTiles(int64_t new_tokens, int64_t prior_tokens, int64_t window,
                     bool causal, int64_t group, int64_t rows, int64_t columns);

struct TiledPrefillTimes {
  // Of these the larger; the other is zero and in `tail`.
  Seconds tensor;  // Whole waves of tiles.
  Seconds chain;   // The longest tile.
  // Nothing hides these.
  Seconds launch;
  Seconds starts;  // Of the waves, or of the longest tile.
  Seconds tail;    // Of the shorter of work and path.
  Seconds hbm;     // Moved and appended.
  Seconds append;  // By token.
  Seconds droop;

  Seconds time;  // All put together.
  // Of the choice.
  HeadTile tile = {};
  bool packed = false;
};

// Blocks that a multiprocessor at least has of a tile that it shares.
inline constexpr double kMinSharedBlocks = 4;

// Preconditions: a family that KernelStack::Create accepts, all numbers of
// machine and problem positive where 0 has no meaning of its own.
TiledPrefillTimes TimeTiledPrefill(const TiledPrefillFamily& family,
                                   const PrefillMachine& machine,
                                   const PrefillProblem& problem);

}  // namespace mansard::model
