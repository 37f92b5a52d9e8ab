// "split-kv": attention of the few new tokens of each sequence over its cache,
// on a machine of equal multiprocessors. Query heads that share a KV head (the
// group) and the new tokens share a read of the cache; the positions may be
// split, and the fastest split counts. With S multiprocessors, F tensor rate, B
// device memory rate, L positions of p bytes that each sequence reads in each
// of its KV heads, and q new tokens of each:
//
//   alone  = group == 1 or group > limit; limit: group_limit, or of layers with
//            a window window_group_limit; 0: none
//   reads  = group > limit ? query heads : KV heads       rows = shared heads q
//   tiles  = ceil(rows / head_rows)     units = sequences reads tiles
//   blocks = max(1, ceil(ceil(L / block_tokens) / split))
//   part   = start (1 - head_share + head_share head_size / 128)
//            (alone: * alone_start)
//            + min(L, blocks block_tokens) p / part_feed
//            (head_size > 128: part_feed * wide_feed)
//            + blocks block_latency + (positions are hidden: window_start)
//   chain  = ceil(units split / (S occupancy)) part
//   cache  = sequences KV heads L p
//   hbm    = (cache (1 - warm) + other bytes) / (hbm_fraction B)
//   l2     = (units L p + queries and outputs) / l2_feed
//   tensor = sequences reads L flops of a row and position
//            ceil(rows / r) r / (peak_fraction F),   r = min(64, head_rows)
//   core   = (chain^4 + hbm^4 + l2^4 + tensor^4)^(1/4)
//   time   = launch (alone: * alone_launch) + core
//            + query * query heads q sequences value size
//            + (split > 1: combine + split combine_part + 8 split outputs /
//            l2_feed)
//
// warm is what L2 still holds of a cache that is read over and over: all of it
// up to warm_share of L2's capacity, nothing from twice that on; 0 in serving.
// Rows are padded to what one instruction of the tensor units takes.
// Source: Mansard design, performance model §1.4 and §1.6. Valid: 1 to 131072
// positions, 1 to 2048 sequences, heads of 64 to 256 and latent vectors of 576.
#pragma once

#include "model/base/units.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

struct SplitDecodeMachine {
  double multiprocessors = 1;
  FlopsPerSecond tensor;  // Datasheet rate of the compute format.
  BytesPerSecond hbm;     // Datasheet rate.
  Bytes l2;               // Its capacity.
  bool warm = false;      // The same cache is read over and over.
};

// A group of like sequences.
struct SplitDecodeProblem {
  double sequences = 1;
  double positions = 1;   // That one sequence reads.
  double query_rows = 1;  // New tokens of one sequence.
  double query_heads = 1;
  double kv_heads = 1;
  double head_size = 128;   // Of queries.
  double value_size = 128;  // Of outputs.
  Bytes position_bytes;     // Key and value, of one position and KV head.
  Flops position_flops;     // Of one query row and position.
  Bytes activations;        // Queries and outputs.
  Bytes other_hbm;          // Beside the cache that is read.
  bool windowed = false;    // The layer has a window or chunk.
  bool hides = false;       // And it hides positions.
};

struct SplitDecodeTimes {
  // Overlap inside the kernel.
  Seconds tensor;
  Seconds l2;
  Seconds hbm;
  Seconds chain;  // Waves of parts.
  // Nothing hides these.
  Seconds launch;
  Seconds query;
  Seconds combine;          // Of partial results.
  Seconds combine_traffic;  // Their way through L2.

  Seconds time;   // All put together.
  int split = 1;  // Of the choice.
  Bytes l2_bytes;
};

// Preconditions: a family that KernelStack::Create accepts, counts of the
// problem and numbers of the machine positive.
SplitDecodeTimes TimeSplitDecode(const SplitDecodeFamily& family,
                                 const SplitDecodeMachine& machine,
                                 const SplitDecodeProblem& problem);

}  // namespace mansard::model
