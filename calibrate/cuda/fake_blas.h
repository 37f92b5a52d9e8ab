// cuBLASLt in the host's memory, as its documentation defines it: column-major,
// the left operand transposed where the description says so. For tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "calibrate/cuda/cublas_lt_types.h"
#include "calibrate/cuda/fake_gpu.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/shared_library.h"

namespace mansard::calibrate {

struct FakeBlas {
  int live = 0;  // Descriptors that are not destroyed.
  int create_status = 0;
  bool has_kernel = true;
  int multiplications = 0;
  size_t workspace = 0;  // That the heuristic was allowed.
};
inline FakeBlas& TheFakeBlas() {
  static FakeBlas& blas = *new FakeBlas;
  return blas;
}

namespace fake_blas {

using cublas_lt::Handle;

struct Desc {
  int compute = 0;
  int scale = 0;
  bool transposed = false;
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  int mode_a = 0;
  int mode_b = 0;
};
struct Layout {
  int type = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
};

// The nearest; beyond the largest, infinity.
inline uint16_t EncodeFp16(double value) {
  const auto sign = static_cast<uint32_t>(std::signbit(value)) << 15;
  int exponent = 0;
  const double part = std::frexp(std::abs(value), &exponent);
  uint32_t bits = 0;
  if (exponent <= -14) {  // Without a leading one.
    bits =
        static_cast<uint32_t>(std::nearbyint(std::ldexp(std::abs(value), 24)));
  } else {
    const auto with_one =
        static_cast<uint32_t>(std::nearbyint(std::ldexp(part, 11)));
    bits = (static_cast<uint32_t>(exponent + 14) << 10) + with_one - 1024;
  }
  return static_cast<uint16_t>(sign | std::min(bits, uint32_t{0x7c00}));
}

inline model::Format FormatOf(int type) {
  if (type == cublas_lt::kBf16) return model::Format::kBf16;
  if (type == cublas_lt::kFp16) return model::Format::kFp16;
  if (type == cublas_lt::kE4m3) return model::Format::kFp8E4m3;
  if (type == cublas_lt::kInt8) return model::Format::kInt8;
  return type == cublas_lt::kE2m1 ? model::Format::kNvfp4
                                  : model::Format::kFp32;
}

template <class Type>
int Make(Handle* handle, Type made) {
  *handle = new Type(made);
  ++TheFakeBlas().live;
  return 0;
}
template <class Type>
int Unmake(Handle handle) {
  delete static_cast<Type*>(handle);
  --TheFakeBlas().live;
  return 0;
}

inline int Create(Handle* handle) {
  *handle = &TheFakeBlas();
  return TheFakeBlas().create_status;
}
inline size_t Version() { return 130100; }
inline const char* StatusText(int) { return "CUBLAS_STATUS_NOT_SUPPORTED"; }
inline int DescCreate(Handle* handle, int compute, int scale) {
  return Make(handle, Desc{.compute = compute, .scale = scale});
}
inline int DescSet(Handle handle, int attribute, const void* value,
                   size_t bytes) {
  auto& desc = *static_cast<Desc*>(handle);
  int32_t whole = 0;
  if (attribute == cublas_lt::kDescScaleA ||
      attribute == cublas_lt::kDescScaleB) {
    if (bytes != sizeof(void*)) return 7;
    auto& scale =
        attribute == cublas_lt::kDescScaleA ? desc.scale_a : desc.scale_b;
    std::memcpy(&scale, value, bytes);
    return 0;
  }
  if (bytes != sizeof(whole)) return 7;
  std::memcpy(&whole, value, bytes);
  if (attribute == cublas_lt::kDescTransposeA) desc.transposed = whole == 1;
  if (attribute == cublas_lt::kDescScaleModeA) desc.mode_a = whole;
  if (attribute == cublas_lt::kDescScaleModeB) desc.mode_b = whole;
  return 0;
}
inline int LayoutCreate(Handle* handle, int type, uint64_t rows,
                        uint64_t columns, int64_t stride) {
  return Make(handle, Layout{type, static_cast<int64_t>(rows),
                             static_cast<int64_t>(columns), stride});
}
inline int PreferenceCreate(Handle* handle) { return Make(handle, int{0}); }
inline int PreferenceSet(Handle, int, const void* value, size_t bytes) {
  std::memcpy(&TheFakeBlas().workspace, value, bytes);
  return 0;
}
inline int Heuristic(Handle, Handle, Handle, Handle, Handle, Handle, Handle,
                     int wanted, cublas_lt::Heuristic* found, int* count) {
  if (!TheFakeBlas().has_kernel || wanted < 1) return 15;
  *found = {};
  *count = 1;
  return 0;
}

inline double Element(const void* data, const Layout& layout, int64_t row,
                      int64_t column) {
  const model::Format format = FormatOf(layout.type);
  const int64_t at = column * layout.stride + row;
  const int64_t first = format == model::Format::kNvfp4 ? at / 2 * 2 : at;
  std::vector<uint8_t> stored(static_cast<size_t>(
      StoredBytes(format, format == model::Format::kNvfp4 ? 2 : 1)));
  std::memcpy(stored.data(),
              static_cast<const char*>(data) + StoredBytes(format, first),
              stored.size());
  return Decode(format, stored, at - first + 1).back();
}

// Where scales are given, they are 1.
inline bool ScalesAreGood(const Desc& desc, int type) {
  if (type == cublas_lt::kE4m3) {
    return desc.mode_a == 0 && *static_cast<const float*>(desc.scale_a) == 1 &&
           *static_cast<const float*>(desc.scale_b) == 1;
  }
  if (type == cublas_lt::kE2m1) {
    return desc.mode_a == 1 && desc.mode_b == 1 &&
           *static_cast<const uint8_t*>(desc.scale_a) == 0x38;
  }
  return desc.scale_a == nullptr;
}

inline int Multiply(Handle, Handle desc_handle, const void* alpha,
                    const void* a, Handle a_handle, const void* b,
                    Handle b_handle, const void* beta, const void*, Handle,
                    void* d, Handle d_handle, const cublas_lt::Algorithm*,
                    void*, size_t, void* stream) {
  const auto& desc = *static_cast<Desc*>(desc_handle);
  const auto& a_layout = *static_cast<Layout*>(a_handle);
  const auto& b_layout = *static_cast<Layout*>(b_handle);
  const auto& d_layout = *static_cast<Layout*>(d_handle);
  const bool whole = desc.scale == cublas_lt::kInt32;
  const bool factors = whole ? *static_cast<const int32_t*>(alpha) == 1 &&
                                   *static_cast<const int32_t*>(beta) == 0
                             : *static_cast<const float*>(alpha) == 1 &&
                                   *static_cast<const float*>(beta) == 0;
  if (!desc.transposed || !factors || a_layout.rows != b_layout.rows ||
      a_layout.columns != d_layout.rows ||
      b_layout.columns != d_layout.columns ||
      !ScalesAreGood(desc, a_layout.type)) {
    return 7;
  }
  ++TheFakeBlas().multiplications;
  auto& kernels = static_cast<FakeGpu*>(stream)->own_kernels;
  for (int64_t row = 0; row < d_layout.rows; ++row) {
    for (int64_t column = 0; column < d_layout.columns; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < a_layout.rows; ++k) {
        sum += Element(a, a_layout, k, row) * Element(b, b_layout, k, column);
      }
      sum = kernels.spoil(sum);
      const int64_t at = column * d_layout.stride + row;
      if (whole) {
        static_cast<int32_t*>(d)[at] = static_cast<int32_t>(sum);
      } else if (d_layout.type == cublas_lt::kBf16) {
        static_cast<uint16_t*>(d)[at] = EncodeBf16(sum);
      } else {
        static_cast<uint16_t*>(d)[at] = EncodeFp16(sum);
      }
    }
  }
  return kernels.Ran().ok() ? 0 : 1;
}

inline SharedLibrary Library() {
  static const auto& symbols = *new std::map<std::string, void*>{
      {"cublasLtCreate", reinterpret_cast<void*>(&Create)},
      {"cublasLtGetVersion", reinterpret_cast<void*>(&Version)},
      {"cublasLtGetStatusString", reinterpret_cast<void*>(&StatusText)},
      {"cublasLtMatmulDescCreate", reinterpret_cast<void*>(&DescCreate)},
      {"cublasLtMatmulDescDestroy", reinterpret_cast<void*>(&Unmake<Desc>)},
      {"cublasLtMatmulDescSetAttribute", reinterpret_cast<void*>(&DescSet)},
      {"cublasLtMatrixLayoutCreate", reinterpret_cast<void*>(&LayoutCreate)},
      {"cublasLtMatrixLayoutDestroy", reinterpret_cast<void*>(&Unmake<Layout>)},
      {"cublasLtMatmulPreferenceCreate",
       reinterpret_cast<void*>(&PreferenceCreate)},
      {"cublasLtMatmulPreferenceDestroy",
       reinterpret_cast<void*>(&Unmake<int>)},
      {"cublasLtMatmulPreferenceSetAttribute",
       reinterpret_cast<void*>(&PreferenceSet)},
      {"cublasLtMatmulAlgoGetHeuristic", reinterpret_cast<void*>(&Heuristic)},
      {"cublasLtMatmul", reinterpret_cast<void*>(&Multiply)},
  };
  return {"libfake.so", [](const char* name) {
            const auto found = symbols.find(name);
            return found == symbols.end() ? nullptr : found->second;
          }};
}

}  // namespace fake_blas

inline SharedLibrary FakeBlasLibrary() { return fake_blas::Library(); }

}  // namespace mansard::calibrate
