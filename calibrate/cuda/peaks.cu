#include "calibrate/cuda/device_code.h"
#include "calibrate/cuda/peak_kernels.cuh"

namespace mansard::calibrate::device_code {
namespace {

constexpr int kBlocksPerMultiprocessor = 4;  // Of kPeakThreads.

unsigned Blocks(const Place& place) {
  return static_cast<unsigned>(place.multiprocessors *
                               kBlocksPerMultiprocessor);
}

template <class Format>
cudaError_t MultiplyAddAs(const Place& place, int steps, float* to) {
  MultiplyAddKernel<Format><<<Blocks(place), kPeakThreads, 0, place.stream>>>(
      steps, kChainFactor, kChainTerm, to);
  return cudaGetLastError();
}

template <class Format, class Result>
cudaError_t TensorAs(const Place& place, int steps, bool random, float* to) {
  TensorKernel<Format, Result>
      <<<Blocks(place), kPeakThreads, 0, place.stream>>>(steps, random, to);
  return cudaGetLastError();
}

}  // namespace

int PeakThreads(int multiprocessors) {
  return multiprocessors * kBlocksPerMultiprocessor * kPeakThreads;
}

cudaError_t MultiplyAdd(const Place& place, Number number, int steps,
                        float* to) {
  switch (number) {
    case Number::kFp32:
      return MultiplyAddAs<PeakFp32>(place, steps, to);
    case Number::kFp16:
      return MultiplyAddAs<PeakFp16>(place, steps, to);
    case Number::kBf16:
      return MultiplyAddAs<PeakBf16>(place, steps, to);
    case Number::kTf32:
    case Number::kE4m3:
    case Number::kInt8:
    case Number::kE2m1:
      return cudaErrorInvalidValue;
  }
  return cudaErrorInvalidValue;
}

cudaError_t TensorMultiplyAdd(const Place& place, Number number, int steps,
                              bool random, float* to) {
  switch (number) {
    case Number::kBf16:
      return TensorAs<TensorBf16, float>(place, steps, random, to);
    case Number::kFp16:
      return TensorAs<TensorFp16, float>(place, steps, random, to);
    case Number::kTf32:
      return TensorAs<TensorTf32, float>(place, steps, random, to);
    case Number::kInt8:
      return TensorAs<TensorInt8, int>(place, steps, random, to);
    case Number::kE4m3:
      return TensorAs<TensorE4m3, float>(place, steps, random, to);
    case Number::kFp32:
    case Number::kE2m1:
      return cudaErrorInvalidValue;
  }
  return cudaErrorInvalidValue;
}

cudaError_t Exponential(const Place& place, int steps, float* to) {
  ExponentialKernel<<<Blocks(place), kPeakThreads, 0, place.stream>>>(steps,
                                                                      to);
  return cudaGetLastError();
}

}  // namespace mansard::calibrate::device_code
