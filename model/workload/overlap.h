// Computation and communication at the same time.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::model {

// Two-batch overlap: the requests go in two halves, and while one half
// communicates the other computes. Of the streams' times A and B,
//   T = max(A, B) + (1 - efficiency) min(A, B)
// Source: Mansard design, performance model §1.10. The efficiency is an
// expectation, 0.8 +- 0.2, and not measured.
//
// Overlap behind GEMMs: an all-reduce or reduce-scatter runs in k chunks, each
// as soon as the row-parallel GEMM before it has computed what it sums; an
// all-gather likewise ahead of the column-parallel GEMM after it. Of the GEMM's
// time G and the time c of a chunk of the message, its own alpha included,
//   T(k) = G + k c - efficiency (k - 1) min(G / k, c)
// At efficiency 1 that is the end of a pipeline of two stages: what is exposed
// is one chunk's latency and what communication exceeds the GEMM by. k is 1
// (no overlap, the message whole), 2, 4, ... 32, whichever is fastest, with at
// least a wave of tiles of 128 x 128 a chunk: results of one wave are there at
// the same time. So small batches run as without. Source: the technique of
// fused GEMMs and collectives (Flux, "Fast software-based communication overlap
// on GPUs through kernel fusion"; GEMM-all-reduce kernels of TensorRT-LLM); the
// efficiency is an assumption, 0.8 +- 0.2, and not measured. Valid: bf16 and
// fp8 products of 1,024 tokens and more on 2 to 8 ranks of a node.
struct Overlap {
  enum class Kind { kTwoBatch, kGemm };

  static constexpr double kDefaultEfficiency = 0.8;
  // Of the efficiency, to either side, within 0 to 1.
  static constexpr double kEfficiencySpread = 0.2;
  static constexpr int kMostChunks = 32;

  double efficiency = kDefaultEfficiency;
  // That communication takes from computation: of two batches throughout, of
  // GEMMs those beside which it runs; 0 where copy engines, switches or network
  // cards move the data.
  int multiprocessors = 0;
  Kind kind = Kind::kTwoBatch;

  // To either side of it.
  double Best() const;
  double Worst() const;

  bool operator==(const Overlap&) const = default;
};

// "two-batch", "gemm".
absl::string_view OverlapKindName(Overlap::Kind kind);
std::optional<Overlap::Kind> ParseOverlapKind(absl::string_view name);
std::string OverlapKindNames();

}  // namespace mansard::model
