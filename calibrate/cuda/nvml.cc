#include "calibrate/cuda/nvml.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

// Of NVML's interface, which is stable.
using Result = int;
using Handle = void*;
constexpr Result kSuccess = 0;
constexpr Result kInsufficientSize = 7;
constexpr int kClockOfMultiprocessors = 1;
constexpr int kClockOfMemory = 2;
constexpr int kSensorOfChip = 0;
constexpr unsigned kVersionBytes = 96;
struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct Limit {
  uint64_t bit;
  const char* name;
  bool disturbs;
};
constexpr Limit kLimits[] = {
    {0x4, "power cap", false},
    {0x8, "hardware slowdown", true},
    {0x10, "sync boost", false},
    {0x20, "thermal slowdown (software)", true},
    {0x40, "thermal slowdown (hardware)", true},
    {0x80, "power brake (hardware)", true},
};
// Idle, clocks that somebody has set, a display's.
constexpr uint64_t kNoLimits = 0x1 | 0x2 | 0x100;

std::string NamesOf(uint64_t bits, bool disturbing_alone) {
  std::vector<std::string> names;
  uint64_t rest = bits & ~kNoLimits;
  for (const Limit& limit : kLimits) {
    rest &= ~limit.bit;
    if ((bits & limit.bit) != 0 && (limit.disturbs || !disturbing_alone)) {
      names.push_back(limit.name);
    }
  }
  if (rest != 0 && !disturbing_alone) {
    names.push_back(absl::StrFormat("0x%x", rest));
  }
  return absl::StrJoin(names, ", ");
}

struct Functions {
  Result (*start)() = nullptr;
  const char* (*error_text)(Result) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  Result (*handle)(const char*, Handle*) = nullptr;
  Result (*clock)(Handle, int, unsigned*) = nullptr;
  Result (*power)(Handle, unsigned*) = nullptr;
  Result (*power_limit)(Handle, unsigned*) = nullptr;
  Result (*temperature)(Handle, int, unsigned*) = nullptr;
  Result (*clock_limits)(Handle, unsigned long long*) = nullptr;
  Result (*utilization)(Handle, Utilization*) = nullptr;
  Result (*processes)(Handle, unsigned*, void*) = nullptr;
  Result (*ecc)(Handle, unsigned*, unsigned*) = nullptr;
  Result (*mig)(Handle, unsigned*, unsigned*) = nullptr;
  Result (*persistence)(Handle, unsigned*) = nullptr;
};

// The last ones only where the library has them.
absl::StatusOr<Functions> FindFunctions(const SharedLibrary& library) {
  Functions found;
  RETURN_IF_ERROR(library.Find("nvmlInit_v2", found.start));
  RETURN_IF_ERROR(library.Find("nvmlErrorString", found.error_text));
  RETURN_IF_ERROR(
      library.Find("nvmlSystemGetDriverVersion", found.driver_version));
  RETURN_IF_ERROR(
      library.Find("nvmlDeviceGetHandleByPciBusId_v2", found.handle));
  RETURN_IF_ERROR(library.Find("nvmlDeviceGetClockInfo", found.clock));
  library.Find("nvmlDeviceGetPowerUsage", found.power).IgnoreError();
  library.Find("nvmlDeviceGetEnforcedPowerLimit", found.power_limit)
      .IgnoreError();
  library.Find("nvmlDeviceGetTemperature", found.temperature).IgnoreError();
  // Renamed in release 535 of the driver.
  if (!library
           .Find("nvmlDeviceGetCurrentClocksEventReasons", found.clock_limits)
           .ok()) {
    library
        .Find("nvmlDeviceGetCurrentClocksThrottleReasons", found.clock_limits)
        .IgnoreError();
  }
  library.Find("nvmlDeviceGetUtilizationRates", found.utilization)
      .IgnoreError();
  library.Find("nvmlDeviceGetComputeRunningProcesses_v3", found.processes)
      .IgnoreError();
  library.Find("nvmlDeviceGetEccMode", found.ecc).IgnoreError();
  library.Find("nvmlDeviceGetMigMode", found.mig).IgnoreError();
  library.Find("nvmlDeviceGetPersistenceMode", found.persistence).IgnoreError();
  return found;
}

// The number that a function gives; empty where it fails or is missing.
template <class Function, class... Arguments>
std::optional<unsigned> Ask(Function* function, Handle device,
                            Arguments... arguments) {
  unsigned value = 0;
  if (function == nullptr ||
      function(device, arguments..., &value) != kSuccess) {
    return std::nullopt;
  }
  return value;
}

std::optional<bool> AskMode(Result (*function)(Handle, unsigned*, unsigned*),
                            Handle device) {
  unsigned now = 0, later = 0;
  if (function == nullptr || function(device, &now, &later) != kSuccess) {
    return std::nullopt;
  }
  return now != 0;
}

std::optional<double> Scaled(std::optional<unsigned> value, double unit) {
  if (!value.has_value()) return std::nullopt;
  return *value * unit;
}

GpuState StateOf(const Functions& nvml, Handle device) {
  GpuState state;
  state.clock_hertz =
      Scaled(Ask(nvml.clock, device, kClockOfMultiprocessors), 1e6);
  state.memory_clock_hertz =
      Scaled(Ask(nvml.clock, device, kClockOfMemory), 1e6);
  state.power_watts = Scaled(Ask(nvml.power, device), 1e-3);
  state.power_limit_watts = Scaled(Ask(nvml.power_limit, device), 1e-3);
  if (const auto celsius = Ask(nvml.temperature, device, kSensorOfChip)) {
    state.celsius = static_cast<int>(*celsius);
  }
  unsigned long long limits = 0;
  if (nvml.clock_limits != nullptr &&
      nvml.clock_limits(device, &limits) == kSuccess) {
    state.clock_limits = limits;
  }
  Utilization utilization = {};
  if (nvml.utilization != nullptr &&
      nvml.utilization(device, &utilization) == kSuccess) {
    state.utilization_percent = static_cast<int>(utilization.gpu);
  }
  // Only how many there are: with room for none it says that alone.
  unsigned processes = 0;
  if (nvml.processes != nullptr) {
    const Result result = nvml.processes(device, &processes, nullptr);
    if (result == kSuccess || result == kInsufficientSize) {
      state.processes = static_cast<int>(processes);
    }
  }
  state.ecc = AskMode(nvml.ecc, device);
  state.mig = AskMode(nvml.mig, device);
  if (const auto persistence = Ask(nvml.persistence, device)) {
    state.persistence = *persistence != 0;
  }
  return state;
}

}  // namespace

std::string LimitNames(uint64_t clock_limits) {
  return NamesOf(clock_limits, /*disturbing_alone=*/false);
}

std::string DisturbanceOf(const GpuState& state) {
  return NamesOf(state.clock_limits.value_or(0), /*disturbing_alone=*/true);
}

std::string StateText(const GpuState& state) {
  std::vector<std::string> words;
  if (state.clock_hertz) {
    words.push_back(absl::StrFormat("%.0f MHz", *state.clock_hertz * 1e-6));
  }
  if (state.memory_clock_hertz) {
    words.push_back(
        absl::StrFormat("memory %.0f MHz", *state.memory_clock_hertz * 1e-6));
  }
  if (state.power_watts && state.power_limit_watts) {
    words.push_back(absl::StrFormat("%.0f of %.0f W", *state.power_watts,
                                    *state.power_limit_watts));
  } else if (state.power_watts) {
    words.push_back(absl::StrFormat("%.0f W", *state.power_watts));
  }
  if (state.celsius) words.push_back(absl::StrCat(*state.celsius, " C"));
  const std::string limits = LimitNames(state.clock_limits.value_or(0));
  if (!limits.empty()) words.push_back(absl::StrCat("limited by ", limits));
  return absl::StrJoin(words, ", ");
}

std::string ContentionOf(const GpuState& state) {
  constexpr int kBusyPercent = 2;
  std::vector<std::string> words;
  if (state.processes.value_or(0) > 0) {
    words.push_back(absl::StrCat(*state.processes, " processes compute on it"));
  }
  if (state.utilization_percent.value_or(0) > kBusyPercent) {
    words.push_back(absl::StrCat(*state.utilization_percent, " % in use"));
  }
  return absl::StrJoin(words, ", ");
}

absl::StatusOr<Nvml> OpenNvml(const SharedLibrary& library,
                              const std::string& pci_address) {
  ASSIGN_OR_RETURN(const Functions nvml, FindFunctions(library));
  const auto check = [&nvml](Result result, const char* call) {
    if (result == kSuccess) return absl::OkStatus();
    const char* const text = nvml.error_text(result);
    return absl::FailedPreconditionError(
        absl::StrCat(call, ": ", text == nullptr ? "unknown error" : text));
  };
  // Never shut down: the state is read to the program's end.
  RETURN_IF_ERROR(check(nvml.start(), "nvmlInit"));
  Nvml opened;
  std::array<char, kVersionBytes> driver = {};
  RETURN_IF_ERROR(check(nvml.driver_version(driver.data(), kVersionBytes),
                        "nvmlSystemGetDriverVersion"));
  driver.back() = '\0';
  opened.driver = driver.data();
  Handle device = nullptr;
  RETURN_IF_ERROR(check(nvml.handle(pci_address.c_str(), &device),
                        "nvmlDeviceGetHandleByPciBusId"));
  opened.read = [nvml, device] { return StateOf(nvml, device); };
  return opened;
}

}  // namespace mansard::calibrate
