// The kernels of device code, run on the host by simt_emulator.cuh and held
// against double precision.
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "calibrate/cuda/attention_kernels.cuh"
#include "calibrate/cuda/elementwise_kernels.cuh"
#include "calibrate/cuda/random.cuh"
#include "calibrate/cuda/stream_kernels.cuh"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using Bf16 = __nv_bfloat16;

std::vector<Bf16> RandomNumbers(int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  std::vector<Bf16> numbers(static_cast<size_t>(count));
  for (Bf16& number : numbers) number = __float2bfloat16(normal(bits));
  return numbers;
}

double At(const std::vector<Bf16>& numbers, int64_t i) {
  return __bfloat162float(numbers[static_cast<size_t>(i)]);
}

// Poisoned: a result that is not written shows.
std::vector<Bf16> Poisoned(int64_t count) {
  return std::vector<Bf16>(static_cast<size_t>(count),
                           __float2bfloat16(std::nanf("")));
}

struct Shape {
  int64_t requests;
  int64_t tokens;
  int query_heads;
  int kv_heads;
};

// Attention of one query over `visible` positions of a request's KV head.
template <int kHead>
std::vector<double> Reference(const Shape& shape, const Bf16* query,
                              const std::vector<Bf16>& keys,
                              const std::vector<Bf16>& values, int64_t request,
                              int kv_head, int64_t visible) {
  std::vector<double> weights;
  double sum = 0;
  const auto base = [&](int64_t position) {
    return ((request * shape.tokens + position) * shape.kv_heads + kv_head) *
           kHead;
  };
  for (int64_t p = 0; p < visible; ++p) {
    double score = 0;
    for (int d = 0; d < kHead; ++d) {
      score += double{__bfloat162float(query[d])} * At(keys, base(p) + d);
    }
    weights.push_back(std::exp(score / std::sqrt(kHead)));
    sum += weights.back();
  }
  std::vector<double> output(kHead, 0);
  for (int64_t p = 0; p < visible; ++p) {
    for (int d = 0; d < kHead; ++d) {
      output[static_cast<size_t>(d)] +=
          weights[static_cast<size_t>(p)] / sum * At(values, base(p) + d);
    }
  }
  return output;
}

constexpr double kTolerance = 0.012;  // Of values of size 1, in bf16.

template <int kHead>
float Scale() {
  return static_cast<float>(1.4426950408889634 / std::sqrt(kHead));
}

template <int kHead>
void CheckPrefill(const Shape& shape) {
  const int64_t rows = shape.requests * shape.tokens;
  const auto queries = RandomNumbers(rows * shape.query_heads * kHead, 1);
  const auto keys = RandomNumbers(rows * shape.kv_heads * kHead, 2);
  const auto values = RandomNumbers(rows * shape.kv_heads * kHead, 3);
  auto outputs = Poisoned(rows * shape.query_heads * kHead);
  const auto tiles =
      static_cast<unsigned>((shape.tokens + kPrefillRows - 1) / kPrefillRows);
  RunGrid(dim3(tiles, static_cast<unsigned>(shape.query_heads),
               static_cast<unsigned>(shape.requests)),
          kAttentionThreads, AttentionSharedBytes<kHead>(), [&] {
            PrefillKernel<kHead>(queries.data(), keys.data(), values.data(),
                                 outputs.data(), shape.tokens,
                                 shape.query_heads, shape.kv_heads,
                                 Scale<kHead>());
          });
  for (int64_t row = 0; row < rows; ++row) {
    for (int head = 0; head < shape.query_heads; ++head) {
      const int64_t at = (row * shape.query_heads + head) * kHead;
      const auto expected = Reference<kHead>(
          shape, queries.data() + at, keys, values, row / shape.tokens,
          head / (shape.query_heads / shape.kv_heads), row % shape.tokens + 1);
      for (int d = 0; d < kHead; ++d) {
        ASSERT_NEAR(
            At(outputs, at + d), expected[static_cast<size_t>(d)],
            kTolerance *
                std::max(1.0, std::abs(expected[static_cast<size_t>(d)])))
            << "row " << row << " head " << head << " column " << d;
      }
    }
  }
}

template <int kHead>
void CheckDecode(const Shape& shape, int64_t part_tiles) {
  const int64_t heads = shape.requests * shape.query_heads;
  const int64_t cached = shape.requests * shape.tokens * shape.kv_heads;
  const auto queries = RandomNumbers(heads * kHead, 4);
  const auto keys = RandomNumbers(cached * kHead, 5);
  const auto values = RandomNumbers(cached * kHead, 6);
  auto outputs = Poisoned(heads * kHead);
  const int64_t tiles = (shape.tokens + kTilePositions - 1) / kTilePositions;
  const int64_t parts = (tiles + part_tiles - 1) / part_tiles;
  std::vector<float> partial(static_cast<size_t>(heads * parts * kHead),
                             std::nanf(""));
  std::vector<float2> weights(static_cast<size_t>(heads * parts));
  const DecodeParts split{partial.data(), weights.data()};
  RunGrid(
      dim3(static_cast<unsigned>(parts), static_cast<unsigned>(shape.kv_heads),
           static_cast<unsigned>(shape.requests)),
      kAttentionThreads, AttentionSharedBytes<kHead>(), [&] {
        DecodeKernel<kHead>(queries.data(), keys.data(), values.data(),
                            outputs.data(), split, shape.tokens,
                            part_tiles * kTilePositions, shape.query_heads,
                            shape.kv_heads, Scale<kHead>());
      });
  if (parts > 1) {
    RunGrid(dim3(static_cast<unsigned>(heads)), kHead, 0, [&] {
      CombineKernel<kHead>(split, static_cast<int>(parts), outputs.data());
    });
  }
  for (int64_t head = 0; head < heads; ++head) {
    const auto expected =
        Reference<kHead>(shape, queries.data() + head * kHead, keys, values,
                         head / shape.query_heads,
                         static_cast<int>(head % shape.query_heads) /
                             (shape.query_heads / shape.kv_heads),
                         shape.tokens);
    for (int d = 0; d < kHead; ++d) {
      ASSERT_NEAR(At(outputs, head * kHead + d),
                  expected[static_cast<size_t>(d)], kTolerance)
          << "head " << head << " column " << d;
    }
  }
}

TEST(DeviceCode, PrefillAttends) {
  CheckPrefill<128>({1, 100, 2, 1});
  CheckPrefill<64>({2, 130, 2, 2});
  CheckPrefill<64>({1, 1, 1, 1});
}

TEST(DeviceCode, DecodeAttends) {
  CheckDecode<128>({1, 300, 4, 2}, 100);  // One part.
  CheckDecode<128>({2, 300, 8, 1}, 2);    // Three, the last short.
  CheckDecode<64>({1, 129, 2, 2}, 1);     // The last of one position.
  CheckDecode<64>({1, 1, 16, 1}, 1);
}

// A kernel run as `blocks` of `threads`.
void Emulate(int64_t blocks, int threads, const std::function<void()>& body) {
  RunGrid(dim3(static_cast<unsigned>(blocks)), threads, 0, body);
}

TEST(DeviceCode, StreamsReachEveryWord) {
  // Not a multiple of a thread's loads.
  std::vector<uint4> from(7777);
  Word expected = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const Word word = static_cast<Word>(i * 2654435761u);
    from[i] = make_uint4(word, word ^ 1, word ^ 2, word ^ 3);
    expected += SumOf(from[i]);
  }
  const auto count = static_cast<int64_t>(from.size());
  Word sum = 0;
  Emulate(3, 64, [&] { ReadKernel<4>(from.data(), count, &sum); });
  EXPECT_EQ(sum, expected);
  sum = 0;
  Emulate(3, 64, [&] { ReadKernel<16>(from.data(), count, &sum); });
  EXPECT_EQ(sum, expected);
  std::vector<uint4> to(from.size());
  Emulate(3, 64, [&] { CopyKernel(from.data(), to.data(), count); });
  EXPECT_EQ(std::memcmp(from.data(), to.data(), 16 * from.size()), 0);
  // Blocks start elsewhere and read all of it.
  const int64_t whole = 7744;  // 121 times 64.
  expected = 0;
  for (int64_t i = 0; i < whole; ++i) {
    expected += SumOf(from[static_cast<size_t>(i)]);
  }
  sum = 0;
  Emulate(3, 64, [&] { CacheReadKernel(from.data(), whole, 2, &sum); });
  EXPECT_EQ(sum, 6 * expected);
}

TEST(DeviceCode, TriadAddsEveryWord) {
  std::vector<float4> a(1001), b(1001), to(1001);
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<float>(i);
    a[i] = make_float4(x, x + 1, x + 2, x + 3);
    b[i] = make_float4(1, 2, 3, x);
  }
  Emulate(2, 64, [&] { TriadKernel(a.data(), b.data(), 3, to.data(), 1001); });
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<float>(i);
    EXPECT_EQ(to[i].x, x + 3);
    EXPECT_EQ(to[i].w, x + 3 + 3 * x);
  }
}

TEST(DeviceCode, SharedMemoryIsReadRoundAndRound) {
  Word sum = 0;
  Emulate(2, kStreamThreads, [&] { SharedReadKernel(6, 0, &sum); });
  // Four steps reach every word once; two more the first half again.
  Word expected = 0;
  for (Word i = 0; i < 4 * kSharedWords; ++i) {
    expected += i < 2 * kSharedWords ? 2 * i : i;
  }
  EXPECT_EQ(sum, 2 * expected);
}

TEST(DeviceCode, ChaseGoesOnWhereItStood) {
  std::vector<Word> list(5 * kChaseStride, 99);
  const Word next[5] = {2, 4, 1, 0, 3};  // 0 2 1 4 3 0.
  for (size_t i = 0; i < 5; ++i) list[i * kChaseStride] = next[i];
  Word at = 0;
  Emulate(1, 1, [&] { ChaseKernel(list.data(), 3, &at); });
  EXPECT_EQ(at, 4u);
  Emulate(1, 1, [&] { ChaseKernel(list.data(), 3, &at); });
  EXPECT_EQ(at, 2u);
}

uint4* Words(std::vector<Bf16>& numbers) {
  return reinterpret_cast<uint4*>(numbers.data());
}

TEST(DeviceCode, NormAndActivationAndResidual) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kColumns = 2056;  // Threads with a second eight.
  auto x = RandomNumbers(kRows * kColumns * 2, 7);
  auto weights = RandomNumbers(kColumns, 8);
  auto normed = Poisoned(kRows * kColumns);
  Emulate(kRows, kRowThreads, [&] {
    NormKernel(Words(x), Words(weights), Words(normed), kColumns / 8);
  });
  auto activated = Poisoned(kRows * kColumns);
  Emulate(2, 64, [&] {
    ActivationKernel(Words(x), Words(activated), kRows, kColumns / 8);
  });
  auto added = Poisoned(kColumns);
  Emulate(2, 64, [&] {
    ResidualKernel(Words(x), Words(weights), Words(added), kColumns / 8);
  });
  for (int64_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < kColumns; ++i) {
      squares += std::pow(At(x, row * kColumns + i), 2);
    }
    const double root = std::sqrt(squares / kColumns + 1e-6);
    for (int64_t i = 0; i < kColumns; ++i) {
      const int64_t at = row * kColumns + i;
      const double norm = At(x, at) / root * At(weights, i);
      EXPECT_NEAR(At(normed, at), norm, std::abs(norm) / 250);
      const double gate = At(x, row * 2 * kColumns + i);
      const double silu = gate / (1 + std::exp(-gate)) *
                          At(x, row * 2 * kColumns + kColumns + i);
      EXPECT_NEAR(At(activated, at), silu, std::abs(silu) / 250);
    }
  }
  for (int64_t i = 0; i < kColumns; ++i) {
    const double sum = At(x, i) + At(weights, i);
    EXPECT_NEAR(At(added, i), sum, std::abs(sum) / 250);
  }
}

TEST(DeviceCode, QuantisedRowsReachTheLargestNumber) {
  constexpr int64_t kColumns = 512;
  auto x = RandomNumbers(2 * kColumns, 9);
  std::vector<uint2> to(2 * kColumns / 8);
  float scales[2];
  Emulate(2, kRowThreads,
          [&] { QuantizeKernel(Words(x), to.data(), scales, kColumns / 8); });
  const auto* codes = reinterpret_cast<const __nv_fp8_storage_t*>(to.data());
  for (int64_t i = 0; i < 2 * kColumns; ++i) {
    const __half_raw half = __nv_cvt_fp8_to_halfraw(codes[i], __NV_E4M3);
    const double number =
        __half2float(__half(half)) * double{scales[i / kColumns]};
    // Three bits of mantissa; below, the smallest step.
    EXPECT_NEAR(number, At(x, i),
                std::abs(At(x, i)) / 15 + double{scales[i / kColumns]} / 512);
  }
}

TEST(DeviceCode, RandomNumbersAreNormal) {
  constexpr int64_t kCount = 20000;
  std::vector<Word> words(kCount);
  Emulate(4, 64, [&] { FillKernel<StoreFp32>(words.data(), kCount, 11); });
  double sum = 0, squares = 0, products = 0, last = 0;
  for (const Word word : words) {
    float x;
    std::memcpy(&x, &word, 4);
    sum += x;
    squares += double{x} * x;
    products += last * x;
    last = x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1, 0.03);
  EXPECT_NEAR(products / kCount, 0, 0.03);
  // The same numbers, two in a word.
  std::vector<Word> pairs(kCount / 2);
  Emulate(4, 64, [&] { FillKernel<StoreBf16>(pairs.data(), kCount / 2, 11); });
  for (int64_t i = 0; i < kCount; ++i) {
    float x;
    std::memcpy(&x, &words[static_cast<size_t>(i)], 4);
    const Word pair = pairs[static_cast<size_t>(i / 2)];
    EXPECT_NEAR(NumberOf(pair, static_cast<int>(i % 2)), x, std::abs(x) / 250);
  }
}

TEST(DeviceCode, FourBitNumbersAreCut) {
  EXPECT_EQ(StoreE2m1::Encode(0.2f), 0u);    // 0.4 is below 0.5.
  EXPECT_EQ(StoreE2m1::Encode(0.8f), 3u);    // 1.6: 1.5.
  EXPECT_EQ(StoreE2m1::Encode(-3.4f), 15u);  // -6.8: -6.
}

}  // namespace
}  // namespace mansard::calibrate
