// Products by cuBLASLt, as frameworks call it: the heuristic's first choice.
// The library is opened when the program runs; its header is not needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/cuda/shared_library.h"
#include "model/base/format.h"

namespace mansard::calibrate {

// Of the library's interface, which is stable. Internal: see cublas_lt.cc.
struct BlasLtFunctions;

struct BlasProduct {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  model::Format format = model::Format::kBf16;
};

// What the library needs besides operands, in device memory.
struct BlasRoom {
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  const float* one = nullptr;  // 1.0.
  // Block scales of the operands, all 1.0 in e4m3; of nvfp4 alone.
  const void* scales = nullptr;
};

// A product of one shape, ready to be enqueued.
class BlasPlan {
 public:
  virtual ~BlasPlan() = default;
  // y[m, n] = x[m, k] weights[n, k]^T on a cudaStream_t. INTERNAL: the library
  // refuses.
  virtual absl::Status Enqueue(const void* x, const void* weights, void* y,
                               void* stream) const = 0;
};

class BlasLt {
 public:
  // UNIMPLEMENTED: a function is missing. FAILED_PRECONDITION: it does not
  // start.
  static absl::StatusOr<BlasLt> Open(const SharedLibrary& library);

  // "cuBLASLt 13.1.0".
  const std::string& description() const { return description_; }
  // bf16, fp16, fp8-e4m3, int8, nvfp4. UNIMPLEMENTED: the library has no kernel
  // for the product on this device, or no such format.
  absl::StatusOr<std::unique_ptr<BlasPlan>> Plan(const BlasProduct& product,
                                                 const BlasRoom& room) const;

 private:
  std::shared_ptr<const BlasLtFunctions> functions_;
  std::string description_;
};

// Bytes of the block scales of an operand of rows x columns in nvfp4, in the
// library's order of 128 x 4.
int64_t Nvfp4ScaleBytes(int64_t rows, int64_t columns);

}  // namespace mansard::calibrate
