// Kernel families: what fitted formulas know of one kind of kernel on one
// device. The formulas of the first five are in model/price, those of the
// others in model/kernels; names, units and ranges of the parameters are in
// family_parameters.h.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

// How far a number can be trusted; smaller is weaker.
enum class Tier { kSpec, kTransferred, kCalibrated };
absl::string_view TierName(Tier tier);

// What every family says of itself.
struct FamilyFacts {
  std::string id;
  Tier tier = Tier::kSpec;
  double sigma = 0;  // Standard deviation of ln(measured / predicted).
  Provenance provenance;
  // By parameter name, where it differs from the family's.
  std::map<std::string, Provenance> parameter_provenance = {};
};

// "roofline-gemm".
struct GemmFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds wave;          // Prologue and epilogue, once a kernel.
  double peak_fraction;  // Of the tensor rate.
  double hbm_fraction;
  BytesPerSecond l2_feed;  // Effective: may exceed the L2's physical rate.
  double tile_rows;        // What one weight tile serves.
  double tile_columns;
};

// An output tile of a GEMM kernel.
struct GemmTile {
  int rows = 0;
  int columns = 0;
};

// "tiled-gemm": see model/kernels/tiled_gemm.h.
struct TiledGemmFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds wave;           // Prologue and epilogue, once a wave.
  Seconds split_cost;     // Once where k is split.
  Seconds block_latency;  // A block of k where nothing overlaps.
  double peak_fraction;   // Of the tensor rate, before power droops.
  double droop;           // More compute time, at most, for long kernels.
  Seconds droop_time;     // Where half of that is reached.
  double hbm_fraction;
  BytesPerSecond l2_feed;       // Effective: may exceed the L2's physical rate.
  BytesPerSecond sm_hbm_feed;   // Of one multiprocessor.
  BytesPerSecond sm_smem_feed;  // Of one multiprocessor.
  double k_block_bytes;         // Of a row of the input, at a time.
  std::vector<GemmTile> tiles;
  std::vector<int> splits;  // Of k; ascending from 1.
};

// "roofline-attention-decode".
struct DecodeAttentionFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds combine;  // Split-KV reduction.
  double peak_fraction;
  double hbm_fraction;
  BytesPerSecond l2_feed;
};

// "roofline-attention-prefill".
struct PrefillAttentionFamily {
  FamilyFacts facts;
  Seconds launch;
  // {head size, fraction of the tensor rate on causal work}, by head size.
  std::vector<std::pair<int, double>> peak_fractions;
  double hbm_fraction;

  // Of the smallest listed head size that is not below `head_size`; beyond the
  // last, the last.
  double PeakFraction(int head_size) const;
};

// "roofline-elementwise": norms, RoPE, activation, residual, embedding,
// quantise, sampling.
struct ElementwiseFamily {
  FamilyFacts facts;
  Seconds launch;
  double hbm_fraction;
  BytesPerSecond l2_feed;
};

// "protocol-lines": the fastest of a few protocols. The bus bandwidth is per
// rank, as in nccl-tests.
struct CollectiveFamily {
  enum class Protocol { kLl, kLl128, kSimple };
  struct Line {
    Seconds alpha;
    Seconds step;
    BytesPerSecond bus;
    Protocol protocol = Protocol::kSimple;
  };
  FamilyFacts facts;
  std::vector<Line> lines;
};

// {head size, fraction of the tensor rate}, by head size.
using HeadFractions = std::vector<std::pair<int, double>>;

// "split-kv": attention of few query rows over a long cache, whose positions
// are split between multiprocessors; see model/kernels/split_decode.h.
struct SplitDecodeFamily {
  FamilyFacts facts;
  Seconds launch;         // With appending to the cache and metadata.
  Seconds start;          // Of one part of the cache, head size 128.
  Seconds block_latency;  // Of a block of positions in it.
  Seconds combine;        // Once where the cache is split.
  Seconds query;          // Of one element of a query vector.
  double peak_fraction;   // Of the tensor rate.
  double hbm_fraction;
  BytesPerSecond l2_feed;
  BytesPerSecond part_feed;  // What one part streams of the cache.
  double occupancy;          // Parts that run on one multiprocessor.
  double block_tokens;       // Positions of a block.
  double head_rows;          // Query rows that share a read of the cache.
  // Query heads of a KV head beyond which each reads the cache for itself; 0:
  // none.
  double group_limit;
  // Share of L2 in which a cache that is read over and over stays. Only where
  // a measurement repeats itself: HardwareView::warm_cache.
  double warm_share;
  std::vector<int> splits;  // Ascending from 1.
};

// Tiles of an attention kernel for heads up to a size.
struct HeadTile {
  int head_size = 0;      // The largest it serves.
  int rows = 0;           // Queries.
  int columns = 0;        // Positions.
  int local_columns = 0;  // The same within a window.
};

// "tiled-prefill": see model/kernels/tiled_prefill.h.
struct TiledPrefillFamily {
  FamilyFacts facts;
  Seconds launch;
  Seconds start;                 // Of one tile of queries.
  HeadFractions peak_fractions;  // On the positions that are seen.
  double solo;           // Of the shorter of critical path and work, exposed.
  double wave;           // Of the last wave's idle share, exposed.
  double mask_blocks;    // More blocks a tile, for the causal edge.
  double window_blocks;  // And for a window's.
  double hbm_fraction;
  double droop;
  Seconds droop_time;
  double packs_heads;  // 1: query heads of a KV head may share a tile. 0: not.
  std::vector<HeadTile> head_tiles;  // By head size.
};

// "expert-gemm": the GEMMs of all experts in one kernel; see
// model/kernels/expert_gemm.h.
struct ExpertGemmFamily {
  FamilyFacts facts;
  Seconds launch;  // Half of what a layer of experts takes before all work.
  Seconds wave;
  Seconds block_latency;
  double peak_fraction;
  double hbm_fraction;
  BytesPerSecond l2_feed;
  BytesPerSecond sm_hbm_feed;
  BytesPerSecond sm_smem_feed;
  double k_block_bytes;
  double warm_share;            // As of SplitDecodeFamily.
  std::vector<GemmTile> tiles;  // Rows are of one expert.
};

// "direct-all-reduce": ranks of one node read each other's buffers. One shot:
// every rank sums all of it; two shots: its part, and then gathers. Times are
// alpha + (n - 1) step + wire bytes / bus, wire bytes (n - 1) B in one shot and
// 2 (n - 1) / n B in two. The faster serves buffers up to `limit`; beyond, and
// where it is faster, the "protocol-lines" of the tier do.
struct DirectAllReduceFamily {
  FamilyFacts facts;
  Seconds one_shot_alpha;
  Seconds one_shot_step;
  BytesPerSecond one_shot_bus;
  Seconds two_shot_alpha;
  Seconds two_shot_step;
  BytesPerSecond two_shot_bus;
  Bytes limit;
};

// "expert-exchange": tokens on their way to their experts or back; see
// model/kernels/expert_exchange.h.
struct ExpertExchangeFamily {
  // By nodes that take part, ascending; beyond the last, the last.
  struct Reach {
    int nodes = 1;
    Seconds alpha;
    BytesPerSecond bus;  // Of one rank.
  };
  FamilyFacts facts;
  Seconds row;  // Of one copy of a token.
  // 1: one copy to each rank that holds some of a token's experts; 0: one to
  // each expert.
  double per_rank;
  std::vector<Reach> reaches;
};

using KernelFamily =
    std::variant<GemmFamily, DecodeAttentionFamily, PrefillAttentionFamily,
                 ElementwiseFamily, CollectiveFamily, TiledGemmFamily,
                 SplitDecodeFamily, TiledPrefillFamily, ExpertGemmFamily,
                 DirectAllReduceFamily, ExpertExchangeFamily>;
const FamilyFacts& FactsOf(const KernelFamily& family);

}  // namespace mansard::model
