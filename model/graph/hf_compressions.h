// Which positions each layer of DeepSeek-V4 attends to, and how it chooses
// experts.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// Positions that an entry pools. configuration_deepseek_v4.py.
inline constexpr int64_t kSparseRatio = 4;
inline constexpr int64_t kHeavyRatio = 128;
inline constexpr int64_t kMaxRatio = 65536;
inline constexpr absl::string_view kSparseWord = "compressed_sparse_attention";
inline constexpr absl::string_view kHeavyWord = "heavily_compressed_attention";

// A window alone; entries of few positions, of which an indexer chooses;
// entries of many positions.
enum class Compression { kWindow, kSparse, kHeavy };

// Of the layers, none with a violation where they cannot be read, and of the
// layer of a drafting module.
struct Compressions {
  std::vector<Compression> layers;
  Compression mtp = Compression::kWindow;
};

// By `layer_types`, else by `compress_ratios`: one entry a layer, and one a
// drafting module or none.
Compressions ReadCompressions(HfFile& file, int64_t layer_count,
                              int64_t modules);

// One per layer: whether a table by token id chooses the experts.
std::vector<bool> ReadHashLayers(HfFile& file, int64_t layer_count);

}  // namespace mansard::model
