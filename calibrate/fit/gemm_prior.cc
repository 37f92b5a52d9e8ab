#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "calibrate/fit/gemm_fit.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::GemmTile;
using model::Microseconds;
using model::Seconds;

// Constants of one generation's bf16 kernels, as the performance model's design
// §1.2 fitted them. A pair of Blackwell's multiprocessors shares its operands,
// so that each feeds twice as much as it reads.
struct Generation {
  const char* architecture;  // How the device's begins.
  double launch_us;
  double wave_us;
  double split_us;
  double block_latency_us;
  double peak_fraction;
  double droop;
  double droop_ms;
  double hbm_fraction;
  double l2_feed;    // Bytes per multiprocessor and clock.
  double hbm_share;  // A multiprocessor's feed, of its share of the memory's.
  double smem_feed;  // Bytes per multiprocessor and clock.
  bool wide_tiles;   // 96, 160, 192 and 224 columns too.
};
constexpr Generation kGenerations[] = {
    {"Ampere", .53, 2.91, 1.93, .260, .929, .07, 6.3, .870, 27.6, .78, 128,
     false},
    {"Ada", 1.41, .55, 1.83, .213, .72, .056, 1.05, .84, 62, 1.5, 128, false},
    {"Hopper", 1.70, .97, 2.62, .082, .875, .21, 2.33, .855, 70, 1.09, 128,
     true},
    // Graphics parts run the instructions of the generation before.
    {"Blackwell sm_120", 1.41, .55, 1.83, .213, .85, .06, 1.05, .87, 40, 1.2,
     128, true},
    {"Blackwell", 1.20, .82, 3.06, .069, .868, .257, 2.55, .851, 97, .9, 256,
     true},
};
constexpr double kTypicalClock = 1.7e9;

const Generation& GenerationOf(const model::DeviceSpec& spec) {
  for (const Generation& generation : kGenerations) {
    if (absl::StartsWith(spec.architecture, generation.architecture)) {
      return generation;
    }
  }
  return kGenerations[2];
}

std::vector<GemmTile> Tiles(bool wide) {
  std::vector<GemmTile> tiles;
  const auto add = [&](int rows, int columns) {
    tiles.push_back({rows, columns});
    if (rows != columns) tiles.push_back({columns, rows});
  };
  // Large first: they win most often, and the search then drops the others.
  add(128, 256);
  add(128, 128);
  add(64, 256);
  if (wide) {
    for (const int columns : {192, 224, 160, 96}) {
      add(128, columns);
      add(64, columns);
    }
  }
  add(64, 128);
  add(64, 64);
  add(128, 32);
  add(128, 16);
  add(64, 32);
  add(64, 16);
  add(64, 8);
  return tiles;
}

}  // namespace

model::TiledGemmFamily GemmPrior(const model::Device& device,
                                 model::Format compute) {
  const model::DeviceSpec& spec = device.spec();
  const Generation& generation = GenerationOf(spec);
  const model::GemmMachine machine = MachineOf(device, compute);
  const double clock =
      spec.clock_hertz.has_value() ? spec.clock_hertz->value : kTypicalClock;
  model::TiledGemmFamily family;
  family.launch = Microseconds(generation.launch_us);
  family.wave = Microseconds(generation.wave_us);
  family.split_cost = Microseconds(generation.split_us);
  family.block_latency = Microseconds(generation.block_latency_us);
  family.peak_fraction = generation.peak_fraction;
  family.droop = generation.droop;
  family.droop_time = Seconds::Of(generation.droop_ms * 1e-3);
  family.hbm_fraction = generation.hbm_fraction;
  family.l2_feed =
      BytesPerSecond::Of(generation.l2_feed * machine.multiprocessors * clock);
  family.sm_hbm_feed =
      generation.hbm_share / machine.multiprocessors * machine.hbm;
  family.sm_smem_feed = BytesPerSecond::Of(generation.smem_feed * clock);
  family.k_block_bytes = 128;
  family.tiles = Tiles(generation.wide_tiles);
  family.splits = {1, 2, 4, 8, 16, 32};
  return family;
}

}  // namespace mansard::calibrate
