#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibrate/cpu/prepared_cases.h"
#include "calibrate/cpu/references.h"

namespace mansard::calibrate {
namespace {

// Attention of one query row in double precision over strided keys and values.
std::vector<double> AttentionRow(const float* query, const float* keys,
                                 const float* values, int64_t stride,
                                 int64_t count, int64_t width) {
  std::vector<double> scores(static_cast<size_t>(count));
  double largest = -1e300;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) {
      sum += static_cast<double>(query[j]) * keys[i * stride + j];
    }
    scores[static_cast<size_t>(i)] =
        sum / std::sqrt(static_cast<double>(width));
    largest = std::max(largest, scores[static_cast<size_t>(i)]);
  }
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  std::vector<double> output(static_cast<size_t>(width));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      output[static_cast<size_t>(j)] +=
          scores[static_cast<size_t>(i)] / total * values[i * stride + j];
    }
  }
  return output;
}

absl::Status CheckRow(absl::string_view place, const float* output,
                      const std::vector<double>& reference) {
  for (size_t j = 0; j < reference.size(); ++j) {
    absl::Status status = ExpectNear(absl::StrCat(place, ", element ", j),
                                     output[j], reference[j], 10);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

AttentionSizes SizesOfAttention(const Case& measured) {
  return {measured.requests, measured.context_tokens, measured.query_heads,
          measured.kv_heads, measured.head_size};
}

CpuWork PrefillWork(const AttentionSizes& sizes, CpuOps& ops) {
  const int64_t rows = sizes.requests * sizes.context_tokens;
  auto qkv = RandomFloats(rows * sizes.qkv_width(), 5);
  auto output = PoisonedFloats(rows * sizes.output_width());
  CpuWork work;
  work.once = [=, &ops] {
    ops.PrefillAttention(sizes, qkv->data(), output->data());
  };
  work.verify = [=, &ops] {
    ops.PrefillAttention(sizes, qkv->data(), output->data());
    Randoms randoms(17);
    for (int i = 0; i < 4; ++i) {
      const int64_t request = randoms.Below(sizes.requests);
      const int64_t token = randoms.Below(sizes.context_tokens);
      const int64_t head = randoms.Below(sizes.query_heads);
      const int64_t kv = head / (sizes.query_heads / sizes.kv_heads);
      const float* const first =
          qkv->data() + request * sizes.context_tokens * sizes.qkv_width();
      const float* const keys =
          first + (sizes.query_heads + kv) * sizes.head_size;
      absl::Status status = CheckRow(
          absl::StrCat("token ", token, ", head ", head),
          output->data() +
              (request * sizes.context_tokens + token) * sizes.output_width() +
              head * sizes.head_size,
          AttentionRow(
              first + token * sizes.qkv_width() + head * sizes.head_size, keys,
              keys + sizes.kv_heads * sizes.head_size, sizes.qkv_width(),
              token + 1, sizes.head_size));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  return work;
}

CpuWork DecodeWork(const AttentionSizes& sizes, CpuOps& ops, ColdPool& pool) {
  auto qkv = RandomFloats(sizes.requests * sizes.qkv_width(), 6);
  auto output = PoisonedFloats(sizes.requests * sizes.output_width());
  const size_t elements = static_cast<size_t>(sizes.cache_elements());
  const auto run = [=, &ops, &pool] {
    float* const keys = pool.Take(2 * elements);
    ops.DecodeAttention(sizes, qkv->data(), keys, keys + elements,
                        output->data());
    return keys;
  };
  CpuWork work;
  work.once = [run] { run(); };
  work.verify = [=] {
    const float* const keys = run();
    Randoms randoms(19);
    for (int i = 0; i < 4; ++i) {
      const int64_t request = randoms.Below(sizes.requests);
      const int64_t head = randoms.Below(sizes.query_heads);
      const int64_t kv = head / (sizes.query_heads / sizes.kv_heads);
      const int64_t plane = (request * sizes.kv_heads + kv) *
                            sizes.context_tokens * sizes.head_size;
      absl::Status status = CheckRow(
          absl::StrCat("request ", request, ", head ", head),
          output->data() + request * sizes.output_width() +
              head * sizes.head_size,
          AttentionRow(qkv->data() + request * sizes.qkv_width() +
                           head * sizes.head_size,
                       keys + plane, keys + elements + plane, sizes.head_size,
                       sizes.context_tokens, sizes.head_size));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  return work;
}

}  // namespace

CpuWork AttentionWork(const Case& measured, CpuOps& ops, ColdPool& pool) {
  const AttentionSizes sizes = SizesOfAttention(measured);
  return measured.kind == CaseKind::kDecodeAttention
             ? DecodeWork(sizes, ops, pool)
             : PrefillWork(sizes, ops);
}

}  // namespace mansard::calibrate
