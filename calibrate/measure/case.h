// What is measured: one kernel at one size.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/format.h"

namespace mansard::calibrate {

enum class CaseKind {
  kCopy,              // bytes: of one of the two buffers.
  kTriad,             // bytes: of one of the three.
  kRead,              // bytes: of the buffer, read end to end.
  kMultiplyAdd,       // Independent chains in registers.
  kGemm,              // [m, k] x [n, k]^T, other weights every time.
  kNorm,              // RMS norm of rows x columns.
  kActivation,        // silu(gate) * up, rows x columns results.
  kResidual,          // rows x columns added.
  kDecodeAttention,   // One new token a request over context_tokens.
  kPrefillAttention,  // Causal, context_tokens of each request.
  // What devices beside the host have.
  kCacheRead,          // bytes of L2, which every multiprocessor reads.
  kSharedRead,         // bytes, from shared memory, by all multiprocessors.
  kPointerChase,       // One load whose address the load before it gave.
  kTensorMultiplyAdd,  // Tensor units, operands in registers.
  kExponential,        // Independent chains in registers; fp32.
  kLaunch,             // An empty kernel, submitted by itself.
  kGraphLaunch,        // A graph of `nodes` empty kernels in a row.
  kQuantize,           // rows x columns to fp8, a scale for each row.
  kHostToDevice,       // bytes, from page-locked memory.
  kDeviceToHost,
  kPeerCopy,  // bytes, to the device `peer` of those that are visible.
  // Of `bytes` on each of `ranks` devices: what is reduced, gathered in all,
  // exchanged, sent.
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendReceive,
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
    CaseKind::kCacheRead,
    CaseKind::kSharedRead,
    CaseKind::kPointerChase,
    CaseKind::kTensorMultiplyAdd,
    CaseKind::kExponential,
    CaseKind::kLaunch,
    CaseKind::kGraphLaunch,
    CaseKind::kQuantize,
    CaseKind::kHostToDevice,
    CaseKind::kDeviceToHost,
    CaseKind::kPeerCopy,
    CaseKind::kAllReduce,
    CaseKind::kAllGather,
    CaseKind::kReduceScatter,
    CaseKind::kAllToAll,
    CaseKind::kSendReceive,
};
absl::string_view CaseKindName(CaseKind kind);

// Sizes that the kind does not have are 0.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
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
  // Of a stream: thread blocks, and loads of 16 bytes that each thread has in
  // flight; 0: as many as are fastest.
  int64_t blocks = 0;
  int64_t loads = 0;
  int64_t nodes = 0;
  int64_t ranks = 0;
  int64_t peer = 0;
  // Of what is read; products of 8-bit and narrower formats write bf16, of
  // int8 their 32-bit sums.
  model::Format format = model::Format::kFp32;
  // Repeated without pause for seconds: what is left once heat and power have
  // their say. Otherwise a burst.
  bool sustained = false;

  bool operator==(const Case&) const = default;
};

// The sizes that are not 0, by name, in a fixed order.
std::vector<std::pair<std::string, int64_t>> SizesOf(const Case& measured);
// "gemm m=16 n=1024 k=1024", with the format where it is not fp32, and with
// " sustained" where it is. Unique.
std::string CaseId(const Case& measured);
// Of a record; an empty format is fp32. Error: no such kind, size or format, a
// size below 1.
absl::StatusOr<Case> MakeCase(
    absl::string_view kind, bool sustained,
    const std::vector<std::pair<std::string, int64_t>>& sizes,
    absl::string_view format = "");

// Of an element of a product's result.
model::Format ResultFormat(const Case& measured);
// Bytes that the caller sees move, each operand once; for
// triads and copies without the read that a write may cause.
double MovedBytes(const Case& measured);
// A multiply-add is two; of causal attention the visible half. 0 where the
// kind is about bytes alone, and for multiply-adds and exponentials, whose
// count is the backend's.
double Operations(const Case& measured);

}  // namespace mansard::calibrate
