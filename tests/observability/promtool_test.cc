// promtool's checks of what is served and of the config that is shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "tests/observability/dashboards.h"
#include "tests/observability/used_server.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

constexpr char kPromtool[] = "/usr/bin/promtool";

class PromtoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kPromtool, X_OK) != 0) {
      GTEST_SKIP() << kPromtool << " is not here (package prometheus)";
    }
  }
};

TEST_F(PromtoolTest, TheMetricsOfAUsedServerAreClean) {
  UsedServer server;
  server.Use(0);
  const HttpAnswer metrics = HttpGet(server.metrics_address(), "/metrics");
  ASSERT_EQ(metrics.code, 200);

  const TemporaryFolder folder;
  const std::string path = folder / "metrics";
  std::ofstream(path) << metrics.body;
  Process promtool(
      {"/bin/sh", "-c", std::string(kPromtool) + " check metrics < " + path});
  EXPECT_EQ(promtool.Wait(), 0);
  EXPECT_EQ(promtool.output(), "");
  // Every family of the table has series once a server has been used.
  const std::string table = ReadRepositoryFile("server/metric_table.h");
  static const auto* const kName = new std::regex("\"((mansard|grpc)_\\w+)\"");
  int families = 0;
  for (auto it = std::sregex_iterator(table.begin(), table.end(), *kName);
       it != std::sregex_iterator(); ++it, ++families) {
    const std::regex sample("\n" + it->str(1) + "(_count)?[{ ]");
    EXPECT_TRUE(std::regex_search(metrics.body, sample)) << it->str(1);
  }
  EXPECT_GE(families, 30);
}

TEST_F(PromtoolTest, TheShippedConfigIsValid) {
  Process promtool(
      {kPromtool, "check", "config",
       std::string(MANSARD_SOURCE_DIR) + "/deploy/prometheus/prometheus.yml"});
  EXPECT_EQ(promtool.Wait(), 0) << promtool.output();
}

// Each alert fires where it should, and only there.
TEST_F(PromtoolTest, TheRulesPassTheirTests) {
  Process promtool({kPromtool, "test", "rules",
                    std::string(MANSARD_SOURCE_DIR) +
                        "/tests/observability/rules_test.yml"});
  EXPECT_EQ(promtool.Wait(), 0) << promtool.output();
}

}  // namespace
}  // namespace mansard::testing
