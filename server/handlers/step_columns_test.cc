// PredictSteps over real gRPC, against estimates one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/handlers/scheduling.h"
#include "tests/support/scheduling_calls.h"

namespace mansard::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kLongest = 131072;  // Of Llama-3.1-8B.

class PredictStepsTest : public SchedulingTest {
 protected:
  void SetUp() override { CreateEngine("chat"); }

  Called<v1::PredictStepsResponse> Ask(const std::string& text) {
    return Call(&Stub::PredictSteps,
                Parse<v1::PredictStepsRequest>(
                    absl::StrCat("engine: 'engines/chat' ", text)));
  }
};

TEST_F(PredictStepsTest, AreTheEstimatesOfTheirPasses) {
  struct Row {
    int decodes, context, prompts, tokens, prior;
    std::string Groups() const {
      std::string groups;
      if (prompts > 0) groups += PromptGroup(prompts, tokens, prior);
      if (decodes > 0) groups += DecodeGroup(decodes, context);
      return groups;
    }
  };
  const std::vector<Row> kRows = {
      {1, 1, 0, 0, 0},        {64, 4096, 0, 0, 0}, {200, 777, 0, 0, 0},
      {0, 0, 1, 2048, 0},     {0, 9, 3, 100, 0},   {32, 2000, 1, 512, 1536},
      {1, kLongest, 0, 0, 0}, {0, 0, 2, 64, 6000}, {17, 333, 4, 1, 0},
      {5, 100, 0, 12, 34},
  };
  v1::PredictStepsRequest request;
  request.set_engine("engines/chat");
  std::vector<std::string> passes;
  for (const Row& row : kRows) {
    request.add_decode_request_counts(row.decodes);
    request.add_decode_context_token_counts(row.context);
    request.add_prefill_request_counts(row.prompts);
    request.add_prefill_token_counts(row.tokens);
    request.add_prefill_prior_token_counts(row.prior);
    passes.push_back(row.Groups());
  }
  const auto called = Call(&Stub::PredictSteps, request);
  ASSERT_TRUE(called.ok()) << called.facts();
  ASSERT_THAT(called.response.step_seconds(), SizeIs(kRows.size()));
  const std::vector<double> expected = Estimated("engines/chat", passes);
  for (size_t i = 0; i < kRows.size(); ++i) {
    EXPECT_NEAR(called.response.step_seconds(static_cast<int>(i)) / expected[i],
                1, kCurveTolerance)
        << passes[i];
  }
  EXPECT_THAT(called.response.resolution().engine_revision(),
              HasSubstr("engines/chat@"));
}

TEST_F(PredictStepsTest, AbsentColumnsAreZero) {
  const auto decodes = Ask(
      "decode_request_counts: [4, 8] decode_context_token_counts: [100, 200]");
  ASSERT_TRUE(decodes.ok()) << decodes.facts();
  const auto whole = Ask(
      "decode_request_counts: [4, 8] decode_context_token_counts: [100, 200] "
      "prefill_request_counts: [0, 0] prefill_token_counts: [0, 0] "
      "prefill_prior_token_counts: [0, 0]");
  ASSERT_TRUE(whole.ok()) << whole.facts();
  EXPECT_EQ(decodes.response.SerializeAsString(),
            whole.response.SerializeAsString());
  const auto prompts =
      Ask("prefill_request_counts: 1 prefill_token_counts: 512");
  ASSERT_TRUE(prompts.ok()) << prompts.facts();
  EXPECT_NEAR(prompts.response.step_seconds(0) /
                  Estimated("engines/chat", PromptGroup(1, 512)),
              1, kCurveTolerance);
}

TEST_F(PredictStepsTest, ColumnsAreOfOneLength) {
  const auto facts = Ask("engine: 'chat' decode_request_counts: [1, 1] "
                         "decode_context_token_counts: [1] "
                         "prefill_token_counts: [1, 2, 3]")
                         .facts();
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(facts.Fields(), ElementsAre("decode_context_token_counts",
                                          "engine", "prefill_token_counts"));
  EXPECT_THAT(facts.message, HasSubstr("has 3 entries, not 2"));
}

TEST_F(PredictStepsTest, TakesOneTo100000Rows) {
  EXPECT_THAT(Ask("").facts().Fields(), ElementsAre("decode_request_counts"));
  v1::PredictStepsRequest request;
  request.set_engine("engines/chat");
  for (int i = 0; i < server::kMaxStepRows; ++i) {
    request.add_decode_request_counts(1 + i % 256);
    request.add_decode_context_token_counts(1 + i % 4096);
  }
  const auto most = Call(&Stub::PredictSteps, request);
  ASSERT_TRUE(most.ok()) << most.facts();
  ASSERT_THAT(most.response.step_seconds(), SizeIs(server::kMaxStepRows));
  // The lengths of the two cycles: a row of both comes again.
  EXPECT_EQ(most.response.step_seconds(5), most.response.step_seconds(4101));
  EXPECT_NE(most.response.step_seconds(5), most.response.step_seconds(261));
  request.add_decode_request_counts(1);
  request.add_decode_context_token_counts(1);
  const ErrorFacts facts = Call(&Stub::PredictSteps, request).facts();
  EXPECT_THAT(facts.Fields(), ElementsAre("decode_request_counts"));
  EXPECT_THAT(facts.message, HasSubstr("100001 entries; allowed: 1 to 100000"));
}

TEST_F(PredictStepsTest, EveryRowThatIsWrongIsNamed) {
  const ErrorFacts facts =
      Ask(absl::StrCat("decode_request_counts: [1, -1, 1, 0, 1000001, 1, 1] "
                       "decode_context_token_counts: [1, 1, 0, 0, 1, ",
                       kLongest + 1, ", ", std::numeric_limits<int64_t>::min(),
                       "]"))
          .facts();
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(
      facts.Fields(),
      ElementsAre("decode_context_token_counts[2]",
                  "decode_context_token_counts[5]",
                  "decode_context_token_counts[6]", "decode_request_counts[1]",
                  "decode_request_counts[3]", "decode_request_counts[4]"));
  EXPECT_THAT(facts.message, HasSubstr("a pass has requests"));
}

TEST_F(PredictStepsTest, PromptsThatAreWrongAreNamed) {
  const ErrorFacts facts =
      Ask(absl::StrCat("prefill_request_counts: [-5, 1, 1, 1, 1000000] "
                       "prefill_token_counts: [1, 0, 100, 1, 10000] "
                       "prefill_prior_token_counts: [0, 0, ",
                       kLongest - 99, ", ", std::numeric_limits<int64_t>::max(),
                       ", 0]"))
          .facts();
  EXPECT_THAT(
      facts.Fields(),
      ElementsAre("decode_request_counts[4]", "prefill_prior_token_counts[2]",
                  "prefill_prior_token_counts[3]", "prefill_request_counts[0]",
                  "prefill_token_counts[1]"))
      << facts;
  EXPECT_THAT(facts.message, HasSubstr("more than 1000000000 tokens"));
}

TEST_F(PredictStepsTest, ErrorsStayShort) {
  v1::PredictStepsRequest request;
  request.set_engine("engines/chat");
  request.mutable_decode_request_counts()->Resize(server::kMaxStepRows, -1);
  const ErrorFacts facts = Call(&Stub::PredictSteps, request).facts();
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(facts.Fields(), Contains("decode_request_counts[0]"));
  EXPECT_LE(facts.violations.size(), 201u);
}

// What depends on the engine alone comes after all rules.
TEST_F(PredictStepsTest, AnEngineThatIsNotThere) {
  const std::string unknown = "engine: 'engines/cat' ";
  EXPECT_EQ(Ask(unknown + "decode_request_counts: 1 "
                          "decode_context_token_counts: 1")
                .facts()
                .reason,
            "ENGINE_NOT_FOUND");
  EXPECT_THAT(Ask(unknown + "decode_request_counts: 1").facts().Fields(),
              ElementsAre("decode_context_token_counts[0]"));
}

}  // namespace
}  // namespace mansard::testing
