#include "calibrate/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/cpu/cpu_cases.h"
#include "calibrate/measure/measure_case.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

// Those that this machine has.
std::vector<const Loops*> AllLoops() {
  std::vector<const Loops*> all = {&kBaselineLoops};
#if defined(__x86_64__)
  const absl::string_view best = BestLoops().instruction_set;
  if (best != "baseline") all.push_back(&kAvx2Loops);
  if (best == "avx512") all.push_back(&kAvx512Loops);
#endif
  return all;
}

// Lengths with and without a rest, and shorter than a vector.
constexpr size_t kLengths[] = {1, 3, 16, 33, 64, 100, 257};

std::vector<float> Ramp(size_t count, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = step * static_cast<float>((i * 37) % 101) - 0.4f;
  }
  return values;
}

TEST(Loops, ElementwiseAgreesWithDoublePrecision) {
  for (const Loops* loops : AllLoops()) {
    for (const size_t count : kLengths) {
      SCOPED_TRACE(std::string(loops->instruction_set) + " " +
                   std::to_string(count));
      const std::vector<float> a = Ramp(count, 0.11f);
      const std::vector<float> b = Ramp(count, -0.07f);
      std::vector<float> out(count + 1, -77);
      double sum = 0;
      double squares = 0;
      for (const float value : a) {
        sum += value;
        squares += static_cast<double>(value) * value;
      }
      EXPECT_NEAR(loops->read(a.data(), count), sum, 1e-3);
      loops->triad(a.data(), b.data(), 3, out.data(), count);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(out[i], a[i] + 3.0 * b[i], 1e-5);
      }
      loops->activation(a.data(), b.data(), out.data(), count);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(out[i], a[i] / (1 + std::exp(-double{a[i]})) * b[i], 2e-5);
      }
      loops->norm(a.data(), b.data(), out.data(), count);
      const double scale =
          1 / std::sqrt(squares / static_cast<double>(count) + 1e-6);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(out[i], a[i] * scale * b[i], 1e-4);
      }
      loops->add(a.data(), b.data(), out.data(), count);
      EXPECT_FLOAT_EQ(out[count - 1], a[count - 1] + b[count - 1]);
      loops->copy(a.data(), out.data(), count);
      EXPECT_TRUE(std::equal(a.begin(), a.end(), out.begin()));
      EXPECT_EQ(out[count], -77);  // Nothing beyond the end.
    }
  }
}

TEST(Loops, SoftmaxSumsToOneAndKeepsRatios) {
  for (const Loops* loops : AllLoops()) {
    for (const size_t count : kLengths) {
      const std::vector<float> row = Ramp(count, 0.9f);
      std::vector<float> out = row;
      loops->softmax(out.data(), 0.5f, count);
      double total = 0;
      for (const float value : out) total += value;
      EXPECT_NEAR(total, 1, 1e-5) << loops->instruction_set << " " << count;
      const size_t last = count - 1;
      EXPECT_NEAR(std::log(out[last] / out[0]), 0.5 * (row[last] - row[0]),
                  1e-4);
    }
  }
}

TEST(Loops, ScoresAndWeightedSums) {
  constexpr size_t kCount = 5;
  for (const Loops* loops : AllLoops()) {
    for (const size_t width : kLengths) {
      const std::vector<float> keys = Ramp(width * kCount, 0.02f);
      const std::vector<float> query = Ramp(width, 0.03f);
      std::vector<float> scores(kCount);
      std::vector<float> sum(width);
      loops->scores(query.data(), keys.data(), width, kCount, scores.data());
      loops->weighted_sum(scores.data(), keys.data(), width, kCount,
                          sum.data());
      std::vector<double> reference(width);
      for (size_t i = 0; i < kCount; ++i) {
        double score = 0;
        for (size_t j = 0; j < width; ++j) {
          score += double{query[j]} * keys[i * width + j];
        }
        ASSERT_NEAR(scores[i], score, 1e-3);
        for (size_t j = 0; j < width; ++j) {
          reference[j] += double{scores[i]} * keys[i * width + j];
        }
      }
      for (size_t j = 0; j < width; ++j) {
        ASSERT_NEAR(sum[j], reference[j], 1e-2);
      }
    }
  }
}

TEST(Loops, ClockIsThatOfAProcessor) {
  const double hertz = ProbeClock(BestLoops());
  EXPECT_GT(hertz, 1e8);
  EXPECT_LT(hertz, 1e10);
}

TEST(CpuCases, AreUniqueAndQuickOnesAreAmongTheFull) {
  const std::vector<Case> full = CpuCases(32 << 20, Extent::kFull);
  std::set<std::string> ids;
  for (const Case& one : full) ids.insert(CaseId(one));
  EXPECT_EQ(ids.size(), full.size());
  for (const Case& one : CpuCases(32 << 20, Extent::kQuick)) {
    EXPECT_EQ(ids.count(CaseId(one)), 1u) << CaseId(one);
  }
}

// Small ones of every kind, so that the references are seen.
const Case kSmall[] = {
    {.kind = CaseKind::kCopy, .bytes = 4096},
    {.kind = CaseKind::kTriad, .bytes = 4096},
    {.kind = CaseKind::kRead, .bytes = 4096},
    {.kind = CaseKind::kMultiplyAdd},
    {.kind = CaseKind::kGemm, .m = 3, .n = 40, .k = 96},
    {.kind = CaseKind::kNorm, .rows = 3, .columns = 96},
    {.kind = CaseKind::kActivation, .rows = 3, .columns = 100},
    {.kind = CaseKind::kResidual, .rows = 3, .columns = 96},
    {.kind = CaseKind::kDecodeAttention,
     .requests = 2,
     .context_tokens = 33,
     .query_heads = 4,
     .kv_heads = 2,
     .head_size = 64},
    {.kind = CaseKind::kPrefillAttention,
     .requests = 2,
     .context_tokens = 33,
     .query_heads = 4,
     .kv_heads = 2,
     .head_size = 64},
};

TEST(CpuBackend, ResultsAgreeWithTheReference) {
  CpuBackend backend;
  for (const Case& measured : kSmall) {
    const auto prepared = backend.Prepare(measured);
    if (absl::IsUnimplemented(prepared.status())) {
      GTEST_SKIP() << prepared.status().message();
    }
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_TRUE((*prepared)->Verify().ok())
        << CaseId(measured) << ": " << (*prepared)->Verify();
    const auto sample = (*prepared)->Run();
    ASSERT_TRUE(sample.ok());
    EXPECT_GT(sample->seconds, 0);
    EXPECT_GT(sample->clock_hertz, 0);
  }
}

TEST(CpuBackend, SaysWhatItIs) {
  CpuBackend backend;
  EXPECT_EQ(backend.identity().backend, "cpu");
  EXPECT_EQ(backend.identity().id_hash.size(), 16u);
  EXPECT_GT(backend.identity().memory_bytes, 1e8);
  EXPECT_GT(backend.identity().last_level_cache_bytes, 1e5);
}

TEST(CpuBackend, RefusesWhatMemoryCannotHold) {
  CpuBackend backend;
  const auto prepared =
      backend.Prepare({.kind = CaseKind::kRead, .bytes = int64_t{1} << 50});
  EXPECT_EQ(prepared.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mansard::calibrate
