// Kernels that a profiler measured: time, work and bytes by level.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// What was not collected is empty: unknown, not nothing.
struct KernelCounts {
  std::optional<double> seconds = std::nullopt;
  // Of tensor and of vector units; a multiply-add is two.
  std::optional<double> tensor_flops = std::nullopt;
  std::optional<double> vector_flops = std::nullopt;
  std::optional<double> hbm_bytes = std::nullopt;  // Or other device memory.
  std::optional<double> l2_bytes = std::nullopt;   // Between it and the units.
  std::optional<double> l1_bytes = std::nullopt;

  // Of both kinds; empty where neither is known.
  std::optional<double> flops() const;
};

// Launches of one kernel with one grid, as medians.
struct MeasuredKernel {
  std::string name;
  std::string grid = "";
  std::string block = "";
  size_t launches = 1;
  std::string tensor_format = "";  // "bf16"; empty: none, or unknown.
  KernelCounts counts;
};

struct ProfiledKernels {
  std::vector<MeasuredKernel> kernels;  // Longest in total first.
  std::vector<std::string> notes;
};

// Of launches with times; the others are dropped and noted. Error:
// INVALID_ARGUMENT where no launch has a time.
absl::StatusOr<ProfiledKernels> GroupLaunches(
    std::vector<MeasuredKernel> launches, std::vector<std::string> notes);

// `ncu --csv`: the raw page (a row of units below the header) or one line a
// metric; lines that are no CSV (of the tool, of the program) are passed over.
// Metrics may be sums, rates per second or per cycle, as its roofline sections
// collect them. Numbers may be of any locale. Work of tensor units: each metric
// once, not also its parts. Bytes of L2: what the multiprocessors read of it,
// else all of its traffic. Bytes of L1 only of kernels without tensor work,
// whose operands may go past it. Error: INVALID_ARGUMENT for no header, a row
// that is cut off, a unit that is not known, devices of several kinds.
absl::StatusOr<ProfiledKernels> ReadNsightCompute(absl::string_view text);

// rocprof-compute's pmc_perf.csv, of MI200 and MI300. Work: 64 lanes an
// instruction, 512 operations a matrix instruction's count.
absl::StatusOr<ProfiledKernels> ReadRocprofCompute(absl::string_view text);

}  // namespace mansard::calibrate
