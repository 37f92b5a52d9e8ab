#include "calibrate/import/kernels.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibrate/measure/statistics.h"

namespace mansard::calibrate {
namespace {

using Count = std::optional<double> KernelCounts::*;
constexpr Count kCounts[] = {
    &KernelCounts::seconds,      &KernelCounts::tensor_flops,
    &KernelCounts::vector_flops, &KernelCounts::hbm_bytes,
    &KernelCounts::l2_bytes,     &KernelCounts::l1_bytes,
};

// Of those that have the count; empty where none has.
std::optional<double> MedianOf(const std::vector<MeasuredKernel>& launches,
                               Count count) {
  std::vector<double> values;
  for (const MeasuredKernel& launch : launches) {
    const std::optional<double>& value = launch.counts.*count;
    if (value.has_value()) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return Median(std::move(values));
}

double Total(const MeasuredKernel& kernel) {
  return *kernel.counts.seconds * static_cast<double>(kernel.launches);
}

}  // namespace

std::optional<double> KernelCounts::flops() const {
  if (!tensor_flops.has_value() && !vector_flops.has_value()) {
    return std::nullopt;
  }
  return tensor_flops.value_or(0) + vector_flops.value_or(0);
}

absl::StatusOr<ProfiledKernels> GroupLaunches(
    std::vector<MeasuredKernel> launches, std::vector<std::string> notes) {
  std::map<std::tuple<std::string, std::string, std::string>,
           std::vector<MeasuredKernel>>
      groups;
  size_t timeless = 0;
  for (MeasuredKernel& launch : launches) {
    if (launch.counts.seconds.value_or(0) <= 0) {
      ++timeless;
      continue;
    }
    auto key = std::make_tuple(launch.name, launch.grid, launch.block);
    groups[std::move(key)].push_back(std::move(launch));
  }
  if (groups.empty()) {
    return absl::InvalidArgumentError(
        timeless == 0 ? "has no launch of a kernel"
                      : absl::StrCat("has no time of its ", timeless,
                                     timeless == 1 ? " launch" : " launches"));
  }
  if (timeless > 0) {
    notes.push_back(absl::StrCat(timeless,
                                 timeless == 1 ? " launch" : " launches",
                                 " left out: no time"));
  }
  ProfiledKernels profiled{{}, std::move(notes)};
  for (auto& [key, members] : groups) {
    MeasuredKernel kernel = members.front();
    kernel.launches = members.size();
    for (const Count count : kCounts) {
      kernel.counts.*count = MedianOf(members, count);
    }
    profiled.kernels.push_back(std::move(kernel));
  }
  std::stable_sort(profiled.kernels.begin(), profiled.kernels.end(),
                   [](const MeasuredKernel& a, const MeasuredKernel& b) {
                     return Total(a) > Total(b);
                   });
  return profiled;
}

}  // namespace mansard::calibrate
