// Many clients at once get, byte for byte, the answers that one alone gets.
#include "tests/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "tests/support/test_server.h"

namespace mansard::load {
namespace {

using ::testing::HasSubstr;

TEST(Load, SixtyFourClientsGetTheAnswersOfOne) {
  testing::TestServer server;
  LoadOptions options;
  options.clients = 64;
  options.requests = 200;
  options.verify = true;
  const auto mix = ParseMix(kDefaultMix);
  ASSERT_TRUE(mix.ok()) << mix.status();
  options.mix = *mix;
  const LoadResult result =
      RunLoad(options, [&server] { return OwnConnection(server.address()); });
  Print(result, std::cout);
  EXPECT_EQ(result.calls, int64_t{64} * 200);
  EXPECT_EQ(result.mismatches, 0) << result.first_mismatch;
  EXPECT_EQ(result.lost, 0);
  // At most 64 heavy calls at once: the queue holds them.
  EXPECT_EQ(result.busy, 0);
  EXPECT_GE(result.methods.size(), 14u);
}

// Comparing must be able to fail: the same cases against another catalog state
// would, and so would equal answers everywhere.
TEST(Load, CasesDifferAndBadOnesAreRefused) {
  testing::TestServer server;
  Stubs stubs(server.channel());
  ASSERT_TRUE(CreateEngine(stubs));
  std::set<std::string> answers;
  size_t refused = 0;
  const std::vector<Case> cases = AllCases();
  for (const Case& one : cases) {
    double seconds = 0;
    const Answer answer = one.call(stubs, seconds);
    EXPECT_EQ(answer.code != grpc::StatusCode::OK, one.kind == CaseKind::kBad)
        << one.method << " " << answer.text;
    EXPECT_GT(seconds, 0);
    answers.insert(answer.text);
    if (one.kind == CaseKind::kBad) ++refused;
  }
  // One batch is there twice, to be sent more often.
  EXPECT_EQ(answers.size(), cases.size() - 1);
  EXPECT_GE(refused, 16u);
}

TEST(Load, AMixNamesItsKinds) {
  const auto mix = ParseMix("estimate=3,bad=1");
  ASSERT_TRUE(mix.ok());
  EXPECT_EQ(mix->weights[static_cast<size_t>(CaseKind::kEstimate)], 3);
  EXPECT_EQ(mix->weights[static_cast<size_t>(CaseKind::kBad)], 1);
  EXPECT_EQ(mix->weights[static_cast<size_t>(CaseKind::kBatch)], 0);
  for (const char* bad : {"", "estimate", "estimate=-1", "speed=3",
                          "estimate=0", "estimate=1,", "bad=9999999"}) {
    EXPECT_THAT(std::string(ParseMix(bad).status().message()),
                HasSubstr("--mix"))
        << bad;
  }
}

}  // namespace
}  // namespace mansard::load
