#include "calibrate/cuda/cuda_kernels.h"

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using device_code::Number;
using device_code::Place;
using model::Format;

absl::StatusOr<Number> NumberOf(Format format) {
  if (format == Format::kFp32) return Number::kFp32;
  if (format == Format::kTf32) return Number::kTf32;
  if (format == Format::kBf16) return Number::kBf16;
  if (format == Format::kFp16) return Number::kFp16;
  if (format == Format::kFp8E4m3) return Number::kE4m3;
  if (format == Format::kInt8) return Number::kInt8;
  if (format == Format::kNvfp4) return Number::kE2m1;
  return absl::UnimplementedError(
      absl::StrCat("no kernel of our own for ", model::TraitsOf(format).name));
}

class CudaKernels : public GpuKernels {
 public:
  explicit CudaKernels(const Place& place) : place_(place) {}

  absl::Status FillRandom(Format format, void* to, int64_t bytes,
                          uint64_t seed) override {
    ASSIGN_OR_RETURN(const Number number, NumberOf(format));
    return FromCuda(device_code::FillRandom(place_, number, to, bytes, seed),
                    "FillRandom");
  }
  absl::Status Copy(const void* from, void* to, int64_t bytes) override {
    return FromCuda(device_code::Copy(place_, from, to, bytes), "Copy");
  }
  absl::Status Triad(const float* a, const float* b, float scale, float* to,
                     int64_t bytes) override {
    return FromCuda(device_code::Triad(place_, a, b, scale, to, bytes),
                    "Triad");
  }
  absl::Status Read(const void* from, int64_t bytes, int64_t blocks,
                    int64_t loads, uint32_t* sum) override {
    return FromCuda(device_code::Read(place_, from, bytes, blocks, loads, sum),
                    "Read");
  }
  absl::Status CacheRead(const void* from, int64_t bytes, int passes,
                         uint32_t* sum) override {
    return FromCuda(device_code::CacheRead(place_, from, bytes, passes, sum),
                    "CacheRead");
  }
  absl::Status SharedRead(int steps, uint32_t* sum) override {
    return FromCuda(device_code::SharedRead(place_, steps, sum), "SharedRead");
  }
  absl::Status Chase(const uint32_t* list, int steps, uint32_t* at) override {
    return FromCuda(device_code::Chase(place_, list, steps, at), "Chase");
  }
  absl::Status Empty() override {
    return FromCuda(device_code::Empty(place_), "Empty");
  }
  absl::Status MultiplyAdd(Format format, int steps, float* to) override {
    ASSIGN_OR_RETURN(const Number number, NumberOf(format));
    return FromCuda(device_code::MultiplyAdd(place_, number, steps, to),
                    "MultiplyAdd");
  }
  absl::Status TensorMultiplyAdd(Format format, int steps, bool random,
                                 float* to) override {
    ASSIGN_OR_RETURN(const Number number, NumberOf(format));
    return FromCuda(
        device_code::TensorMultiplyAdd(place_, number, steps, random, to),
        "TensorMultiplyAdd");
  }
  absl::Status Exponential(int steps, float* to) override {
    return FromCuda(device_code::Exponential(place_, steps, to), "Exponential");
  }
  absl::Status Norm(const void* from, const void* weights, void* to,
                    int64_t rows, int64_t columns) override {
    return FromCuda(device_code::Norm(place_, from, weights, to, rows, columns),
                    "Norm");
  }
  absl::Status Activation(const void* gate_up, void* to, int64_t rows,
                          int64_t columns) override {
    return FromCuda(device_code::Activation(place_, gate_up, to, rows, columns),
                    "Activation");
  }
  absl::Status Residual(const void* a, const void* b, void* to,
                        int64_t count) override {
    return FromCuda(device_code::Residual(place_, a, b, to, count), "Residual");
  }
  absl::Status Quantize(const void* from, void* to, float* scales, int64_t rows,
                        int64_t columns) override {
    return FromCuda(
        device_code::Quantize(place_, from, to, scales, rows, columns),
        "Quantize");
  }
  absl::Status Prefill(const GpuAttention& shape, const void* queries,
                       const void* keys, const void* values,
                       void* outputs) override {
    return FromCuda(device_code::Prefill(place_, ShapeOf(shape), queries, keys,
                                         values, outputs),
                    "Prefill");
  }
  absl::Status Decode(const GpuAttention& shape, int64_t parts,
                      const void* queries, const void* keys, const void* values,
                      void* outputs, float* room) override {
    return FromCuda(device_code::Decode(place_, ShapeOf(shape), parts, queries,
                                        keys, values, outputs, room),
                    "Decode");
  }
  int CacheBlocks() const override {
    return device_code::CacheReadBlocks(place_.multiprocessors);
  }
  int PeakThreads() const override {
    return device_code::PeakThreads(place_.multiprocessors);
  }

 private:
  static device_code::Attention ShapeOf(const GpuAttention& shape) {
    return {shape.requests, shape.tokens, shape.query_heads, shape.kv_heads,
            shape.head_size};
  }
  const Place place_;
};

}  // namespace

absl::Status FromCuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string text = absl::StrCat(call, ": ", cudaGetErrorString(error));
  if (error == cudaErrorMemoryAllocation) {
    // Not to be found again by the next call.
    (void)cudaGetLastError();
    return absl::ResourceExhaustedError(text);
  }
  return absl::InternalError(text);
}

std::unique_ptr<GpuKernels> MakeCudaKernels(const Place& place) {
  return std::make_unique<CudaKernels>(place);
}

}  // namespace mansard::calibrate
