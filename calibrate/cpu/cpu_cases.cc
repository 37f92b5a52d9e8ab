#include "calibrate/cpu/cpu_cases.h"

namespace mansard::calibrate {
namespace {

// Streams: a buffer is so many times the last level's cache, or of a fixed size
// where that is 0.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct StreamRow {
  CaseKind kind;
  double caches;
  int64_t bytes;
  bool quick;
};
constexpr StreamRow kStreams[] = {
    {CaseKind::kRead, 4, 0, true},
    {CaseKind::kTriad, 4, 0, true},
    {CaseKind::kCopy, 4, 0, false},
    // The cache sweep.
    {CaseKind::kRead, 0.25, 0, true},
    {CaseKind::kRead, 0, 16 << 10, true},
    {CaseKind::kRead, 0, 64 << 10, false},
    {CaseKind::kRead, 0, 256 << 10, false},
    {CaseKind::kRead, 0, 1 << 20, false},
    {CaseKind::kRead, 0, 4 << 20, false},
    {CaseKind::kRead, 0.5, 0, false},
    {CaseKind::kRead, 2, 0, false},
};

// Products of weights as layers have them, wide and deep. What OpenBLAS makes
// of the memory's rate with few rows differs by a tenth from shape to shape and
// follows no rule: several of them tell the middle. No layer that a prediction
// is checked on has one of them.
struct WeightRow {
  int64_t n;
  int64_t k;
  bool quick;
};
constexpr WeightRow kWeights[] = {
    {3072, 1536, true},
    {1536, 3072, true},
    {2560, 2048, true},
    {1280, 4096, true},
    {5120, 1280, true},
    {768, 768, false},
    {6144, 1536, false},
    {1280, 5120, false},
    {1664, 3200, false},
    // As large as a head over a vocabulary.
    {32768, 1024, false},
};
struct TokensRow {
  int64_t m;
  bool quick;
};
constexpr TokensRow kTokens[] = {
    {1, true},   {16, true}, {128, true}, {4, true},   {384, true},
    {64, false}, {2, false}, {8, false},  {32, false}, {768, false},
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct ElementwiseRow {
  CaseKind kind;
  int64_t rows;
  int64_t columns;
  bool quick;
};
constexpr ElementwiseRow kElementwise[] = {
    {CaseKind::kNorm, 1, 768, false},
    {CaseKind::kNorm, 1, 1536, true},
    {CaseKind::kNorm, 4, 1536, true},
    {CaseKind::kNorm, 12, 1536, false},
    {CaseKind::kNorm, 32, 1536, true},
    {CaseKind::kNorm, 96, 1536, true},
    {CaseKind::kNorm, 192, 1536, false},
    {CaseKind::kNorm, 384, 1536, true},
    {CaseKind::kActivation, 1, 2048, false},
    {CaseKind::kActivation, 1, 4096, true},
    {CaseKind::kActivation, 4, 4096, true},
    {CaseKind::kActivation, 12, 4096, false},
    {CaseKind::kActivation, 32, 4096, true},
    {CaseKind::kActivation, 96, 4096, false},
    {CaseKind::kActivation, 128, 4096, true},
    {CaseKind::kActivation, 256, 4096, true},
    {CaseKind::kResidual, 1, 768, false},
    {CaseKind::kResidual, 1, 1536, true},
    {CaseKind::kResidual, 4, 1536, true},
    {CaseKind::kResidual, 12, 1536, false},
    {CaseKind::kResidual, 32, 1536, true},
    {CaseKind::kResidual, 96, 1536, true},
    {CaseKind::kResidual, 192, 1536, false},
    {CaseKind::kResidual, 384, 1536, true},
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct AttentionRow {
  CaseKind kind;
  int64_t requests;
  int64_t context_tokens;
  bool quick;
  int64_t query_heads = 12;
  int64_t kv_heads = 6;
};
constexpr AttentionRow kAttention[] = {
    {CaseKind::kDecodeAttention, 1, 192, true},
    {CaseKind::kDecodeAttention, 1, 768, true},
    {CaseKind::kDecodeAttention, 4, 384, true},
    {CaseKind::kDecodeAttention, 4, 96, true},
    {CaseKind::kDecodeAttention, 12, 192, true},
    {CaseKind::kDecodeAttention, 12, 320, true},
    {CaseKind::kDecodeAttention, 12, 768, false},
    {CaseKind::kDecodeAttention, 1, 3072, false, 32, 8},
    {CaseKind::kDecodeAttention, 6, 640, false, 16, 16},
    {CaseKind::kDecodeAttention, 1, 48, false, 4, 1},
    {CaseKind::kPrefillAttention, 1, 96, true},
    {CaseKind::kPrefillAttention, 1, 192, true},
    {CaseKind::kPrefillAttention, 1, 320, true},
    {CaseKind::kPrefillAttention, 1, 448, true},
    {CaseKind::kPrefillAttention, 1, 640, true},
    {CaseKind::kPrefillAttention, 2, 160, true},
    {CaseKind::kPrefillAttention, 1, 224, false, 32, 8},
    {CaseKind::kPrefillAttention, 1, 1536, false, 4, 1},
};
constexpr int64_t kHeadSize = 128;

template <class Row>
bool Wanted(const Row& row, Extent extent) {
  return row.quick || extent == Extent::kFull;
}

void AddGemms(Extent extent, std::vector<Case>& cases) {
  for (const TokensRow& tokens : kTokens) {
    if (!Wanted(tokens, extent)) continue;
    for (const WeightRow& weights : kWeights) {
      if (!Wanted(weights, extent)) continue;
      cases.push_back({.kind = CaseKind::kGemm,
                       .m = tokens.m,
                       .n = weights.n,
                       .k = weights.k});
    }
  }
}

}  // namespace

std::vector<Case> CpuCases(int64_t cache_bytes, Extent extent) {
  std::vector<Case> cases;
  cases.push_back({.kind = CaseKind::kMultiplyAdd});
  for (const StreamRow& row : kStreams) {
    if (!Wanted(row, extent)) continue;
    const int64_t bytes =
        row.bytes > 0 ? row.bytes
                      : static_cast<int64_t>(row.caches *
                                             static_cast<double>(cache_bytes));
    cases.push_back({.kind = row.kind, .bytes = bytes});
  }
  AddGemms(extent, cases);
  for (const ElementwiseRow& row : kElementwise) {
    if (!Wanted(row, extent)) continue;
    cases.push_back(
        {.kind = row.kind, .rows = row.rows, .columns = row.columns});
  }
  for (const AttentionRow& row : kAttention) {
    if (!Wanted(row, extent)) continue;
    cases.push_back({.kind = row.kind,
                     .requests = row.requests,
                     .context_tokens = row.context_tokens,
                     .query_heads = row.query_heads,
                     .kv_heads = row.kv_heads,
                     .head_size = kHeadSize});
  }
  if (extent == Extent::kFull) {
    cases.push_back({.kind = CaseKind::kMultiplyAdd, .sustained = true});
    cases.push_back({.kind = CaseKind::kGemm,
                     .m = 768,
                     .n = 3072,
                     .k = 1536,
                     .sustained = true});
  }
  return cases;
}

}  // namespace mansard::calibrate
