#include "server/request_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mansard::server {
namespace {

TEST(RequestId, TakesOverWhatCannotBreakALine) {
  EXPECT_TRUE(IsRequestId("a"));
  EXPECT_TRUE(IsRequestId("6f1c2d9e-1b7a-4a53-9d62-0c2f1e5b7a10"));
  EXPECT_TRUE(IsRequestId(std::string(128, 'x')));
  EXPECT_FALSE(IsRequestId(""));
  EXPECT_FALSE(IsRequestId(std::string(129, 'x')));
  EXPECT_FALSE(IsRequestId("two words"));
  EXPECT_FALSE(IsRequestId("line\nbreak"));
  EXPECT_FALSE(IsRequestId("\xc3\xa9"));
}

TEST(RequestId, EachIsNewAndNamesItsServer) {
  RequestIds one;
  RequestIds other;
  const std::string first = one.Next();
  const std::string second = one.Next();
  EXPECT_TRUE(IsRequestId(first));
  EXPECT_THAT(first, ::testing::MatchesRegex("[0-9a-f]{16}-1"));
  EXPECT_THAT(second, ::testing::EndsWith("-2"));
  EXPECT_EQ(first.substr(0, 16), second.substr(0, 16));
  EXPECT_NE(first.substr(0, 16), other.Next().substr(0, 16));
}

}  // namespace
}  // namespace mansard::server
