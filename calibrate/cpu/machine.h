// The host processor as the system shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/cpu/loops.h"

namespace mansard::calibrate {

struct Machine {
  std::string processor;    // "AMD EPYC"; "unknown processor" if not said.
  int cores = 1;            // That this process may run on.
  double memory_bytes = 0;  // Of the whole machine.
  int64_t cache_bytes = 0;  // Of the last level; 32 MiB where not said.
  std::string kernel;       // "Linux 6.1".
  std::string id_hash;      // Of processor, machine id and sizes.
};
Machine ReadMachine();

// By a chain of multiplications: 10 us of work.
double ProbeClock(const Loops& loops);

// Tells whether something took the processor from this thread: other programs,
// or a hypervisor.
class DisturbanceWatch {
 public:
  DisturbanceWatch();
  // Of the time since the last call, or since the watch began. Empty: nothing.
  std::string Check();

 private:
  int64_t switches_ = 0;
  std::optional<int64_t> stolen_;
};

}  // namespace mansard::calibrate
