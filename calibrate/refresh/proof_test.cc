#include "calibrate/refresh/proof.h"

#include "calibrate/cpu/cpu_backend.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

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

TEST(LayerProof, PredictionHoldsOnThisMachine) {
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  CpuBackend backend;
  if (!backend.ops().ok()) GTEST_SKIP() << backend.ops().status().message();
  CampaignOptions options;
  options.budget_seconds = 15;
  const auto proof = RetryProof(backend, data->fabrics, options);
  ASSERT_TRUE(proof.ok()) << proof.status();
  if (!proof->noise.empty()) {
    GTEST_SKIP() << "too noisy to tell: " << proof->noise;
  }
  EXPECT_TRUE(proof->Holds()) << ProofText(*proof, true);
  std::printf("%s", ProofText(*proof, false).c_str());
}

}  // namespace
}  // namespace mansard::calibrate
