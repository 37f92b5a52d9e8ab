#include "calibrate/cuda/cuda_cases.h"

#include <algorithm>

namespace mansard::calibrate {
namespace {

using model::Format;

constexpr int64_t kKi = 1 << 10;
constexpr int64_t kMi = 1 << 20;

struct FormatRow {
  Format format;
  int since;  // Compute capability.
  bool products;
  bool tensor_issue;  // A mma.sync of its own.
};
constexpr FormatRow kFormats[] = {
    {Format::kBf16, 80, true, true},    {Format::kFp8E4m3, 89, true, true},
    {Format::kFp16, 80, true, true},    {Format::kInt8, 80, true, true},
    {Format::kNvfp4, 100, true, false}, {Format::kTf32, 80, false, true},
};

// Streams through memory, of a buffer's bytes; the first are the device's
// bandwidth.
struct StreamRow {
  CaseKind kind;
  int64_t bytes;
};
constexpr StreamRow kStreams[] = {
    {CaseKind::kRead, 2048 * kMi},  {CaseKind::kCopy, 1024 * kMi},
    {CaseKind::kTriad, 1024 * kMi}, {CaseKind::kRead, 1 * kMi},
    {CaseKind::kRead, 4 * kMi},     {CaseKind::kRead, 16 * kMi},
    {CaseKind::kRead, 64 * kMi},    {CaseKind::kRead, 256 * kMi},
};
// Bytes in flight: so many multiprocessors' worth of blocks (0: all), loads of
// a thread. A block has 512 threads.
struct FlightRow {
  int64_t blocks;
  int64_t loads;
};
constexpr FlightRow kFlights[] = {{1, 1},  {1, 4}, {1, 16}, {4, 4}, {16, 4},
                                  {64, 4}, {0, 1}, {0, 2},  {0, 4}, {0, 16}};
constexpr int64_t kFlightBytes = 256 * kMi;

// L2: fixed footprints, then shares of it.
constexpr int64_t kCacheBytes[] = {1 * kMi, 4 * kMi, 16 * kMi};
constexpr double kCacheShares[] = {0.5, 1, 2};
constexpr int64_t kSharedBytes = 32768 * kMi;  // About a millisecond.
// Latency: of L1, then shares of L2.
constexpr int64_t kChaseBytes = 16 * kKi;
constexpr double kChaseShares[] = {0.125, 4};
constexpr int64_t kNodes[] = {1, 10, 100, 1000};

// Weights of transformer layers, of one device and of parts of one.
struct WeightRow {
  int64_t n;
  int64_t k;
};
constexpr WeightRow kWeights[] = {
    {8192, 8192}, {6144, 4096},  {28672, 4096}, {4096, 14336},
    {4096, 4096}, {10240, 8192}, {57344, 8192}, {8192, 28672},
    {1280, 8192}, {7168, 8192},  {8192, 3584},  {3072, 1536},
};
constexpr int64_t kTokens[] = {1,    16, 128, 1024, 8192, 64, 512,
                               4096, 4,  32,  256,  2048, 8,  2};
constexpr int64_t kSustainedSide = 8192;

struct HeadRow {
  int64_t query_heads;
  int64_t kv_heads;
  int64_t head_size;
};
constexpr HeadRow kHeads[] = {{32, 8, 128}, {8, 1, 128}, {16, 4, 64}};
constexpr int64_t kDecodeRequests[] = {1, 4, 16, 64, 128, 256};
constexpr int64_t kDecodeTokens[] = {128, 512, 2048, 8192, 32768};
constexpr int64_t kPromptRequests[] = {1, 4};
constexpr int64_t kPromptTokens[] = {128, 256, 512, 1024, 2048, 4096, 8192};
constexpr double kMostCacheBytes = 4e9;

constexpr CaseKind kElementwise[] = {CaseKind::kNorm, CaseKind::kActivation,
                                     CaseKind::kResidual, CaseKind::kQuantize};
constexpr int64_t kRows[] = {1, 8, 32, 128, 512, 2048, 8192};
constexpr int64_t kColumns[] = {4096, 14336};

constexpr CaseKind kHostCopies[] = {CaseKind::kHostToDevice,
                                    CaseKind::kDeviceToHost};
constexpr int64_t kCopyBytes[] = {4 * kKi,  64 * kKi,  1 * kMi,
                                  16 * kMi, 256 * kMi, 1024 * kMi};
constexpr CaseKind kCollectives[] = {
    CaseKind::kAllReduce, CaseKind::kAllGather, CaseKind::kReduceScatter,
    CaseKind::kAllToAll, CaseKind::kSendReceive};
constexpr int64_t kRanks[] = {2, 4, 8};
constexpr int64_t kMessageBytes[] = {1 * kKi,   4 * kKi,  16 * kKi, 64 * kKi,
                                     256 * kKi, 1 * kMi,  4 * kMi,  16 * kMi,
                                     64 * kMi,  256 * kMi};

// A share of L2 in whole blocks of 512 threads' loads.
int64_t ShareOf(double share, int64_t l2_bytes) {
  constexpr int64_t kWhole = 8 * kKi;
  return std::max<int64_t>(
             static_cast<int64_t>(share * static_cast<double>(l2_bytes)) /
                 kWhole,
             1) *
         kWhole;
}

class TableMaker {
 public:
  explicit TableMaker(const CudaLimits& limits) : limits_(limits) {}

  std::vector<Case> Make() {
    AddDevice();
    AddProducts();
    AddAttention();
    AddElementwise();
    AddCopies();
    AddCollectives();
    AddSustained();
    return std::move(cases_);
  }

 private:
  void AddDevice() {
    for (const StreamRow& row : kStreams) {
      cases_.push_back(
          {.kind = row.kind,
           .bytes = std::min(row.bytes, limits_.memory_bytes / 8 / kMi * kMi)});
    }
    for (const int64_t bytes : kCacheBytes) AddCache(bytes);
    for (const double share : kCacheShares) {
      AddCache(ShareOf(share, limits_.l2_bytes));
    }
    cases_.push_back({.kind = CaseKind::kSharedRead, .bytes = kSharedBytes});
    cases_.push_back({.kind = CaseKind::kPointerChase, .bytes = kChaseBytes});
    for (const double share : kChaseShares) {
      cases_.push_back({.kind = CaseKind::kPointerChase,
                        .bytes = ShareOf(share, limits_.l2_bytes)});
    }
    for (const Format format : {Format::kFp32, Format::kFp16, Format::kBf16}) {
      cases_.push_back({.kind = CaseKind::kMultiplyAdd, .format = format});
    }
    for (const FormatRow& row : kFormats) {
      if (!row.tensor_issue || limits_.compute_capability < row.since) continue;
      cases_.push_back(
          {.kind = CaseKind::kTensorMultiplyAdd, .format = row.format});
    }
    cases_.push_back({.kind = CaseKind::kExponential});
    cases_.push_back({.kind = CaseKind::kLaunch});
    for (const int64_t nodes : kNodes) {
      cases_.push_back({.kind = CaseKind::kGraphLaunch, .nodes = nodes});
    }
    for (const FlightRow& row : kFlights) {
      const int64_t blocks =
          row.blocks == 0 ? limits_.multiprocessors : row.blocks;
      if (row.blocks >= limits_.multiprocessors) continue;
      cases_.push_back({.kind = CaseKind::kRead,
                        .bytes = kFlightBytes,
                        .blocks = blocks,
                        .loads = row.loads});
    }
  }

  void AddCache(int64_t bytes) {
    const Case added{.kind = CaseKind::kCacheRead, .bytes = bytes};
    if (std::find(cases_.begin(), cases_.end(), added) == cases_.end()) {
      cases_.push_back(added);
    }
  }

  void AddProducts() {
    for (const Format format : CudaProductFormats(limits_.compute_capability)) {
      for (const int64_t m : kTokens) {
        for (const WeightRow& weights : kWeights) {
          cases_.push_back({.kind = CaseKind::kGemm,
                            .m = m,
                            .n = weights.n,
                            .k = weights.k,
                            .format = format});
        }
      }
    }
  }

  void AddAttention() {
    for (const HeadRow& heads : kHeads) {
      for (const int64_t requests : kDecodeRequests) {
        for (const int64_t tokens : kDecodeTokens) {
          AddAttentionCase(CaseKind::kDecodeAttention, requests, tokens, heads);
        }
      }
    }
    for (const HeadRow& heads : kHeads) {
      for (const int64_t requests : kPromptRequests) {
        for (const int64_t tokens : kPromptTokens) {
          AddAttentionCase(CaseKind::kPrefillAttention, requests, tokens,
                           heads);
        }
      }
    }
  }

  void AddAttentionCase(CaseKind kind, int64_t requests, int64_t tokens,
                        const HeadRow& heads) {
    const Case added{.kind = kind,
                     .requests = requests,
                     .context_tokens = tokens,
                     .query_heads = heads.query_heads,
                     .kv_heads = heads.kv_heads,
                     .head_size = heads.head_size,
                     .format = Format::kBf16};
    const double most = std::min(kMostCacheBytes,
                                 static_cast<double>(limits_.memory_bytes) / 8);
    if (MovedBytes(added) <= most) cases_.push_back(added);
  }

  void AddElementwise() {
    for (const CaseKind kind : kElementwise) {
      if (kind == CaseKind::kQuantize && limits_.compute_capability < 89) {
        continue;
      }
      for (const int64_t rows : kRows) {
        for (const int64_t columns : kColumns) {
          cases_.push_back({.kind = kind,
                            .rows = rows,
                            .columns = columns,
                            .format = Format::kBf16});
        }
      }
    }
  }

  void AddCopies() {
    for (const CaseKind kind : kHostCopies) {
      for (const int64_t bytes : kCopyBytes) {
        cases_.push_back({.kind = kind, .bytes = bytes});
      }
    }
    for (int64_t peer = 1; peer < limits_.devices; ++peer) {
      for (const int64_t bytes : kCopyBytes) {
        cases_.push_back(
            {.kind = CaseKind::kPeerCopy, .bytes = bytes, .peer = peer});
      }
    }
  }

  void AddCollectives() {
    for (const CaseKind kind : kCollectives) {
      for (const int64_t ranks : kRanks) {
        if (ranks > limits_.devices) continue;
        if (kind == CaseKind::kSendReceive && ranks > 2) continue;
        for (const int64_t bytes : kMessageBytes) {
          cases_.push_back({.kind = kind,
                            .bytes = bytes,
                            .ranks = ranks,
                            .format = Format::kBf16});
        }
      }
    }
  }

  // What is left once power and heat have their say.
  void AddSustained() {
    for (const Format format : CudaProductFormats(limits_.compute_capability)) {
      cases_.push_back({.kind = CaseKind::kGemm,
                        .m = kSustainedSide,
                        .n = kSustainedSide,
                        .k = kSustainedSide,
                        .format = format,
                        .sustained = true});
    }
    cases_.push_back({.kind = CaseKind::kRead,
                      .bytes = cases_.front().bytes,
                      .sustained = true});
  }

  const CudaLimits& limits_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Format> CudaProductFormats(int compute_capability) {
  std::vector<Format> formats;
  for (const FormatRow& row : kFormats) {
    if (row.products && compute_capability >= row.since) {
      formats.push_back(row.format);
    }
  }
  return formats;
}

std::vector<Case> CudaCases(const CudaLimits& limits) {
  return TableMaker(limits).Make();
}

}  // namespace mansard::calibrate
