// "expert-gemm": the GEMMs of all experts of a layer in one kernel, [rows of
// the expert, k] x [k, n] each, as the fastest of a few output tiles (rows x
// columns) that hold rows of one expert. With G distinct experts, R rows among
// them, S multiprocessors, F tensor rate, B device memory rate, a and w the
// bytes of an element of input and weights:
//
//   depth  = ceil(k / e) e                  e = k_block_bytes / a elements
//   down   = even: G ceil(R / G / rows)     else max(G, R / rows + G / 2):
//            every expert has a tile, and leaves half of its last one empty
//   tiles  = down ceil(n / columns)         waves = ceil(tiles / S)
//   tensor = waves * 2 rows columns depth / (peak_fraction F / S)
//   smem   = waves * (max(rows, columns, 64) / 64) * (64 + min(rows, columns))
//            * depth a / sm_smem_feed
//   l2     = tiles (rows a + columns w) depth / l2_feed
//   hbm    = cold / min(hbm_fraction B, f sm_hbm_feed)
//            + hot / min(l2_feed, 2 f sm_hbm_feed)
//            f = min(G ceil(n / columns), S): tiles of other rows read the same
//            weights, from L2
//   chain  = depth / e * block_latency * ceil(tiles / (S resident))
//            resident: tiles whose four stages fit into shared memory, 1 to 4
//   time   = launch + sort R / (R + kSortedRows) + waves wave
//            + ((max(tensor, smem))^4 + l2^4 + hbm^4 + chain^4)^(1/4)
//
// hbm's bytes are weights and activations once each. They are hot where the
// caller says that L2 has kept what the last run left (`warm`), and warm_share
// of it holds the weights: all of them, or less from there to twice as many.
// `launch` is half of what the layer costs before all work (routing, sorting,
// permutation), and `sort` of what many rows add to that: up and down together
// give the whole. Source: Mansard design, performance model §1.1 to §1.3; sort
// by comparison with measured layers. Valid: n, k >= 64; parameters are fitted
// on 1 to 65536 tokens, 1 to 512 experts a rank.
#pragma once

#include "model/base/units.h"
#include "model/hardware/kernel_families.h"
#include "model/kernels/tiled_gemm.h"

namespace mansard::model {

// Bytes are of one element, with its share of the scales.
struct ExpertGemmProblem {
  double rows = 1;     // Token-expert pairs; may be fractional.
  double experts = 1;  // Distinct, as expected; 0 < experts <= rows.
  bool even = false;   // Each of them sees as many rows.
  double n = 1;
  double k = 1;
  double input_bytes = 2;
  double weight_bytes = 2;
  Bytes activations;  // In and out.
  bool warm = false;  // L2 holds what the last run left.
  Bytes l2_capacity;  // Where warm.
};

struct ExpertGemmTimes {
  // Overlap inside the kernel. Of tensor and smem the smaller is hidden: the
  // combination takes the larger.
  Seconds tensor;
  Seconds smem;
  Seconds l2;
  Seconds hbm;
  Seconds chain;
  // Nothing hides these.
  Seconds launch;  // With the sorting.
  Seconds waves;

  Seconds time;  // All put together.
  GemmTile tile = {};
  Bytes l2_bytes;
  double cold_share = 1;  // Of hbm's bytes: what L2 does not hold.
};

// Half of `sort` is reached here: small batches are sorted within one block.
inline constexpr double kSortedRows = 64;

// Preconditions: a family that KernelStack::Create accepts, all numbers of
// machine and problem positive.
ExpertGemmTimes TimeExpertGemm(const ExpertGemmFamily& family,
                               const GemmMachine& machine,
                               const ExpertGemmProblem& problem);

}  // namespace mansard::model
