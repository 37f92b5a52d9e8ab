#include "clients/observe/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/test_server.h"

namespace mansard::observe {
namespace {

using ::testing::HasSubstr;

std::string Http(const std::string& rest) {
  return absl::StrCat("http:", "//", rest);
}

TEST(MetricsUrl, HasHostPortAndPath) {
  const auto full = ParseMetricsUrl(Http("10.0.0.7:8000/engine/metrics"));
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->host, "10.0.0.7");
  EXPECT_EQ(full->port, 8000);
  EXPECT_EQ(full->path, "/engine/metrics");
  const auto bare = ParseMetricsUrl(Http("engine/"));
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->host, "engine");
  EXPECT_EQ(bare->port, 80);
  EXPECT_EQ(bare->path, "/metrics");
  const auto six = ParseMetricsUrl(Http("[::1]:9000"));
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->host, "[::1]");
  EXPECT_EQ(six->port, 9000);
  EXPECT_EQ(ParseMetricsUrl(Http("[::1]"))->port, 80);
}

TEST(MetricsUrl, RefusesWhatIsNone) {
  const std::vector<std::string> texts = {
      "",           "127.0.0.1:8000", "ftp://a/",          Http(""),
      Http(":80"),  Http("a:0/"),     Http("u@a"),         Http("a:65536/"),
      Http("a:x/"), Http("a b"),      Http("a/b\r\nX: y"), Http("a/b c")};
  for (const std::string& text : texts) {
    const auto url = ParseMetricsUrl(text);
    EXPECT_EQ(url.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(FetchMetrics, ReadsTheWholePage) {
  testing::TestServer server;
  const auto url = ParseMetricsUrl(Http(server.metrics_address()));
  ASSERT_TRUE(url.ok());
  const auto page = FetchMetrics(*url, absl::Seconds(10));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("\nmansard_build_info{"));
  EXPECT_THAT(*page, HasSubstr("\nprocess_open_fds "));
}

TEST(FetchMetrics, SaysWhyNot) {
  testing::TestServer server;
  auto url = *ParseMetricsUrl(Http(server.metrics_address() + "/none"));
  EXPECT_THAT(
      std::string(FetchMetrics(url, absl::Seconds(10)).status().message()),
      HasSubstr("it answers 404"));
  url.host = "127.0.0.1";
  url.port = 1;
  const auto nobody = FetchMetrics(url, absl::Seconds(10));
  EXPECT_EQ(nobody.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(nobody.status().message()),
              HasSubstr("127.0.0.1:1/none cannot be read"));
}

}  // namespace
}  // namespace mansard::observe
