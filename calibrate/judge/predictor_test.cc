#include "calibrate/judge/predictor.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/toy/toy_measured.h"

namespace mansard::calibrate {
namespace {

using model::ToMicroseconds;

// exp(1.2816 sigma) of the toy's sigma.
const double kInterval = std::exp(1.28155 * .25);

CaseAnswer AnswerTo(const MeasuredCase& measured,
                    const std::vector<std::string>& stacks = {"generic"},
                    const PlaceOptions& options = {}) {
  static std::vector<model::ShippedData>* const kept =
      new std::vector<model::ShippedData>;  // Answers point into it.
  kept->push_back(ToyData(stacks));
  return Predictor::Create(kept->back(), options)->Predict(measured);
}

Unanswered ReasonOf(const CaseAnswer& answer) {
  return std::get<Unanswered>(answer);
}

TEST(Predictor, PricesTheRowsOps) {
  const auto answer = std::get<Prediction>(
      AnswerTo(CaseOf({LongOp()}, 2000), {"generic", "vllm-0.19"}));
  // Weights 2000 us, L2 200 us beside them: 0.05 us; launch and wave 3 us.
  EXPECT_NEAR(ToMicroseconds(answer.estimate), 2003.05, .02);
  // The estimate over 1.38 is below the floor.
  EXPECT_NEAR(ToMicroseconds(answer.p10), 2000, .01);
  EXPECT_NEAR(ToMicroseconds(answer.p90), 2003.05 * kInterval, .1);
  EXPECT_NEAR(ToMicroseconds(answer.floor), 2000, .01);
  // With what goes in and comes out: 1e6 and 1e3 elements of 2 bytes.
  EXPECT_NEAR(ToMicroseconds(answer.roofline), 2002.002, .001);
  EXPECT_EQ(answer.bound, model::Bound::kMemory);
  EXPECT_EQ(answer.tier, model::Tier::kCalibrated);
  EXPECT_EQ(answer.stack->spec().id, "vllm-0.19");
  EXPECT_FALSE(answer.extrapolated);
}

TEST(Predictor, AddsOpsUpAndTakesTheWeakestTier) {
  model::Op twice = LongOp();
  twice.repeat = 2;
  const model::Op norm = model::NormOp({1, 1000, model::Format::kBf16}, false,
                                       model::Format::kBf16);
  const auto one = std::get<Prediction>(AnswerTo(CaseOf({LongOp()}, 1)));
  const auto all = std::get<Prediction>(
      AnswerTo(CaseOf({twice, LongOp(), norm}, 1), {"generic", "vllm-0.19"}));
  const auto expect_thrice = [](model::Seconds sum, model::Seconds single) {
    EXPECT_NEAR(ToMicroseconds(sum), 3 * ToMicroseconds(single), 2);
  };
  expect_thrice(all.estimate, one.estimate);
  expect_thrice(all.p10, one.p10);
  expect_thrice(all.p90, one.p90);
  expect_thrice(all.floor, one.floor);
  expect_thrice(all.roofline, one.roofline);
  // The norm is the generic family's.
  EXPECT_EQ(all.tier, model::Tier::kSpec);
}

TEST(Predictor, AnotherVersionIsTransferredAtMost) {
  MeasuredCase measured = CaseOf({LongOp()}, 1);
  measured.version = "";
  const auto answer =
      std::get<Prediction>(AnswerTo(measured, {"generic", "vllm-0.19"}));
  EXPECT_EQ(answer.stack->spec().id, "vllm-0.19");
  EXPECT_EQ(answer.tier, model::Tier::kTransferred);
}

TEST(Predictor, CommunicationHasTheLinksRoofline) {
  const auto answer = std::get<Prediction>(
      AnswerTo(CaseOf({model::AllReduceOp({8, model::LinkTier::kNvlink},
                                          model::Bytes::Of(1e9))},
                      1)));
  // 2 * 7/8 * 1e9 bytes at 1e11 B/s; 10 us and 14 steps of 1 us.
  EXPECT_NEAR(ToMicroseconds(answer.roofline), 17500, .1);
  EXPECT_NEAR(ToMicroseconds(answer.estimate), 17524, 2);
  EXPECT_EQ(answer.bound, model::Bound::kCommunication);
  model::ExchangeShape exchange;
  exchange.ranks = 8;
  exchange.tokens = 1000;
  exchange.experts_per_token = 8;
  exchange.columns = 7000;
  const model::Op dispatch = model::ExpertDispatchOp(exchange);
  const auto sent = std::get<Prediction>(AnswerTo(CaseOf({dispatch}, 1)));
  EXPECT_DOUBLE_EQ(sent.roofline.value(), dispatch.work.message.value() / 1e11);
}

TEST(Predictor, SaysWhyNot) {
  MeasuredCase elsewhere = CaseOf({LongOp()}, 1);
  elsewhere.device = "ABACUS";
  EXPECT_EQ(ReasonOf(AnswerTo(elsewhere)), Unanswered::kDevice);

  // Another device has it; this one has not.
  model::ShippedData data = ToyData({"generic"});
  data.profiles["b200-sxm"] =
      ToyData({"generic", "vllm-0.19"}).profiles["h100-sxm"];
  auto predictor = Predictor::Create(data, {.stack = "vllm-0.19"});
  ASSERT_TRUE(predictor.ok());
  EXPECT_EQ(ReasonOf(predictor->Predict(CaseOf({LongOp()}, 1))),
            Unanswered::kStack);

  MeasuredCase strange = CaseOf({}, 1);
  strange.ops = [](const model::Device&, const model::KernelStack&) {
    return std::optional<model::OpList>();
  };
  EXPECT_EQ(ReasonOf(AnswerTo(strange)), Unanswered::kWork);
  EXPECT_EQ(ReasonOf(AnswerTo(CaseOf({}, 1))), Unanswered::kWork);
  // The toy has no network, and no unit for int8.
  EXPECT_EQ(ReasonOf(AnswerTo(
                CaseOf({model::AllReduceOp({16, model::LinkTier::kRdma, 8},
                                           model::Bytes::Of(1e6))},
                       1))),
            Unanswered::kWork);
  model::GemmShape integers{.m = 1, .n = 1, .k = 1};
  integers.compute = model::Format::kInt8;
  EXPECT_EQ(ReasonOf(AnswerTo(CaseOf({model::GemmOp(integers, false)}, 1))),
            Unanswered::kWork);
}

TEST(Predictor, RefusesUnknownOptions) {
  const model::ShippedData data = ToyData({"generic"});
  EXPECT_FALSE(Predictor::Create(data, {.hardware = "x"}).ok());
  EXPECT_FALSE(Predictor::Create(data, {.stack = "x"}).ok());
}

}  // namespace
}  // namespace mansard::calibrate
