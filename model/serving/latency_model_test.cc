// Fitted lines against what no other line beats.

#include "model/serving/latency_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "tests/toy/serving_engines.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildPass;
using mansard::testing::EnginePointer;
using mansard::testing::ResolveOn;
using mansard::testing::ShippedTarget;

LatencyModel Fit(const ServingEngine& engine,
                 const LatencyModelQuestion& question) {
  StepTimer timer;
  Violations violations;
  auto model = FitLatencyModel(engine, question, timer, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return model.value_or(LatencyModel{});
}

struct Point {
  double x = 0;
  double time = 0;
};

struct Judgement {
  double rms = 0;
  double worst = 0;
};

Judgement Judge(const std::vector<Point>& points, double constant,
                double slope) {
  Judgement all;
  for (const Point& point : points) {
    const double error =
        std::abs((constant + slope * point.x) / point.time - 1);
    all.rms += error * error;
    all.worst = std::max(all.worst, error);
  }
  all.rms = std::sqrt(all.rms / static_cast<double>(points.size()));
  return all;
}

// The line's errors are as it says, and none beside it, nor far from it, is
// better.
void ExpectBest(const LinearTime& line, const std::vector<Point>& points) {
  const double a = line.constant.value();
  const double b = line.slope.value();
  EXPECT_GE(a, 0);
  EXPECT_GE(b, 0);
  const Judgement mine = Judge(points, a, b);
  EXPECT_NEAR(line.rms_error_ratio, mine.rms, 1e-9);
  EXPECT_NEAR(line.max_error_ratio, mine.worst, 1e-9);
  const double span = points.back().time;
  const double longest = points.back().x;
  for (const double up : {-.3, -.01, -1e-4, 0.0, 1e-4, .01, .3}) {
    for (const double tilt : {-.3, -.01, -1e-4, 0.0, 1e-4, .01, .3}) {
      const double constant = std::max(0.0, a + up * span);
      const double slope = std::max(0.0, b + tilt * span / longest);
      EXPECT_GE(Judge(points, constant, slope).rms, mine.rms - 1e-12);
    }
  }
}

TEST(LatencyModel, IsTheLeastRelativeErrorOverAllBatches) {
  const EnginePointer engine = ResolveOn(
      ShippedTarget("llama-3.1-70b", "h200-sxm", "vllm-0.24", {.tensor = 4}));
  LatencyModelQuestion question;
  question.shape = {1000, 500, .1};
  question.max_batch = 120;
  const LatencyModel model = Fit(*engine, question);
  EXPECT_EQ(model.max_batch, 120);
  StepTimer timer;
  const auto time = [&](RequestGroups groups) {
    return engine->StepTime(BuildPass(std::move(groups)), timer).value();
  };
  std::vector<Point> decodes;
  std::vector<Point> prompts;
  // Nine prompts of 900 in a pass of 8,192.
  const double full = time({{Role::kPrefill, 9, 900, 100}});
  for (int64_t batch = 1; batch <= 120; ++batch) {
    const auto size = static_cast<double>(batch);
    decodes.push_back({size, time({{Role::kDecode, batch, 1, 1249}})});
    double rest = 0;
    if (batch % 9 > 0) rest = time({{Role::kPrefill, batch % 9, 900, 100}});
    prompts.push_back(
        {900 * size, static_cast<double>(batch / 9) * full + rest});
  }
  ExpectBest(*model.decode, decodes);
  ExpectBest(*model.prefill, prompts);
  EXPECT_LT(model.decode->max_error_ratio, .2);
  EXPECT_GT(model.decode->constant, Milliseconds(5));
}

TEST(LatencyModel, OfLongPromptsIsOneAfterTheOther) {
  const EnginePointer engine =
      ResolveOn(ShippedTarget("llama-3.1-8b", "h100-sxm", "generic"));
  LatencyModelQuestion question;
  question.shape = {20000, 100, 0};
  question.max_batch = 4;
  const LatencyModel model = Fit(*engine, question);
  // So the line goes through zero and has no error.
  EXPECT_LT(model.prefill->max_error_ratio, 1e-9);
  EXPECT_NEAR(model.prefill->constant.value(), 0, 1e-9);
  question.max_batch = 1;
  EXPECT_EQ(Fit(*engine, question).decode->slope, Seconds::Zero());
}

TEST(LatencyModel, OfOneRoleHasOneLine) {
  const Target target = ShippedTarget("llama-3.1-8b", "h100-sxm", "generic");
  LatencyModelQuestion question;
  question.shape = {500, 100, 0};
  const LatencyModel prompts =
      Fit(*ResolveOn(target, {.role = ServingRole::kPrefill}), question);
  EXPECT_FALSE(prompts.decode.has_value());
  EXPECT_TRUE(prompts.prefill.has_value());
  const LatencyModel outputs =
      Fit(*ResolveOn(target, {.role = ServingRole::kDecode}), question);
  EXPECT_TRUE(outputs.decode.has_value());
  EXPECT_FALSE(outputs.prefill.has_value());
}

TEST(LatencyModel, GoesAsFarAsEngineAndCacheAllow) {
  const Target target = ShippedTarget("llama-3.1-8b", "h100-sxm", "generic");
  LatencyModelQuestion question;
  question.shape = {900, 200, 0};
  // 10,000 tokens hold nine of 1,000 in blocks.
  const EnginePointer engine =
      ResolveOn(target, {.limits = {.kv_token_capacity = 10000}});
  EXPECT_EQ(Fit(*engine, question).max_batch, 9);
  StepTimer timer;
  for (const int64_t batch : {-1, 10}) {
    question.max_batch = batch;
    Violations violations;
    EXPECT_FALSE(
        FitLatencyModel(*engine, question, timer, violations).has_value());
    ASSERT_EQ(violations.all().size(), 1u);
    EXPECT_EQ(violations.all()[0].field, "max_batch_request_count");
  }
}

}  // namespace
}  // namespace mansard::model
