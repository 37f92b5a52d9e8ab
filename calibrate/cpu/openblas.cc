#include "calibrate/cpu/openblas.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibrate/cpu/loops.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr char kLibrary[] = "libopenblas.so.0";
constexpr int kRowMajor = 101;
constexpr int kPlain = 111;
constexpr int kTransposed = 112;

// The kernels for an instruction set; null: the library's own choice.
const char* CoreTypeFor(absl::string_view instruction_set) {
  if (instruction_set == "avx512") return "SkylakeX";
  if (instruction_set == "avx2") return "Haswell";
  return nullptr;
}

template <class Function>
absl::StatusOr<Function> Find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found != nullptr) return reinterpret_cast<Function>(found);
  return absl::UnimplementedError(
      absl::StrCat(kLibrary, " has no function ", name));
}

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the first two words.
std::string VersionOf(absl::string_view config) {
  const std::vector<absl::string_view> words = absl::StrSplit(config, ' ');
  return words.size() < 2 ? std::string(config)
                          : absl::StrCat(words[0], " ", words[1]);
}

}  // namespace

absl::StatusOr<OpenBlas> OpenBlas::Load() {
  const char* const core = CoreTypeFor(BestLoops().instruction_set);
  if (core != nullptr) setenv("OPENBLAS_CORETYPE", core, /*overwrite=*/0);
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/0);
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(kLibrary, " is not installed (libopenblas0-pthread)"));
  }
  OpenBlas blas;
  ASSIGN_OR_RETURN(blas.sgemm_, Find<Sgemm>(library, "cblas_sgemm"));
  ASSIGN_OR_RETURN(const auto set_threads,
                   Find<void (*)(int)>(library, "openblas_set_num_threads"));
  ASSIGN_OR_RETURN(const auto core_name,
                   Find<char* (*)()>(library, "openblas_get_corename"));
  ASSIGN_OR_RETURN(const auto config,
                   Find<char* (*)()>(library, "openblas_get_config"));
  set_threads(1);
  blas.description_ =
      absl::StrCat(VersionOf(config()), ", ", core_name(), " kernels");
  return blas;
}

void OpenBlas::Multiply(int64_t m, int64_t n, int64_t k, const Matrix& a,
                        const Matrix& b, bool transposed, float* out,
                        int64_t out_stride) const {
  sgemm_(kRowMajor, kPlain, transposed ? kTransposed : kPlain,
         static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1,
         a.data, static_cast<int>(a.stride), b.data, static_cast<int>(b.stride),
         0, out, static_cast<int>(out_stride));
}

}  // namespace mansard::calibrate
