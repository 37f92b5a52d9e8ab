#include "calibrate/cpu/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace mansard::calibrate {
namespace {

constexpr int64_t kDefaultCache = int64_t{32} << 20;
constexpr uint64_t kSpinSteps = 12'000;
constexpr int kSpinTries = 3;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ProcessorName() {
  const std::string cpuinfo = TextOf("/proc/cpuinfo");
  for (const absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == "model name") {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return "unknown processor";
}

// The largest cache of the first processor. The system says "32768K".
int64_t LastLevelCache() {
  int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::string size = TextOf(absl::StrCat(
        "/sys/devices/system/cpu/cpu0/cache/index", index, "/size"));
    absl::StripAsciiWhitespace(&size);
    int64_t unit = 1;
    if (!size.empty() && size.back() == 'K') unit = 1 << 10;
    if (!size.empty() && size.back() == 'M') unit = 1 << 20;
    if (unit > 1) size.pop_back();
    int64_t count = 0;
    if (absl::SimpleAtoi(size, &count)) {
      largest = std::max(largest, count * unit);
    }
  }
  return largest > 0 ? largest : kDefaultCache;
}

// FNV-1a.
uint64_t Hash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

int64_t InvoluntarySwitches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Ticks that a hypervisor took: the eighth number of the first line. Empty
// where the system does not say.
std::optional<int64_t> StolenTicks() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  int64_t ticks = 0;
  for (int i = 0; i < 8; ++i) {
    if (!(file >> ticks)) return std::nullopt;
  }
  return ticks;
}

}  // namespace

Machine ReadMachine() {
  Machine machine;
  machine.processor = ProcessorName();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    machine.cores = std::max(1, CPU_COUNT(&set));
  }
  machine.memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(sysconf(_SC_PAGESIZE));
  machine.cache_bytes = LastLevelCache();
  utsname system{};
  if (uname(&system) == 0) {
    machine.kernel = absl::StrCat(system.sysname, " ", system.release);
  }
  machine.id_hash = absl::StrFormat(
      "%016x",
      Hash(absl::StrCat(machine.processor, "|", TextOf("/etc/machine-id"), "|",
                        machine.cache_bytes, "|", machine.cores)));
  return machine;
}

double ProbeClock(const Loops& loops) {
  double best = 0;
  for (int i = 0; i < kSpinTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const uint64_t result = loops.spin(kSpinSteps);
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    if (result != 0) {
      best = std::max(best, kSpinClocks * kSpinSteps / time.count());
    }
  }
  return best;
}

DisturbanceWatch::DisturbanceWatch()
    : switches_(InvoluntarySwitches()), stolen_(StolenTicks()) {}

std::string DisturbanceWatch::Check() {
  const int64_t switches = InvoluntarySwitches();
  const std::optional<int64_t> stolen = StolenTicks();
  std::string disturbance;
  if (switches > switches_) {
    disturbance = absl::StrCat("preempted ", switches - switches_, " times");
  } else if (stolen.has_value() && stolen_.has_value() && *stolen > *stolen_) {
    disturbance = "the hypervisor took the processor";
  }
  switches_ = switches;
  stolen_ = stolen;
  return disturbance;
}

}  // namespace mansard::calibrate
