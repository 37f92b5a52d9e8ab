// What NVML says of a device while it is measured: clocks, power, heat, and
// what holds the clock down. The library belongs to the driver; its header is
// not needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "calibrate/cuda/shared_library.h"

namespace mansard::calibrate {

// Empty: the device does not say.
struct GpuState {
  std::optional<double> clock_hertz;
  std::optional<double> memory_clock_hertz;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<int> celsius;
  std::optional<uint64_t> clock_limits;  // A set of bits; see LimitNames.
  std::optional<int> utilization_percent;
  std::optional<int> processes;  // That compute on it.
  std::optional<bool> ecc;
  std::optional<bool> mig;
  std::optional<bool> persistence;
};

// "power cap, thermal slowdown (hardware)"; bits that NVML defines later by
// their number. Idle and what somebody has set are no such names.
std::string LimitNames(uint64_t clock_limits);
// Not empty where a sample taken in this state tells nothing of the device: a
// slowdown by the hardware or by heat. A power cap is the device's own way, and
// no disturbance.
std::string DisturbanceOf(const GpuState& state);
// "1755 MHz, memory 2619 MHz, 512 of 700 W, 61 C, limited by power cap".
std::string StateText(const GpuState& state);
// Not empty where somebody else uses the device, before anything of ours runs.
std::string ContentionOf(const GpuState& state);

// Reads the state of one device.
using ReadState = std::function<GpuState()>;

struct Nvml {
  std::string driver;  // Version.
  ReadState read;      // Holds the library; may outlive this.
};

// Of the device at a PCI address, "0000:1B:00.0". UNIMPLEMENTED: a function is
// missing; FAILED_PRECONDITION: NVML says what is wrong.
absl::StatusOr<Nvml> OpenNvml(const SharedLibrary& library,
                              const std::string& pci_address);

}  // namespace mansard::calibrate
