#include "model/kernels/split_decode.h"

#include <algorithm>
#include <cmath>

#include "model/base/p_norm.h"

namespace mansard::model {
namespace {

constexpr double kUnitHead = 128;  // Head size that `start` is given for.
constexpr double kTensorRows = 64;
constexpr double kPartialBytes = 8;  // fp32, written and read.

// How the query heads of a KV head meet the cache.
struct Sharing {
  bool alone = false;
  double reads = 1;  // Of one sequence: heads that read their cache.
  double rows = 1;   // Query rows of one read.
};

Sharing SharingOf(const SplitDecodeFamily& family,
                  const SplitDecodeProblem& problem) {
  const double group = problem.query_heads / problem.kv_heads;
  const double limit = problem.windowed && family.window_group_limit > 0
                           ? family.window_group_limit
                           : family.group_limit;
  if (limit > 0 && group > limit) {
    return {true, problem.query_heads, problem.query_rows};
  }
  return {group <= 1, problem.kv_heads, group * problem.query_rows};
}

// Share of the cache that the last run left in L2.
double WarmShare(const SplitDecodeFamily& family,
                 const SplitDecodeMachine& machine, Bytes footprint) {
  const double kept = family.warm_share * machine.l2.value();
  if (!machine.warm || !(kept > 0)) return 0;
  return std::clamp(2 - footprint.value() / kept, 0.0, 1.0);
}

// What no split changes.
SplitDecodeTimes Unsplit(const SplitDecodeFamily& family,
                         const SplitDecodeMachine& machine,
                         const SplitDecodeProblem& problem,
                         const Sharing& sharing, double units, double outputs) {
  const Bytes read = problem.positions * problem.position_bytes;  // Of one.
  const Bytes cache = problem.sequences * problem.kv_heads * read;
  const double cold =
      1 - WarmShare(family, machine, cache + problem.activations);
  const double padding = std::min(kTensorRows, family.head_rows);
  const double padded_rows = std::ceil(sharing.rows / padding) * padding;

  SplitDecodeTimes times;
  times.l2_bytes = units * read + problem.activations;
  times.l2 = times.l2_bytes / family.l2_feed;
  times.hbm =
      (cache * cold + problem.other_hbm) / (machine.hbm * family.hbm_fraction);
  times.tensor = problem.sequences * sharing.reads * padded_rows *
                 problem.positions * problem.position_flops /
                 (machine.tensor * family.peak_fraction);
  times.launch = (sharing.alone ? family.alone_launch : 1) * family.launch;
  times.query = outputs * family.query;
  return times;
}

// What parts of any length begin with.
Seconds StartOf(const SplitDecodeFamily& family,
                const SplitDecodeProblem& problem, bool alone) {
  const double width =
      1 - family.head_share + family.head_share * problem.head_size / kUnitHead;
  Seconds start = (alone ? family.alone_start : 1) * width * family.start;
  if (problem.hides) start += family.window_start;
  return start;
}

}  // namespace

SplitDecodeTimes TimeSplitDecode(const SplitDecodeFamily& family,
                                 const SplitDecodeMachine& machine,
                                 const SplitDecodeProblem& problem) {
  const Sharing sharing = SharingOf(family, problem);
  const double units = problem.sequences * sharing.reads *
                       std::ceil(sharing.rows / family.head_rows);
  const double outputs = problem.sequences * problem.query_heads *
                         problem.query_rows * problem.value_size;
  SplitDecodeTimes times =
      Unsplit(family, machine, problem, sharing, units, outputs);

  const Seconds start = StartOf(family, problem, sharing.alone);
  const double width = problem.head_size > kUnitHead ? family.wide_feed : 1;
  const Seconds per_position =
      problem.position_bytes / (width * family.part_feed);
  const double at_once = machine.multiprocessors * family.occupancy;
  const double blocks = std::ceil(problem.positions / family.block_tokens);
  const Seconds partials = Bytes::Of(kPartialBytes * outputs) / family.l2_feed;
  const double others = FourthPower(times.l2.value()) +
                        FourthPower(times.hbm.value()) +
                        FourthPower(times.tensor.value());
  // More parts than blocks are tried too, idle ones in waves of their own: so a
  // longer cache is never faster.
  double last_blocks = 0;
  times.time = Seconds::Infinity();
  for (const int split : family.splits) {
    const double own_blocks = std::max(1.0, std::ceil(blocks / split));
    if (own_blocks == last_blocks) continue;
    last_blocks = own_blocks;
    const double own_positions =
        std::min(problem.positions, own_blocks * family.block_tokens);
    const Seconds part = start + own_positions * per_position +
                         own_blocks * family.block_latency;
    const Seconds chain = std::ceil(units * split / at_once) * part;
    const Seconds combine = split > 1
                                ? family.combine + split * family.combine_part
                                : Seconds::Zero();
    const Seconds traffic = split > 1 ? split * partials : Seconds::Zero();
    const Seconds time =
        Seconds::Of(FourthRoot(others + FourthPower(chain.value()))) + combine +
        traffic;
    if (!(time < times.time)) continue;
    times.time = time;
    times.chain = chain;
    times.combine = combine;
    times.combine_traffic = traffic;
    times.split = split;
  }
  times.time += times.launch + times.query;
  return times;
}

}  // namespace mansard::model
