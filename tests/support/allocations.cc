#include "tests/support/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mansard::testing {
namespace {

std::atomic<int64_t> allocation_count{0};

}  // namespace

int64_t Allocations() {
  return allocation_count.load(std::memory_order_relaxed);
}

// For operator new below, which is outside every namespace.
void CountAllocation() {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace mansard::testing

// The array forms and the ones that do not throw call this one.
void* operator new(std::size_t size) {
  mansard::testing::CountAllocation();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
