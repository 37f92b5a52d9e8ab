#include "clients/observe/prometheus_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace mansard::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Sample Only(const std::string& line) {
  const auto samples = ParseMetrics(line);
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok() || samples->size() != 1) {
    ADD_FAILURE() << line;
    return {};
  }
  return samples->front();
}

TEST(ParseMetrics, ReadsAPage) {
  const auto samples = ParseMetrics(
      "# HELP vllm:prompt_tokens_total Tokens.\n"
      "# TYPE vllm:prompt_tokens_total counter\n"
      "vllm:prompt_tokens_total{model_name=\"m\",engine=\"0\"} 1.5e+06\r\n"
      "\n"
      "  up 1 1700000000000\n"
      "x_bucket{le=\"+Inf\",} 3");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 3u);
  EXPECT_EQ((*samples)[0].name, "vllm:prompt_tokens_total");
  EXPECT_THAT((*samples)[0].labels,
              ElementsAre(Pair("engine", "0"), Pair("model_name", "m")));
  EXPECT_EQ((*samples)[0].value, 1.5e6);
  EXPECT_EQ((*samples)[1].name, "up");
  EXPECT_THAT((*samples)[1].labels, IsEmpty());
  EXPECT_EQ((*samples)[1].value, 1);
  EXPECT_THAT((*samples)[2].labels, ElementsAre(Pair("le", "+Inf")));
}

TEST(ParseMetrics, ReadsValuesAndEscapes) {
  EXPECT_EQ(Only("a +Inf").value, INFINITY);
  EXPECT_EQ(Only("a -Inf").value, -INFINITY);
  EXPECT_TRUE(std::isnan(Only("a NaN").value));
  EXPECT_EQ(Only("a\t-0.25").value, -0.25);
  EXPECT_EQ(Only("a{} 2").value, 2);
  EXPECT_EQ(Only(R"(a { b = "q\"\\\n}, x" } 1)").labels.at("b"), "q\"\\\n}, x");
  EXPECT_EQ(Only(R"(a{b="\d"} 1)").labels.at("b"), "\\d");
}

TEST(ParseMetrics, NothingIsNoSample) {
  const auto samples = ParseMetrics("\n# EOF\n");
  ASSERT_TRUE(samples.ok());
  EXPECT_THAT(*samples, IsEmpty());
}

TEST(ParseMetrics, NamesTheFirstLineThatIsNone) {
  for (const char* line :
       {"<html>", "1a 2", "a", "a b", "a 1 2 3", "a 1 soon", "a{b} 1",
        "a{b=c} 1", "a{b=\"c} 1", "a{b=\"c\" d=\"e\"} 1", "a{b=\"c\"", "a{,} 1",
        "a{b=\"c\\", "{} 1"}) {
    const auto samples = ParseMetrics(std::string("ok 1\n") + line);
    EXPECT_FALSE(samples.ok()) << line;
    EXPECT_THAT(std::string(samples.status().message()),
                HasSubstr("line 2 is not a metric"))
        << line;
  }
}

}  // namespace
}  // namespace mansard::observe
