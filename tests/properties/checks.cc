#include "tests/properties/checks.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace mansard::testing {

using model::Seconds;

void ExpectSame(double actual, double expected, const char* what) {
  EXPECT_NEAR(actual, expected, kRounding * std::abs(expected)) << what;
}

void ExpectInOrder(const model::Estimate& estimate,
                   const model::ModelGraph& graph) {
  for (size_t i = 0; i < estimate.ops.size(); ++i) {
    const model::OpTime& time = estimate.times[i];
    const std::string op = model::OpName(estimate.ops[i], graph);
    EXPECT_GE(time.floor, Seconds::Zero()) << op;
    EXPECT_LE(time.floor, time.overlapped) << op;
    EXPECT_LE(time.overlapped, time.estimate) << op;
    EXPECT_LE(time.estimate, time.serial) << op;
    EXPECT_LE(time.floor, time.p10) << op;
    EXPECT_LE(time.p10, time.estimate) << op;
    EXPECT_LE(time.estimate, time.p90) << op;
    EXPECT_TRUE(std::isfinite(time.serial.value())) << op;
  }
  const model::PhaseEstimate& step = estimate.phase;
  EXPECT_GT(step.floor, Seconds::Zero());
  EXPECT_LE(step.floor, step.overlapped);
  EXPECT_LE(step.overlapped, step.estimate);
  EXPECT_LE(step.estimate, step.serial);
  EXPECT_LE(step.p10, step.estimate);
  EXPECT_LE(step.estimate, step.p90);
  EXPECT_LE(step.model_flops_utilization, 1);
  EXPECT_LE(step.memory_bandwidth_utilization, 1);
}

void ExpectTimesSumToTheStep(const model::Estimate& estimate) {
  Seconds of_ops, of_drafts, of_rows, of_bounds;
  for (size_t i = 0; i < estimate.ops.size(); ++i) {
    const model::Op& op = estimate.ops[i];
    Seconds attributed;
    for (Seconds part : estimate.times[i].attributed) {
      EXPECT_GE(part, Seconds::Zero());
      attributed += part;
    }
    ExpectSame(attributed.value(), estimate.times[i].estimate.value(), "op");
    (op.draft ? of_drafts : of_ops) += op.repeat * estimate.times[i].estimate;
  }
  const model::PhaseEstimate& step = estimate.phase;
  for (const model::WaterfallTier& row : step.waterfall) {
    EXPECT_GE(row.exposed, Seconds::Zero());
    of_rows += row.exposed;
  }
  for (Seconds bound : step.bound_times) of_bounds += bound;
  ExpectSame((of_ops + of_drafts).value(), step.estimate.value(), "ops");
  ExpectSame(of_drafts.value(), step.draft.value(), "drafts");
  ExpectSame(of_rows.value(), step.estimate.value(), "rows");
  ExpectSame(of_bounds.value(), step.estimate.value(), "bounds");
}

void ExpectSumsToTheStep(const model::Estimate& estimate) {
  ExpectTimesSumToTheStep(estimate);
  model::Bytes weights, kv;
  for (const model::Op& op : estimate.ops) {
    weights += op.repeat * op.work.weights;
    kv += op.repeat * (op.work.kv_read + op.work.kv_write);
  }
  const auto& hbm =
      estimate.phase.waterfall[static_cast<size_t>(model::WaterfallRow::kHbm)];
  ExpectSame(hbm.weights.value(), weights.value(), "weights");
  ExpectSame(hbm.kv.value(), kv.value(), "kv");
  ExpectSame(hbm.moved.value(),
             (hbm.weights + hbm.kv + hbm.activations).value(), "hbm");
}

Times TimesOf(const model::Target& target, const model::ForwardPass& pass) {
  const model::PhaseEstimate step = EstimatePass(target, pass).phase;
  return {step.floor, step.estimate};
}

}  // namespace mansard::testing
