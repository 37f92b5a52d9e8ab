// Where draws at random meet.
#pragma once

#include <cmath>

namespace mansard::model {

// Places that get one draw at least, on average, of `draws` that each fall on
// one of `places` at random: R (1 - (1 - 1/R)^k).
inline double DistinctPlaces(double places, double draws) {
  return places * (1 - std::pow(1 - 1 / places, draws));
}

}  // namespace mansard::model
