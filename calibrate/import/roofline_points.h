// What a roofline shows: levels, points and roofs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/kernel_models.h"
#include "calibrate/import/kernels.h"
#include "model/hardware/device.h"

namespace mansard::calibrate {

// Whose bytes an intensity counts; colours of its points on a light and on a
// dark ground.
struct Level {
  const char* name;
  std::optional<double> KernelCounts::*bytes;
  const char* light;
  const char* dark;
};
inline constexpr Level kLevels[] = {
    {"hbm", &KernelCounts::hbm_bytes, "#c2571a", "#f09a5e"},
    {"l2", &KernelCounts::l2_bytes, "#2e8b57", "#67c98f"},
    {"l1", &KernelCounts::l1_bytes, "#0e7c86", "#4cc4cf"},
};

struct Point {
  double intensity = 0;  // FLOP per byte.
  double rate = 0;       // FLOP/s.
};
// Empty where it cannot be drawn.
std::optional<Point> PointOf(const KernelCounts& counts, const Level& level);
// Of the measured points any.
bool IsDrawn(const JudgedKernel& kernel);

struct Roof {
  std::string name;
  double rate = 0;  // FLOP/s.
};
// Of the datasheet: tensor units in the formats that kernels use, one for
// formats of one rate, and vector units.
std::vector<Roof> RatesOf(const std::vector<JudgedKernel>& kernels,
                          const model::Device& device);
// Of the datasheet, in bytes per second; empty where no source gives it.
std::optional<double> BandwidthOf(const Level& level,
                                  const model::Device& device);

}  // namespace mansard::calibrate
