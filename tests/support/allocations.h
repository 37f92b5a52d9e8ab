// How often a process asked for memory. A binary that calls this has its
// operator new replaced by one that counts; no other binary has.
#pragma once

#include <cstdint>

namespace mansard::testing {

// Calls of operator new since the process started, on all threads.
int64_t Allocations();

}  // namespace mansard::testing
