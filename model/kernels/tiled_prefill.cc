#include "model/kernels/tiled_prefill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace mansard::model {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Sum over i = 0 .. n - 1 of floor((a i + b) / m), a, b >= 0, in the steps of
// Euclid's algorithm: what is left after the whole parts counts lattice points
// below a line, and those are counted along the other axis.
int64_t FloorSum(int64_t n, int64_t m, int64_t a, int64_t b) {
  int64_t sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const int64_t top = a * n + b;
    if (top < m) break;
    n = top / m;
    b = top % m;
    std::swap(a, m);
  }
  return sum;
}

// Sequences of one length within a problem.
struct Run {
  double sequences = 0;
  int64_t new_tokens = 0;
  int64_t prior_tokens = 0;
};
using Runs = std::array<Run, 3>;

// What a chunked mask makes of the new tokens: the rest of the chunk that they
// begin in, whole chunks, and the beginning of one. Without one: themselves.
Runs RunsOf(const PrefillProblem& problem) {
  const double all = static_cast<double>(problem.sequences);
  if (problem.chunk == 0 || !problem.causal) {
    return {Run{all, problem.new_tokens, problem.prior_tokens}};
  }
  const int64_t chunk = problem.chunk;
  const int64_t begun = problem.prior_tokens % chunk;
  const int64_t first = std::min(problem.new_tokens, chunk - begun);
  const int64_t left = problem.new_tokens - first;
  return {Run{all, first, begun},
          Run{all * static_cast<double>(left / chunk), chunk, 0},
          Run{left % chunk == 0 ? 0 : all, left % chunk, 0}};
}

// One problem on one machine; all of it that no tile changes is computed once.
class Search {
 public:
  Search(const TiledPrefillFamily& family, const PrefillMachine& machine,
         const PrefillProblem& problem)
      : family_(family),
        problem_(problem),
        runs_(RunsOf(problem)),
        several_runs_(runs_[1].sequences + runs_[2].sequences > 0),
        windowed_(problem.causal && problem.window > 0 &&
                  problem.window < problem.prior_tokens + problem.new_tokens),
        multiprocessors_(machine.multiprocessors),
        start_(family.start.value()),
        seconds_per_cell_(
            2 * static_cast<double>(problem.key_size + problem.value_size) *
            machine.multiprocessors /
            (Fraction(family.peak_fractions, problem.key_size) *
             machine.tensor.value())) {
    times_.launch = family.launch;
    times_.hbm = (problem.moved + family.append_passes * problem.appended) /
                 (family.hbm_fraction * machine.hbm);
    times_.append =
        problem.appended_tokens *
        std::min(1.0, problem.appended_elements / family.append_elements) *
        family.append_token;
  }

  TiledPrefillTimes Run() {
    const int size = TileHeadSize();
    const int64_t group = problem_.query_heads / problem_.kv_heads;
    for (const HeadTile& tile : family_.head_tiles) {
      if (tile.head_size != size) continue;
      Try(tile, 1);
      if (group > 1 && family_.packs_heads > 0) Try(tile, group);
    }
    return Result();
  }

 private:
  static double Fraction(const HeadFractions& fractions, int64_t head_size) {
    for (const auto& [listed, fraction] : fractions) {
      if (listed >= head_size) return fraction;
    }
    return fractions.back().second;
  }

  // The smallest listed that is not below the problem's, else the last.
  int TileHeadSize() const {
    for (const HeadTile& tile : family_.head_tiles) {
      if (tile.head_size >= problem_.key_size) return tile.head_size;
    }
    return family_.head_tiles.back().head_size;
  }

  // Multiprocessors that work on one tile when there are `jobs`.
  double Sharers(double jobs) const {
    if (family_.splits_positions <= 0) return 1;
    return std::max(1.0, std::floor(multiprocessors_ / jobs));
  }

  // Of `blocks` of a tile, those that one of its multiprocessors walks over.
  static double Share(double blocks, double sharers) {
    return std::min(blocks, std::max(kMinSharedBlocks, blocks / sharers));
  }

  void Try(const HeadTile& tile, int64_t group) {
    const int64_t columns = windowed_ ? tile.local_columns : tile.columns;
    const double heads =
        static_cast<double>(problem_.query_heads) / static_cast<double>(group);
    double jobs = 0;
    double blocks = 0;
    double longest = 0;
    for (const auto& run : runs_) {
      if (run.sequences == 0) continue;
      const TileCount count =
          CountTiles(run.new_tokens, run.prior_tokens, problem_.window,
                     problem_.causal, group, tile.rows, columns);
      jobs += run.sequences * heads * count.tiles;
      blocks += run.sequences * heads * count.blocks;
      longest = std::max(longest, count.longest);
    }
    const double edges = windowed_ ? family_.window_blocks : 0;
    blocks += jobs * edges;
    longest += edges;
    const double block = static_cast<double>(tile.rows) *
                         static_cast<double>(columns) * seconds_per_cell_;
    const double sharers = Sharers(jobs);
    const bool whole_waves = sharers > 1 || !several_runs_;
    const double waves = whole_waves ? std::ceil(jobs / multiprocessors_)
                                     : jobs / multiprocessors_;
    const double work = waves * Share(blocks / jobs, sharers) * block;
    const double path = Share(longest, sharers) * block;
    const double starts = waves * start_;
    const bool balanced = work + starts >= path + start_;
    const double longer = balanced ? work + starts : path + start_;
    const double shorter = balanced ? path + start_ : work + starts;
    const double core = longer + family_.solo * shorter;
    if (found_ && core >= core_) return;
    found_ = true;
    core_ = core;
    times_.tensor = Seconds::Of(balanced ? work : 0);
    times_.chain = Seconds::Of(balanced ? 0 : path);
    times_.starts = Seconds::Of(balanced ? starts : start_);
    times_.tail = Seconds::Of(family_.solo * shorter);
    times_.tile = tile;
    times_.packed = group > 1;
  }

  TiledPrefillTimes Result() {
    const Seconds before =
        times_.launch + Seconds::Of(core_) + times_.hbm + times_.append;
    const double x = before / family_.droop_time;
    times_.droop = family_.droop * x / (1 + x) * before;
    times_.time = before + times_.droop;
    return times_;
  }

  const TiledPrefillFamily& family_;
  const PrefillProblem& problem_;
  const Runs runs_;
  const bool several_runs_;
  const bool windowed_;
  const double multiprocessors_;
  const double start_;
  const double seconds_per_cell_;  // Of a query row and a position.
  TiledPrefillTimes times_;
  double core_ = 0;
  bool found_ = false;
};

}  // namespace

TileCount CountTiles(int64_t new_tokens, int64_t prior_tokens, int64_t window,
                     bool causal, int64_t group, int64_t rows,
                     int64_t columns) {
  const int64_t tiles = CeilDivide(new_tokens * group, rows);
  const int64_t last = CeilDivide(prior_tokens + new_tokens, columns);
  TileCount count;
  count.tiles = static_cast<double>(tiles);
  count.longest = static_cast<double>(last);
  if (!causal) {
    count.blocks = static_cast<double>(tiles) * static_cast<double>(last);
    return count;
  }
  // In units of a query row, so that packed tiles may end within a token.
  const int64_t block = group * columns;
  const int64_t before = prior_tokens * group;
  const bool windowed = window > 0;
  const int64_t widest =
      windowed ? CeilDivide(rows + (window - 1) * group, block) : last;
  // The tiles before the last that see fewer blocks than a window's width.
  int64_t growing = tiles - 1;
  if (windowed) {
    const int64_t room = (widest - 1) * block - before;
    growing = std::clamp<int64_t>(room < 0 ? 0 : room / rows, 0, tiles - 1);
  }
  count.longest = static_cast<double>(std::min(last, widest));
  count.blocks =
      static_cast<double>(
          FloorSum(growing, block, rows, rows + before + block - 1)) +
      static_cast<double>(tiles - 1 - growing) * static_cast<double>(widest) +
      count.longest;
  return count;
}

TiledPrefillTimes TimeTiledPrefill(const TiledPrefillFamily& family,
                                   const PrefillMachine& machine,
                                   const PrefillProblem& problem) {
  return Search(family, machine, problem).Run();
}

}  // namespace mansard::model
