#include "model/estimate/tile_choice.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/estimate/step_time.h"
#include "model/lower/lower.h"
#include "model/price/tiled_families.h"

namespace mansard::model {
namespace {

struct TimedTile {
  GemmTile tile;
  Seconds time;

  int64_t area() const {
    return static_cast<int64_t>(tile.rows) * tile.columns;
  }
};

// Of all families that serve products of the pass.
std::set<std::pair<int, int>> TilesOf(const Target& target,
                                      const ForwardPass& pass) {
  std::set<std::pair<int, int>> tiles;
  for (const Op& op : Lower(target.graph(), pass, target.layout(),
                            target.formats(), target.fusion())) {
    const auto* shape = std::get_if<GemmShape>(&op.shape);
    if (shape == nullptr) continue;
    const TiledGemmFamily* family =
        TiledFamilyFor(*shape, target.view().stack.spec());
    if (family == nullptr) continue;
    for (const GemmTile& tile : family->tiles) {
      tiles.insert({tile.rows, tile.columns});
    }
  }
  return tiles;
}

// Fastest first.
std::vector<TimedTile> TimesOf(const Target& target, const ForwardPass& pass) {
  std::vector<TimedTile> timed;
  StepTimer timer;
  for (const auto& [rows, columns] : TilesOf(target, pass)) {
    TargetSpec spec = target.spec();
    spec.gemm_tile = GemmTile{rows, columns};
    Violations none;
    const absl::StatusOr<Target> forced = Target::Create(spec, none);
    if (!forced.ok()) continue;
    timed.push_back({*spec.gemm_tile, timer.Estimate(*forced, pass)});
  }
  std::stable_sort(
      timed.begin(), timed.end(),
      [](const TimedTile& a, const TimedTile& b) { return a.time < b.time; });
  return timed;
}

}  // namespace

TileChoice RankTiles(const Target& target, const ForwardPass& pass) {
  TileChoice choice;
  const std::vector<TimedTile> timed = TimesOf(target, pass);
  if (timed.size() < 2) {
    choice.reason =
        timed.empty() ? "the kernel stack knows no tiles of the pass's products"
                      : "the kernel stack's products have one tile";
    return choice;
  }
  const int64_t best = timed.front().area();
  bool smaller = false, larger = false;
  for (size_t i = 0; i < timed.size(); ++i) {
    const bool half = timed[i].area() * 2 <= best && !smaller;
    const bool twice = timed[i].area() >= 2 * best && !larger;
    smaller |= half;
    larger |= twice;
    if (i < 2 || half || twice) choice.tiles.push_back(timed[i].tile);
  }
  return choice;
}

}  // namespace mansard::model
