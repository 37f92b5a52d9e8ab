#include "calibrate/refresh/proof.h"

#include "absl/strings/str_cat.h"
#include "calibrate/cpu/cpu_backend.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

// A try on a quiet machine takes 20 seconds: two, to be sure, have time. No try
// begins after the second of these.
constexpr double kTrySeconds = 30;
constexpr double kLastTry = 30;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsInstrumented = true;
#else
constexpr bool kIsInstrumented = false;
#endif

TEST(LayerProof, OpsAreThoseOfTheLayer) {
  const ProofCase proved = ProofCases().front();
  const std::vector<LayerOp> ops = LayerOps(proved.shape, proved.pass);
  ASSERT_EQ(ops.size(), 10u);
  double operations = 0;
  for (const LayerOp& op : ops) operations += Operations(op.kernel);
  // 2 x 128 tokens x (1024 x 2048 qkv + 1024 x 1024 out + 3 x 1024 x 2816), and
  // causal attention of 8 heads: 4 x 8 x 128 x 128 x 129 / 2.
  EXPECT_DOUBLE_EQ(
      operations, 2.0 * 128 * (1024. * 2048 + 1024. * 1024 + 3. * 1024 * 2816) +
                      4. * 8 * 128 * 128 * 129 / 2);
}

// A try whose layers take so many times as long as predicted.
Proof TryOf(const std::vector<double>& ratios, const std::string& noise = "") {
  Proof proof;
  proof.noise = noise;
  for (const double ratio : ratios) {
    ProofRow row;
    row.predicted_seconds = 1;
    row.measured_seconds = ratio;
    proof.rows.push_back(row);
  }
  return proof;
}

TEST(RetryProof, OnlyWhatIsOffTwiceAlikeIsOff) {
  struct Row {
    std::vector<Proof> tries;
    size_t taken;
    bool holds;
    std::string noise;
  };
  const Proof holds = TryOf({1.1, .9});
  const Proof slow = TryOf({1.3, 1});
  const Proof fast = TryOf({.7, 1});
  const Proof other = TryOf({1, 1.3});
  const Proof noisy = TryOf({1.3}, "others compile");
  const char* const disagree = "no layer was off in two tries alike";
  const Row rows[] = {
      {{holds}, 1, true, ""},
      {{slow, holds}, 2, true, ""},
      {{noisy, slow, holds}, 3, true, ""},
      {{slow, slow}, 2, false, ""},
      {{slow, noisy, slow}, 3, false, ""},
      {{slow, fast, other}, 3, false, disagree},
      {{noisy, noisy, slow}, 3, false, disagree},
      {{slow, fast, noisy}, 3, false, "others compile"},
      {{noisy, noisy, noisy}, 3, false, "others compile"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(&row - rows);
    size_t taken = 0;
    const auto proof = RetryProof(
        [&]() -> absl::StatusOr<Proof> { return row.tries[taken++]; });
    ASSERT_TRUE(proof.ok());
    EXPECT_EQ(taken, row.taken);
    EXPECT_EQ(proof->Holds(), row.holds);
    EXPECT_EQ(proof->noise, row.noise);
  }
  EXPECT_FALSE(RetryProof([]() -> absl::StatusOr<Proof> {
                 return absl::InternalError("no device");
               }).ok());
}

TEST(LayerProof, PredictionHoldsOnThisMachine) {
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  if (kIsInstrumented) {
    GTEST_SKIP() << "what is timed is not what runs: built with a sanitizer";
  }
  CpuBackend backend;
  if (!backend.ops().ok()) GTEST_SKIP() << backend.ops().status().message();
  ProofOptions options;
  options.cases.budget_seconds = 15;
  options.seconds = kTrySeconds;
  const double start = backend.Now();
  Proof last;
  const auto proof = RetryProof([&]() -> absl::StatusOr<Proof> {
    if (backend.Now() - start < kLastTry) {
      auto tried = RunProof(backend, data->fabrics, options);
      if (tried.ok()) last = *tried;
      return tried;
    }
    Proof late = last;
    late.noise =
        absl::StrCat("no time for another try; the last: ",
                     last.noise.empty() ? "a layer was off, once" : last.noise);
    return late;
  });
  ASSERT_TRUE(proof.ok()) << proof.status();
  if (!proof->noise.empty()) {
    GTEST_SKIP() << "too noisy to tell: " << proof->noise;
  }
  EXPECT_TRUE(proof->Holds()) << ProofText(*proof, true);
  std::printf("%s", ProofText(*proof, false).c_str());
}

}  // namespace
}  // namespace mansard::calibrate
