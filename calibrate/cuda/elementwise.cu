#include "calibrate/cuda/device_code.h"
#include "calibrate/cuda/elementwise_kernels.cuh"

namespace mansard::calibrate::device_code {
namespace {

constexpr int kBlocksPerMultiprocessor = 8;  // Of kRowThreads.

// No more than there is work for.
unsigned Blocks(const Place& place, int64_t count) {
  const int64_t most =
      int64_t{place.multiprocessors} * kBlocksPerMultiprocessor;
  const int64_t needed = (count + kRowThreads - 1) / kRowThreads;
  return static_cast<unsigned>(needed < most ? needed : most);
}

bool IsValid(int64_t rows, int64_t columns) {
  return rows > 0 && rows <= INT32_MAX && columns > 0 && columns % 8 == 0;
}

}  // namespace

cudaError_t Norm(const Place& place, const void* from, const void* weights,
                 void* to, int64_t rows, int64_t columns) {
  if (!IsValid(rows, columns)) return cudaErrorInvalidValue;
  NormKernel<<<static_cast<unsigned>(rows), kRowThreads, 0, place.stream>>>(
      static_cast<const uint4*>(from), static_cast<const uint4*>(weights),
      static_cast<uint4*>(to), columns / 8);
  return cudaGetLastError();
}

cudaError_t Activation(const Place& place, const void* gate_up, void* to,
                       int64_t rows, int64_t columns) {
  if (!IsValid(rows, columns)) return cudaErrorInvalidValue;
  ActivationKernel<<<Blocks(place, rows * columns / 8), kRowThreads, 0,
                     place.stream>>>(static_cast<const uint4*>(gate_up),
                                     static_cast<uint4*>(to), rows,
                                     columns / 8);
  return cudaGetLastError();
}

cudaError_t Residual(const Place& place, const void* a, const void* b, void* to,
                     int64_t count) {
  if (!IsValid(1, count)) return cudaErrorInvalidValue;
  ResidualKernel<<<Blocks(place, count / 8), kRowThreads, 0, place.stream>>>(
      static_cast<const uint4*>(a), static_cast<const uint4*>(b),
      static_cast<uint4*>(to), count / 8);
  return cudaGetLastError();
}

cudaError_t Quantize(const Place& place, const void* from, void* to,
                     float* scales, int64_t rows, int64_t columns) {
  if (!IsValid(rows, columns)) return cudaErrorInvalidValue;
  QuantizeKernel<<<static_cast<unsigned>(rows), kRowThreads, 0, place.stream>>>(
      static_cast<const uint4*>(from), static_cast<uint2*>(to), scales,
      columns / 8);
  return cudaGetLastError();
}

}  // namespace mansard::calibrate::device_code
