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
#include "model/hardware/fitted_ranges.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

// How far a number can be trusted; smaller is weaker.
enum class Tier { kSpec, kTransferred, kCalibrated };
inline constexpr int kTierCount = 3;
absl::string_view TierName(Tier tier);

// What every family says of itself.
struct FamilyFacts {
  std::string id;
  Tier tier = Tier::kSpec;
  double sigma = 0;  // Standard deviation of ln(measured / predicted).
  Provenance provenance;
  // By parameter name, where it differs from the family's.
  std::map<std::string, Provenance> parameter_provenance = {};
  // p10 and p90 of a fitted value, by parameter name.
  std::map<std::string, std::pair<double, double>> parameter_intervals = {};
  // Of the rows that it was fitted on; without any, no op is extrapolated.
  FittedRanges fitted_ranges = {};
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
  // Of the weights' way from memory, the share that nothing overlaps: 1 where
  // the library copies them into tiles before it multiplies, as BLAS on a CPU.
  double copied_weights = 0;
  // The kernel computes so many rows at once; fewer take as long. 0: any
  // number.
  double whole_rows = 0;
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

// "protocol-lines": the fastest of a few protocols; see
// model/kernels/protocol_lines.h. Rates are per rank, of the bytes that it puts
// on the wire.
struct CollectiveFamily {
  // The first three run on a ring, the others where they serve the collective.
  enum class Protocol { kLl, kLl128, kSimple, kTree, kInSwitch };
  struct Line {
    Seconds alpha;
    Seconds step;
    BytesPerSecond bus;
    Protocol protocol = Protocol::kSimple;
  };
  FamilyFacts facts;
  std::vector<Line> lines;
  // Of the rank's own buffer, the share that counts as bytes on the wire too:
  // copies in its memory that nothing hides.
  double own_share = 0;
  // Ranks in each other's way: rates fall with (ranks - 1)^-crowding.
  double crowding = 0;
  // The fewest ranks that the switch sums for; 0: any number.
  double in_switch_ranks = 0;
};

// {head size, fraction of the tensor rate}, by head size.
using HeadFractions = std::vector<std::pair<int, double>>;

// "split-kv": attention of few query rows over a long cache, whose positions
// are split between multiprocessors; see model/kernels/split_decode.h.
struct SplitDecodeFamily {
  FamilyFacts facts;
  Seconds launch;         // With appending to the cache and metadata.
  Seconds start;          // Of one part of the cache, head size 128.
  double head_share = 0;  // Of `start`, what grows with the head size.
  // More of one part where a window or chunk hides positions: masks at both
  // edges.
  Seconds window_start;
  Seconds block_latency;  // Of a block of positions in it.
  Seconds combine;        // Once where the cache is split.
  Seconds combine_part;   // Of each part that is combined.
  Seconds query;          // Of one element of a query vector.
  double peak_fraction;   // Of the tensor rate.
  double hbm_fraction;
  BytesPerSecond l2_feed;
  BytesPerSecond part_feed;  // What one part streams of the cache.
  double wide_feed = 1;      // Of that, with heads wider than 128.
  double occupancy;          // Parts that run on one multiprocessor.
  double block_tokens;       // Positions of a block.
  double head_rows;          // Query rows that share a read of the cache.
  // Query heads of a KV head beyond which each reads the cache for itself; 0:
  // none.
  double group_limit;
  // The same of layers with a window or chunk.
  double window_group_limit = 0;
  // Of `launch` and `start`, those of the kernel that runs where no two query
  // heads share a KV head's cache.
  double alone_launch = 1;
  double alone_start = 1;
  // Share of L2 in which a cache that is read over and over stays. Only where
  // a measurement repeats itself: HardwareView::warm_cache.
  double warm_share;
  std::vector<int> splits;  // Ascending from 1.
};

// A tile of an attention kernel for heads up to a size.
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
  HeadFractions peak_fractions;  // On the positions that tiles see.
  double solo;           // Of the shorter of critical path and work, exposed.
  double window_blocks;  // More blocks a tile within a window, for its edges.
  double hbm_fraction;
  // Kernels that append keys and values to the cache: times that they count
  // as memory traffic, a token of full width, and elements of its keys from
  // which on it is that.
  double append_passes;
  Seconds append_token;
  double append_elements;
  double droop;
  Seconds droop_time;
  double packs_heads;  // 1: query heads of a KV head may share a tile. 0: not.
  double splits_positions;  // 1: idle multiprocessors take part of a tile's
                            // positions. 0: not.
  // 1: in a pass with prompts, decodes are tiles of this kernel, a row each, in
  // place of a kernel of their own. 0: not.
  double decodes_as_prompts;
  // By head size; of several for one size, the faster serves.
  std::vector<HeadTile> head_tiles;
};

// "expert-gemm": the GEMMs of all experts in one kernel; see
// model/kernels/expert_gemm.h.
struct ExpertGemmFamily {
  FamilyFacts facts;
  Seconds launch;  // Half of what a layer of experts takes before all work.
  Seconds sort;    // And of what sorting many rows by expert adds.
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
// 2 (n - 1) / n B in two, or (n + 1) / n B where the switch adds. The faster of
// those that serve the buffer, as libraries take their own kernel wherever they
// can; the "protocol-lines" of the tier where neither does. See
// model/kernels/protocol_lines.h.
struct DirectAllReduceFamily {
  // Buffers that are served, by ranks: up to 2, 4 and 8; beyond, none.
  static constexpr std::array<int, 3> kRanks = {2, 4, 8};
  FamilyFacts facts;
  Seconds one_shot_alpha;
  Seconds one_shot_step;
  BytesPerSecond one_shot_bus;
  Seconds two_shot_alpha;
  Seconds two_shot_step;
  BytesPerSecond two_shot_bus;
  // 1: the second kernel has the switch add (multimem). 0: the ranks do.
  double two_shot_in_switch = 0;
  std::array<Bytes, 3> one_shot_limit = {};  // The largest; 0: none.
  std::array<Bytes, 3> two_shot_start = {};  // The smallest.
  std::array<Bytes, 3> two_shot_limit = {};
};

// "expert-exchange": tokens on their way to their experts or back; see
// model/kernels/expert_exchange.h.
struct ExpertExchangeFamily {
  FamilyFacts facts;
  Seconds alpha;          // Inside a node.
  Seconds network_alpha;  // Besides, across nodes.
  Seconds network_step;   // Besides, for each doubling of the nodes.
  // Of one multiprocessor: a token, a copy of it, and their bytes.
  Seconds token;
  Seconds row;
  BytesPerSecond sm_feed;
  BytesPerSecond token_feed;  // Of one copy from end to end, once.
  BytesPerSecond bus;         // Of one rank, inside the node.
  BytesPerSecond network;     // Of one rank, to one other node.
  double crowding;            // It falls with (nodes - 1)^-crowding.
  // 1: one copy to each rank that holds some of a token's experts, over the
  // network one to each node; 0: one to each expert.
  double per_rank;
  // That take part, where the shape does not say; 0: one for each expert.
  double multiprocessors;
};

using KernelFamily =
    std::variant<GemmFamily, DecodeAttentionFamily, PrefillAttentionFamily,
                 ElementwiseFamily, CollectiveFamily, TiledGemmFamily,
                 SplitDecodeFamily, TiledPrefillFamily, ExpertGemmFamily,
                 DirectAllReduceFamily, ExpertExchangeFamily>;
const FamilyFacts& FactsOf(const KernelFamily& family);

}  // namespace mansard::model
