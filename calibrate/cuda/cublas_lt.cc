#include "calibrate/cuda/cublas_lt.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/cublas_lt_types.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {

using model::Format;

struct BlasLtFunctions {
  using Status = cublas_lt::Status;
  using Handle = cublas_lt::Handle;
  Status (*create)(Handle*) = nullptr;
  size_t (*version)() = nullptr;
  const char* (*status_text)(Status) = nullptr;
  Status (*desc_create)(Handle*, int compute, int scale) = nullptr;
  Status (*desc_destroy)(Handle) = nullptr;
  Status (*desc_set)(Handle, int, const void*, size_t) = nullptr;
  Status (*layout_create)(Handle*, int type, uint64_t rows, uint64_t columns,
                          int64_t stride) = nullptr;
  Status (*layout_destroy)(Handle) = nullptr;
  Status (*preference_create)(Handle*) = nullptr;
  Status (*preference_destroy)(Handle) = nullptr;
  Status (*preference_set)(Handle, int, const void*, size_t) = nullptr;
  Status (*heuristic)(Handle, Handle, Handle, Handle, Handle, Handle, Handle,
                      int, cublas_lt::Heuristic*, int*) = nullptr;
  Status (*multiply)(Handle, Handle, const void*, const void*, Handle,
                     const void*, Handle, const void*, const void*, Handle,
                     void*, Handle, const cublas_lt::Algorithm*, void*, size_t,
                     void*) = nullptr;
  // Never destroyed: the library is used to the program's end.
  Handle handle = nullptr;
};

namespace {

using cublas_lt::Handle;

absl::Status Check(const BlasLtFunctions& blas, cublas_lt::Status status,
                   const char* call) {
  if (status == cublas_lt::kSuccess) return absl::OkStatus();
  const char* const text = blas.status_text(status);
  return absl::InternalError(
      absl::StrCat(call, ": ", text == nullptr ? "unknown error" : text));
}

// How operands of a format are multiplied.
struct Numbers {
  int operand;
  int result;
  int compute;
  int scale;
  bool scaled;  // Operands have scales in device memory.
  bool blocks;  // Of blocks of 16.
};
std::optional<Numbers> NumbersOf(Format format) {
  if (format == Format::kBf16) {
    return Numbers{cublas_lt::kBf16,
                   cublas_lt::kBf16,
                   cublas_lt::kComputeFp32,
                   cublas_lt::kFp32,
                   false,
                   false};
  }
  if (format == Format::kFp16) {
    return Numbers{cublas_lt::kFp16,
                   cublas_lt::kFp16,
                   cublas_lt::kComputeFp32,
                   cublas_lt::kFp32,
                   false,
                   false};
  }
  if (format == Format::kFp8E4m3) {
    return Numbers{cublas_lt::kE4m3,
                   cublas_lt::kBf16,
                   cublas_lt::kComputeFp32,
                   cublas_lt::kFp32,
                   true,
                   false};
  }
  if (format == Format::kInt8) {
    return Numbers{cublas_lt::kInt8,
                   cublas_lt::kInt32,
                   cublas_lt::kComputeInt32,
                   cublas_lt::kInt32,
                   false,
                   false};
  }
  if (format == Format::kNvfp4) {
    return Numbers{cublas_lt::kE2m1,
                   cublas_lt::kBf16,
                   cublas_lt::kComputeFp32,
                   cublas_lt::kFp32,
                   true,
                   true};
  }
  return std::nullopt;
}

// Destroys what it holds.
class Owned {
 public:
  Owned() = default;
  explicit Owned(cublas_lt::Status (*destroy)(Handle)) : destroy_(destroy) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) destroy_(handle);
  }
  Handle handle = nullptr;

 private:
  cublas_lt::Status (*destroy_)(Handle) = nullptr;
};

// Column-major for the library: rows of ours are its columns, so that it
// multiplies n x k weights, transposed, by k x m inputs.
class Plan : public BlasPlan {
 public:
  Plan(std::shared_ptr<const BlasLtFunctions> blas, const BlasRoom& room)
      : blas_(std::move(blas)),
        room_(room),
        desc_(blas_->desc_destroy),
        weights_(blas_->layout_destroy),
        x_(blas_->layout_destroy),
        y_(blas_->layout_destroy) {}

  absl::Status Make(const BlasProduct& product, const Numbers& numbers) {
    const auto create = [this](Owned& layout, int type, int64_t rows,
                               int64_t columns) {
      return Check(*blas_,
                   blas_->layout_create(&layout.handle, type,
                                        static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), rows),
                   "cublasLtMatrixLayoutCreate");
    };
    RETURN_IF_ERROR(
        Check(*blas_,
              blas_->desc_create(&desc_.handle, numbers.compute, numbers.scale),
              "cublasLtMatmulDescCreate"));
    RETURN_IF_ERROR(Set(cublas_lt::kDescTransposeA, cublas_lt::kTransposed));
    if (numbers.scaled) RETURN_IF_ERROR(SetScales(numbers));
    RETURN_IF_ERROR(create(weights_, numbers.operand, product.k, product.n));
    RETURN_IF_ERROR(create(x_, numbers.operand, product.k, product.m));
    RETURN_IF_ERROR(create(y_, numbers.result, product.n, product.m));
    integer_ = numbers.scale == cublas_lt::kInt32;
    return Choose();
  }

  absl::Status Enqueue(const void* x, const void* weights, void* y,
                       void* stream) const override {
    constexpr float kOne = 1, kZero = 0;
    constexpr int32_t kWholeOne = 1, kWholeZero = 0;
    const void* const alpha =
        integer_ ? static_cast<const void*>(&kWholeOne) : &kOne;
    const void* const beta =
        integer_ ? static_cast<const void*>(&kWholeZero) : &kZero;
    return Check(
        *blas_,
        blas_->multiply(blas_->handle, desc_.handle, alpha, weights,
                        weights_.handle, x, x_.handle, beta, y, y_.handle, y,
                        y_.handle, &chosen_.algorithm, room_.workspace,
                        static_cast<size_t>(room_.workspace_bytes), stream),
        "cublasLtMatmul");
  }

 private:
  template <class Value>
  absl::Status Set(int attribute, const Value& value) {
    return Check(
        *blas_, blas_->desc_set(desc_.handle, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
  }

  absl::Status SetScales(const Numbers& numbers) {
    const void* const scale =
        numbers.blocks ? room_.scales : static_cast<const void*>(room_.one);
    if (numbers.blocks) {
      for (const int mode :
           {cublas_lt::kDescScaleModeA, cublas_lt::kDescScaleModeB}) {
        RETURN_IF_ERROR(Set(mode, cublas_lt::kScaleBlocksOf16));
      }
    }
    RETURN_IF_ERROR(Set(cublas_lt::kDescScaleA, scale));
    return Set(cublas_lt::kDescScaleB, scale);
  }

  absl::Status Choose() {
    Owned preference(blas_->preference_destroy);
    RETURN_IF_ERROR(Check(*blas_, blas_->preference_create(&preference.handle),
                          "cublasLtMatmulPreferenceCreate"));
    const size_t bytes = static_cast<size_t>(room_.workspace_bytes);
    RETURN_IF_ERROR(Check(*blas_,
                          blas_->preference_set(preference.handle,
                                                cublas_lt::kPreferenceWorkspace,
                                                &bytes, sizeof(bytes)),
                          "cublasLtMatmulPreferenceSetAttribute"));
    int found = 0;
    const cublas_lt::Status status = blas_->heuristic(
        blas_->handle, desc_.handle, weights_.handle, x_.handle, y_.handle,
        y_.handle, preference.handle, 1, &chosen_, &found);
    if (status == cublas_lt::kSuccess && found > 0 &&
        chosen_.state == cublas_lt::kSuccess) {
      return absl::OkStatus();
    }
    const char* const text = blas_->status_text(status);
    return absl::UnimplementedError(absl::StrCat(
        "cuBLASLt has no kernel for it on this device (",
        status == cublas_lt::kSuccess || text == nullptr ? "none found" : text,
        ")"));
  }

  const std::shared_ptr<const BlasLtFunctions> blas_;
  const BlasRoom room_;
  Owned desc_;
  Owned weights_;
  Owned x_;
  Owned y_;
  bool integer_ = false;
  cublas_lt::Heuristic chosen_ = {};
};

// 130100 is 13.1.0; before release 12, 11801 is 11.8.1.
std::string VersionText(size_t version) {
  const size_t major = version >= 100000 ? 10000 : 1000;
  return absl::StrCat("cuBLASLt ", version / major, ".", version % major / 100,
                      ".", version % 100);
}

}  // namespace

absl::StatusOr<BlasLt> BlasLt::Open(const SharedLibrary& library) {
  auto found = std::make_shared<BlasLtFunctions>();
  RETURN_IF_ERROR(library.Find("cublasLtCreate", found->create));
  RETURN_IF_ERROR(library.Find("cublasLtGetVersion", found->version));
  RETURN_IF_ERROR(library.Find("cublasLtGetStatusString", found->status_text));
  RETURN_IF_ERROR(library.Find("cublasLtMatmulDescCreate", found->desc_create));
  RETURN_IF_ERROR(
      library.Find("cublasLtMatmulDescDestroy", found->desc_destroy));
  RETURN_IF_ERROR(
      library.Find("cublasLtMatmulDescSetAttribute", found->desc_set));
  RETURN_IF_ERROR(
      library.Find("cublasLtMatrixLayoutCreate", found->layout_create));
  RETURN_IF_ERROR(
      library.Find("cublasLtMatrixLayoutDestroy", found->layout_destroy));
  RETURN_IF_ERROR(
      library.Find("cublasLtMatmulPreferenceCreate", found->preference_create));
  RETURN_IF_ERROR(library.Find("cublasLtMatmulPreferenceDestroy",
                               found->preference_destroy));
  RETURN_IF_ERROR(library.Find("cublasLtMatmulPreferenceSetAttribute",
                               found->preference_set));
  RETURN_IF_ERROR(
      library.Find("cublasLtMatmulAlgoGetHeuristic", found->heuristic));
  RETURN_IF_ERROR(library.Find("cublasLtMatmul", found->multiply));
  const absl::Status started =
      Check(*found, found->create(&found->handle), "cublasLtCreate");
  if (!started.ok()) return absl::FailedPreconditionError(started.message());
  BlasLt blas;
  blas.description_ = VersionText(found->version());
  blas.functions_ = std::move(found);
  return blas;
}

absl::StatusOr<std::unique_ptr<BlasPlan>> BlasLt::Plan(
    const BlasProduct& product, const BlasRoom& room) const {
  const std::optional<Numbers> numbers = NumbersOf(product.format);
  if (!numbers.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("products of ", model::TraitsOf(product.format).name,
                     " are not measured"));
  }
  auto plan = std::make_unique<calibrate::Plan>(functions_, room);
  RETURN_IF_ERROR(plan->Make(product, *numbers));
  return plan;
}

int64_t Nvfp4ScaleBytes(int64_t rows, int64_t columns) {
  constexpr int64_t kRows = 128, kBlock = 16, kBlocks = 4;
  const int64_t blocks = (columns + kBlock - 1) / kBlock;
  return (rows + kRows - 1) / kRows * kRows *
         ((blocks + kBlocks - 1) / kBlocks) * kBlocks;
}

}  // namespace mansard::calibrate
