#include "calibrate/cuda/device_code.h"
#include "calibrate/cuda/random.cuh"
#include "calibrate/cuda/stream_kernels.cuh"

namespace mansard::calibrate::device_code {
namespace {

constexpr int kBlocksPerMultiprocessor = 4;  // Of kStreamThreads.
constexpr int kCacheBlocksPerMultiprocessor = 2;

unsigned StreamBlocks(const Place& place) {
  return static_cast<unsigned>(place.multiprocessors *
                               kBlocksPerMultiprocessor);
}

template <class Store>
cudaError_t FillAs(const Place& place, void* to, int64_t bytes, uint64_t seed) {
  FillKernel<Store><<<StreamBlocks(place), kStreamThreads, 0, place.stream>>>(
      static_cast<Word*>(to), bytes / 4, seed);
  return cudaGetLastError();
}

template <int kLoads>
cudaError_t ReadAs(const Place& place, const void* from, int64_t bytes,
                   unsigned blocks, uint32_t* sum) {
  ReadKernel<kLoads><<<blocks, kStreamThreads, 0, place.stream>>>(
      static_cast<const uint4*>(from), bytes / 16, sum);
  return cudaGetLastError();
}

// Not the same numbers on all multiprocessors, so that each keeps its own clock
// apart; one that is told twice keeps the later.
__global__ void StampKernel(uint64_t* stamps, int count) {
  unsigned multiprocessor = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= static_cast<unsigned>(count)) return;
  uint64_t nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  stamps[2 * multiprocessor] = nanoseconds;
  stamps[2 * multiprocessor + 1] = static_cast<uint64_t>(clock64());
}

__global__ void HoldKernel(volatile int* flags, uint64_t limit) {
  uint64_t start = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  while (flags[0] == 0) {
    uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - start > limit) {
      flags[1] = 1;
      return;
    }
  }
}

}  // namespace

cudaError_t FillRandom(const Place& place, Number number, void* to,
                       int64_t bytes, uint64_t seed) {
  switch (number) {
    case Number::kFp32:
    case Number::kTf32:
      return FillAs<StoreFp32>(place, to, bytes, seed);
    case Number::kBf16:
      return FillAs<StoreBf16>(place, to, bytes, seed);
    case Number::kFp16:
      return FillAs<StoreFp16>(place, to, bytes, seed);
    case Number::kE4m3:
      return FillAs<StoreE4m3>(place, to, bytes, seed);
    case Number::kInt8:
      return FillAs<StoreInt8>(place, to, bytes, seed);
    case Number::kE2m1:
      return FillAs<StoreE2m1>(place, to, bytes, seed);
  }
  return cudaErrorInvalidValue;
}

cudaError_t Copy(const Place& place, const void* from, void* to,
                 int64_t bytes) {
  CopyKernel<<<StreamBlocks(place), kStreamThreads, 0, place.stream>>>(
      static_cast<const uint4*>(from), static_cast<uint4*>(to), bytes / 16);
  return cudaGetLastError();
}

cudaError_t Triad(const Place& place, const float* a, const float* b,
                  float scale, float* to, int64_t bytes) {
  TriadKernel<<<StreamBlocks(place), kStreamThreads, 0, place.stream>>>(
      reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
      scale, reinterpret_cast<float4*>(to), bytes / 16);
  return cudaGetLastError();
}

cudaError_t Read(const Place& place, const void* from, int64_t bytes,
                 int64_t blocks, int64_t loads, uint32_t* sum) {
  const unsigned grid =
      blocks == 0 ? StreamBlocks(place) : static_cast<unsigned>(blocks);
  switch (loads) {
    case 1:
      return ReadAs<1>(place, from, bytes, grid, sum);
    case 2:
      return ReadAs<2>(place, from, bytes, grid, sum);
    case 4:
      return ReadAs<4>(place, from, bytes, grid, sum);
    case 0:
    case 8:
      return ReadAs<8>(place, from, bytes, grid, sum);
    case 16:
      return ReadAs<16>(place, from, bytes, grid, sum);
    default:
      return cudaErrorInvalidValue;
  }
}

int CacheReadBlocks(int multiprocessors) {
  return multiprocessors * kCacheBlocksPerMultiprocessor;
}

cudaError_t CacheRead(const Place& place, const void* from, int64_t bytes,
                      int passes, uint32_t* sum) {
  if (bytes % (16 * kStreamThreads) != 0) return cudaErrorInvalidValue;
  CacheReadKernel<<<static_cast<unsigned>(
                        CacheReadBlocks(place.multiprocessors)),
                    kStreamThreads, 0, place.stream>>>(
      static_cast<const uint4*>(from), bytes / 16, passes, sum);
  return cudaGetLastError();
}

cudaError_t SharedRead(const Place& place, int steps, uint32_t* sum) {
  SharedReadKernel<<<static_cast<unsigned>(
                         CacheReadBlocks(place.multiprocessors)),
                     kStreamThreads, 0, place.stream>>>(steps, 0, sum);
  return cudaGetLastError();
}

cudaError_t Chase(const Place& place, const uint32_t* list, int steps,
                  uint32_t* at) {
  ChaseKernel<<<1, 1, 0, place.stream>>>(list, steps, at);
  return cudaGetLastError();
}

cudaError_t Empty(const Place& place) {
  EmptyKernel<<<1, 1, 0, place.stream>>>();
  return cudaGetLastError();
}

cudaError_t Hold(const Place& place, volatile int* flags,
                 uint64_t nanoseconds) {
  HoldKernel<<<1, 1, 0, place.stream>>>(flags, nanoseconds);
  return cudaGetLastError();
}

cudaError_t Stamp(const Place& place, uint64_t* stamps, int count) {
  StampKernel<<<static_cast<unsigned>(place.multiprocessors), 1, 0,
                place.stream>>>(stamps, count);
  return cudaGetLastError();
}

}  // namespace mansard::calibrate::device_code
