// Bounds of histograms' buckets.
#pragma once

#include <vector>

namespace mansard::server {

// 10 us to 10 s; RPCs and model steps alike.
inline std::vector<double> SecondsBuckets() {
  return {1e-5,   2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
          2.5e-2, 5e-2,   0.1,  0.25, 0.5,    1,    2.5,  5,      10};
}

// 1 to 1024 requests.
inline std::vector<double> RequestBuckets() {
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
}

// 0.5 to 2, as far apart below 1 as above.
inline std::vector<double> RatioBuckets() {
  return {0.5,  0.625, 0.714, 0.8,  0.87, 0.909, 0.952, 1,
          1.05, 1.1,   1.15,  1.25, 1.4,  1.6,   2};
}

}  // namespace mansard::server
