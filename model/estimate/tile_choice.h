// Which tiles of products a step would do best with, if all had the same.
// Internal to model/estimate.
#pragma once

#include <string>
#include <vector>

#include "model/estimate/estimate.h"

namespace mansard::model {

struct TileChoice {
  // The fastest tile, the second, and the fastest of at most half and of at
  // least twice its area, where they are others. Each is of a family that
  // serves a product of the pass.
  std::vector<GemmTile> tiles;
  std::string reason;  // Where there are none.
};

// Times the step with each tile.
TileChoice RankTiles(const Target& target, const ForwardPass& pass);

}  // namespace mansard::model
