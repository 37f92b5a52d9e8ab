// "tiled-gemm": one matrix product [m,k] x [k,n] on a machine of equal
// multiprocessors, as the fastest of a few kernel configurations. A
// configuration is an output tile (rows x columns) and a number of parts that
// k is split into. With S multiprocessors, F tensor rate, B device memory rate,
// a, w and o the bytes of an element of input, weights and output:
//
//   blocks = ceil(ceil(k / e) / split)     e = k_block_bytes / a elements
//   tiles  = batch * ceil(m / rows) * ceil(n / columns)
//   jobs   = tiles * split                  waves = ceil(jobs / S)
//   depth  = blocks * e
//   tensor = waves * 2 rows columns depth / (peak_fraction F / S)
//   smem   = waves * (max(rows, columns) / 64) * (64 + min(rows, columns))
//            * depth a / sm_smem_feed
//   l2     = jobs (rows a + columns w) depth / l2_feed
//   hbm    = bytes / min(hbm_fraction B, min(jobs, S) sm_hbm_feed)
//   bytes  = compulsory c = batch (m k a + n k w + m n o), or what a wave of
//            tiles must fetch anew where that is more:
//            min(2 batch m n k sqrt(a w / (min(tiles, S) rows columns)),
//                ceil(n / columns) input + ceil(m / rows) weights + output)
//   chain  = blocks block_latency ceil(jobs / (S resident))
//            resident: jobs whose four stages fit into shared memory, 1 to 4
//   core   = ((max(tensor, smem))^4 + l2^4 + hbm^4 + chain^4)^(1/4)
//   time   = launch + waves wave + core
//            + (split > 1: split_cost + 8 split m n batch / l2_feed)
//            + droop x / (1 + x) max(tensor, smem),
//            x = time before droop / droop_time
//
// split > 1 needs kMinBlocks blocks in every part. The droop is what sustained
// power costs the tensor units. Source: Mansard design, performance model §1.1
// and §1.2. Valid: dense products with m, n, k >= 1; parameters are fitted on
// m 1 to 32768 and n, k 32 to 65536, and hold best from n, k = 512 up.
#pragma once

#include "model/base/units.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

struct GemmMachine {
  double multiprocessors = 1;
  FlopsPerSecond tensor;  // Datasheet rate of the compute format.
  BytesPerSecond hbm;     // Datasheet rate.
  Bytes smem;             // Of one multiprocessor.
};

// Bytes are of one element, with its share of the scales.
struct GemmProblem {
  double m = 1;
  double n = 1;
  double k = 1;
  double batch = 1;
  double input_bytes = 2;
  double weight_bytes = 2;
  double output_bytes = 2;
};

struct TiledGemmTimes {
  // Overlap inside the kernel. Of tensor and smem the smaller is hidden: the
  // combination takes the larger.
  Seconds tensor;
  Seconds smem;
  Seconds l2;
  Seconds hbm;
  Seconds chain;
  // Nothing hides these.
  Seconds launch;
  Seconds waves;
  Seconds split;          // Fix-up of partial sums.
  Seconds split_traffic;  // Their way through L2.
  Seconds droop;

  Seconds time;  // All put together.
  // Of the choice.
  GemmTile tile = {};
  int split_count = 1;
  Bytes hbm_bytes;
  Bytes l2_bytes;
};

inline constexpr double kMinBlocks = 4;

// Preconditions: a family that KernelStack::Create accepts, all numbers of
// machine and problem positive.
TiledGemmTimes TimeTiledGemm(const TiledGemmFamily& family,
                             const GemmMachine& machine,
                             const GemmProblem& problem);

}  // namespace mansard::model
