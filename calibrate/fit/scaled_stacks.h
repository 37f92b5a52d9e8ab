// Kernel stacks of devices as if they had never been measured: what a fit found
// on one, scaled to another by the datasheets of both.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/derived_stack.h"

namespace mansard::calibrate {

// The device that the others are scaled from, and which of its stacks: the one
// whose bf16 products left the least loss on its own fitted rows.
inline constexpr char kScaleSource[] = "h100-sxm";
inline constexpr char kScaleSourceStack[] = "trtllm-1.3.0rc20";
inline constexpr char kScaledStack[] = "scaled-h100";

// Plain bf16 products of `source`'s stack on the device: launch, wave and split
// costs stay as they are; the feed from L2 goes with multiprocessors times
// clock, and by the root of what the tensor rate grew beyond that; a
// multiprocessor's share of device memory with the memory's rate; its feed from
// shared memory with its tensor rate (performance model's design §1.11). Empty
// for other vendors' devices, for those that do not count multiprocessors or
// have no clock, and for the source itself. Tier transferred.
std::optional<model::BoundFamily> ScaledGemm(
    const model::HardwareProfile& source, const model::HardwareProfile& device);

}  // namespace mansard::calibrate
