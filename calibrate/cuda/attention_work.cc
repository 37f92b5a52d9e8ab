#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;

constexpr int64_t kNumberBytes = 2;     // bf16.
constexpr int64_t kTilePositions = 64;  // Of the kernels.
constexpr int64_t kMostParts = 128;
constexpr int64_t kBlocksPerMultiprocessor = 2;
constexpr int64_t kRowsTogether = 16;  // Query heads of a KV head, at most.
constexpr int kCheckedRows = 3;
constexpr int64_t kChunkPositions = 2048;  // Read back at a time.
// Weights are rounded to bf16 before they multiply values.
constexpr double kWeightShare = 0x1p-9;

GpuAttention ShapeOf(const Case& measured) {
  return {measured.requests, measured.context_tokens,
          static_cast<int>(measured.query_heads),
          static_cast<int>(measured.kv_heads),
          static_cast<int>(measured.head_size)};
}

absl::Status CheckShape(const Case& measured) {
  const bool head = measured.head_size == 64 || measured.head_size == 128;
  if (measured.format == Format::kBf16 && head &&
      measured.query_heads % measured.kv_heads == 0 &&
      measured.query_heads / measured.kv_heads <= kRowsTogether) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      "the kernels of our own attend in bf16, with heads of 64 or 128 and up "
      "to 16 query heads of a KV head");
}

// Queries, keys, values of the first set, outputs, in device memory.
struct Operands {
  const void* queries = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  void* outputs = nullptr;
};

// One row of queries against `visible` positions, in double precision. Adds up
// weights relative to the largest score so far.
class Reference {
 public:
  explicit Reference(std::vector<double> query)
      : query_(std::move(query)), sums_(query_.size(), 0), sizes_(sums_) {}

  void Add(const double* key, const double* value) {
    double score = 0;
    for (size_t i = 0; i < query_.size(); ++i) score += query_[i] * key[i];
    score /= std::sqrt(static_cast<double>(query_.size()));
    const double largest = std::max(largest_, score);
    const double fade = std::exp(largest_ - largest);
    const double weight = std::exp(score - largest);
    largest_ = largest;
    weights_ = weights_ * fade + weight;
    for (size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] = sums_[i] * fade + weight * value[i];
      sizes_[i] = sizes_[i] * fade + weight * std::abs(value[i]);
    }
  }

  absl::Status Check(absl::string_view row,
                     const std::vector<double>& outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const double expected = sums_[i] / weights_;
      RETURN_IF_ERROR(
          CheckNear(absl::StrCat(row, " column ", i), outputs[i], expected,
                    ToleranceOf(expected, sizes_[i] / weights_, kWeightShare)));
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<double> query_;
  double largest_ = -1e300;
  double weights_ = 0;
  std::vector<double> sums_;
  std::vector<double> sizes_;
};

// Of `count` positions of `width` numbers each, those of one head.
absl::StatusOr<std::vector<double>> ReadHead(Gpu& gpu, const void* from,
                                             int64_t at, int64_t count,
                                             int64_t width, int64_t column,
                                             int64_t size) {
  const int64_t bytes = count * width * kNumberBytes;
  std::vector<uint8_t> stored(static_cast<size_t>(bytes));
  RETURN_IF_ERROR(gpu.Read(static_cast<const char*>(from) + at * kNumberBytes,
                           stored.data(), bytes));
  std::vector<uint8_t> head;
  head.reserve(static_cast<size_t>(count * size * kNumberBytes));
  for (int64_t i = 0; i < count; ++i) {
    const auto first = stored.begin() + (i * width + column) * kNumberBytes;
    head.insert(head.end(), first, first + size * kNumberBytes);
  }
  return Decode(Format::kBf16, head, count * size);
}

absl::Status CheckRow(Gpu& gpu, const Case& measured, const Operands& operands,
                      int64_t request, int64_t head, int64_t query_at,
                      int64_t visible) {
  const int64_t size = measured.head_size;
  const int64_t width = measured.kv_heads * size;
  const int64_t kv_head = head / (measured.query_heads / measured.kv_heads);
  ASSIGN_OR_RETURN(
      std::vector<double> query,
      ReadNumbers(gpu, operands.queries, Format::kBf16, query_at, size));
  Reference reference(std::move(query));
  for (int64_t first = 0; first < visible; first += kChunkPositions) {
    const int64_t count = std::min(kChunkPositions, visible - first);
    const int64_t at = (request * measured.context_tokens + first) * width;
    ASSIGN_OR_RETURN(
        const std::vector<double> keys,
        ReadHead(gpu, operands.keys, at, count, width, kv_head * size, size));
    ASSIGN_OR_RETURN(
        const std::vector<double> values,
        ReadHead(gpu, operands.values, at, count, width, kv_head * size, size));
    for (int64_t i = 0; i < count; ++i) {
      reference.Add(&keys[static_cast<size_t>(i * size)],
                    &values[static_cast<size_t>(i * size)]);
    }
  }
  ASSIGN_OR_RETURN(
      const std::vector<double> outputs,
      ReadNumbers(gpu, operands.outputs, Format::kBf16, query_at, size));
  return reference.Check(absl::StrCat("request ", request, " head ", head,
                                      " of ", visible, " positions:"),
                         outputs);
}

// Of decodes the last positions, of prompts rows anywhere and the last.
absl::Status CheckAttention(Gpu& gpu, const Case& measured,
                            const Operands& operands) {
  const bool decodes = measured.kind == CaseKind::kDecodeAttention;
  CheckedPlaces places;
  for (int i = 0; i < kCheckedRows; ++i) {
    const int64_t request = places.Below(measured.requests);
    const int64_t head = places.Below(measured.query_heads);
    const int64_t last = measured.context_tokens - 1;
    const int64_t token =
        decodes || i == 0 ? last : places.Below(measured.context_tokens);
    const int64_t row =
        decodes ? request : request * measured.context_tokens + token;
    RETURN_IF_ERROR(CheckRow(
        gpu, measured, operands, request, head,
        (row * measured.query_heads + head) * measured.head_size, token + 1));
  }
  return absl::OkStatus();
}

std::function<absl::Status()> MakeVerify(
    Gpu& gpu, const Case& measured, const Operands& operands,
    int64_t output_bytes, std::function<absl::Status(int64_t)> run) {
  return [&gpu, measured, operands, output_bytes,
          run = std::move(run)]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(operands.outputs, 0xff, output_bytes));
    RETURN_IF_ERROR(run(0));
    return CheckAttention(gpu, measured, operands);
  };
}

// Parts of the cache: blocks for all multiprocessors.
int64_t PartsOf(const Case& measured, int multiprocessors) {
  const int64_t tiles =
      (measured.context_tokens + kTilePositions - 1) / kTilePositions;
  const int64_t pairs = measured.requests * measured.kv_heads;
  const int64_t wanted =
      (kBlocksPerMultiprocessor * multiprocessors + pairs - 1) / pairs;
  return std::clamp<int64_t>(wanted, 1, std::min(tiles, kMostParts));
}

}  // namespace

absl::StatusOr<CudaWork> MakeDecodeWork(Gpu& gpu, const Case& measured) {
  RETURN_IF_ERROR(CheckShape(measured));
  const GpuAttention shape = ShapeOf(measured);
  const int64_t heads = measured.requests * measured.query_heads;
  const int64_t query_bytes = heads * measured.head_size * kNumberBytes;
  const int64_t cache_bytes = measured.requests * measured.context_tokens *
                              measured.kv_heads * measured.head_size *
                              kNumberBytes;
  const int64_t parts = PartsOf(measured, gpu.facts().multiprocessors);
  CudaWork work;
  ASSIGN_OR_RETURN(work.sets, PlanColdSets(gpu, 2 * cache_bytes));
  Operands operands;
  ASSIGN_OR_RETURN(operands.queries,
                   HoldRandom(gpu, Format::kBf16, query_bytes, 8, work));
  ASSIGN_OR_RETURN(operands.keys, HoldRandom(gpu, Format::kBf16,
                                             work.sets * cache_bytes, 9, work));
  ASSIGN_OR_RETURN(
      operands.values,
      HoldRandom(gpu, Format::kBf16, work.sets * cache_bytes, 10, work));
  ASSIGN_OR_RETURN(operands.outputs, Hold(gpu, query_bytes, work));
  const int64_t room_floats = heads * parts * (measured.head_size + 2);
  ASSIGN_OR_RETURN(void* const room,
                   Hold(gpu, room_floats * int64_t{sizeof(float)}, work));
  work.enqueue = [&gpu, shape, parts, operands, cache_bytes,
                  room](int64_t set) {
    const auto at = [&](const void* data) {
      return static_cast<const char*>(data) + set * cache_bytes;
    };
    return gpu.kernels().Decode(shape, parts, operands.queries,
                                at(operands.keys), at(operands.values),
                                operands.outputs, static_cast<float*>(room));
  };
  work.verify = MakeVerify(gpu, measured, operands, query_bytes, work.enqueue);
  return work;
}

absl::StatusOr<CudaWork> MakePrefillWork(Gpu& gpu, const Case& measured) {
  RETURN_IF_ERROR(CheckShape(measured));
  const GpuAttention shape = ShapeOf(measured);
  const int64_t row_bytes = measured.requests * measured.context_tokens *
                            measured.head_size * kNumberBytes;
  const int64_t query_bytes = row_bytes * measured.query_heads;
  CudaWork work;
  Operands operands;
  ASSIGN_OR_RETURN(operands.queries,
                   HoldRandom(gpu, Format::kBf16, query_bytes, 11, work));
  ASSIGN_OR_RETURN(
      operands.keys,
      HoldRandom(gpu, Format::kBf16, row_bytes * measured.kv_heads, 12, work));
  ASSIGN_OR_RETURN(
      operands.values,
      HoldRandom(gpu, Format::kBf16, row_bytes * measured.kv_heads, 13, work));
  ASSIGN_OR_RETURN(operands.outputs, Hold(gpu, query_bytes, work));
  work.enqueue = [&gpu, shape, operands](int64_t) {
    return gpu.kernels().Prefill(shape, operands.queries, operands.keys,
                                 operands.values, operands.outputs);
  };
  work.verify = MakeVerify(gpu, measured, operands, query_bytes, work.enqueue);
  return work;
}

}  // namespace mansard::calibrate
