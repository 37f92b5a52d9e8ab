// What is measured: one kernel at one size.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

enum class CaseKind {
  kCopy,              // bytes: of one of the two buffers.
  kTriad,             // bytes: of one of the three.
  kRead,              // bytes: of the buffer, read end to end.
  kMultiplyAdd,       // Independent chains in registers; fp32.
  kGemm,              // [m, k] x [n, k]^T, fp32, other weights every time.
  kNorm,              // RMS norm of rows x columns.
  kActivation,        // silu(gate) * up, rows x columns results.
  kResidual,          // rows x columns added.
  kDecodeAttention,   // One new token a request over context_tokens.
  kPrefillAttention,  // Causal, context_tokens of each request.
};
inline constexpr CaseKind kCaseKinds[] = {
    CaseKind::kCopy,
    CaseKind::kTriad,
    CaseKind::kRead,
    CaseKind::kMultiplyAdd,
    CaseKind::kGemm,
    CaseKind::kNorm,
    CaseKind::kActivation,
    CaseKind::kResidual,
    CaseKind::kDecodeAttention,
    CaseKind::kPrefillAttention,
};
absl::string_view CaseKindName(CaseKind kind);

// Sizes that the kind does not have are 0.
struct Case {
  CaseKind kind = CaseKind::kCopy;
  int64_t bytes = 0;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t requests = 0;
  int64_t context_tokens = 0;  // With the new token.
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  // Repeated without pause for seconds: what is left once heat and power have
  // their say. Otherwise a burst.
  bool sustained = false;

  bool operator==(const Case&) const = default;
};

// The sizes that are not 0, by name, in a fixed order.
std::vector<std::pair<std::string, int64_t>> SizesOf(const Case& measured);
// "gemm m=16 n=1024 k=1024", with " sustained" where it is. Unique.
std::string CaseId(const Case& measured);
// Of a record. Error: no such kind or size, a size below 1.
absl::StatusOr<Case> MakeCase(
    absl::string_view kind, bool sustained,
    const std::vector<std::pair<std::string, int64_t>>& sizes);

// fp32 throughout. Bytes that the caller sees move, each operand once; for
// triads and copies without the read that a write may cause.
double MovedBytes(const Case& measured);
// A multiply-add is two; of causal attention the visible half. 0 where the
// kind is about bytes alone, and for multiply-adds, whose count is the
// backend's.
double Operations(const Case& measured);

}  // namespace mansard::calibrate
