#include "calibrate/cpu/cold_pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace mansard::calibrate {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

// Throws std::bad_alloc as any container does.
float* Allocate(size_t elements, PageSize pages) {
  const size_t bytes =
      (elements * sizeof(float) + kLargePage - 1) / kLargePage * kLargePage;
  void* const data = aligned_alloc(kLargePage, bytes);
  if (data == nullptr) throw std::bad_alloc();
  // A wish: small pages serve as well, only slower.
  madvise(data, bytes,
          pages == PageSize::kLarge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return static_cast<float*>(data);
}

}  // namespace

void ColdPool::Free::operator()(float* data) const { free(data); }

ColdPool::ColdPool(size_t elements, PageSize pages)
    : size_(elements), data_(Allocate(elements, pages)) {
  uint64_t state = 1;
  for (size_t i = 0; i < elements; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    data_.get()[i] = static_cast<float>(state >> 40) * 0x1p-23f - 1;
  }
}

float* ColdPool::Take(size_t elements) {
  if (next_ + elements > size_) next_ = 0;
  float* const taken = data_.get() + next_;
  // Rows start on a line of the cache.
  constexpr size_t kLine = 16;
  next_ += (elements + kLine - 1) / kLine * kLine;
  return taken;
}

}  // namespace mansard::calibrate
