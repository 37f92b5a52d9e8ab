// promtool's checks of what is served and of the config that is shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/process.h"
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
  TestServer server;
  v1::EstimateResponse response;
  ASSERT_TRUE(server
                  .Estimate(Parse<v1::EstimateRequest>(R"pb(
                              target {
                                model_graph: "modelGraphs/llama-3.1-8b"
                                hardware_profile: "hardwareProfiles/h100-sxm"
                              }
                              forward_pass {
                                groups {
                                  role: ROLE_PREFILL
                                  request_count: 1
                                  new_token_count: 512
                                }
                              }
                            )pb"),
                            &response)
                  .ok());
  ASSERT_FALSE(server.Estimate({}, &response).ok());
  const HttpAnswer metrics = HttpGet(server.metrics_address(), "/metrics");
  ASSERT_EQ(metrics.code, 200);

  const auto path = std::filesystem::temp_directory_path() /
                    ("mansard-metrics-" + std::to_string(getpid()));
  std::ofstream(path) << metrics.body;
  Process promtool(
      {"/bin/sh", "-c",
       std::string(kPromtool) + " check metrics < " + path.string()});
  EXPECT_EQ(promtool.Wait(), 0);
  EXPECT_EQ(promtool.output(), "");
  std::filesystem::remove(path);
  // Every family is there once a server has been used.
  for (const char* family :
       {"grpc_server_started_total{", "grpc_server_handled_total{",
        "grpc_server_handling_seconds_bucket{", "mansard_rpcs_in_flight{",
        "mansard_heavy_rpcs_queued ", "mansard_heavy_rpc_wait_seconds_bucket{",
        "mansard_heavy_rpcs_rejected_total ",
        "mansard_predicted_step_seconds_bucket{",
        "mansard_predicted_bound_seconds_total{", "mansard_catalog_resources{",
        "mansard_build_info{", "mansard_metric_label_overflow_total{",
        "process_cpu_seconds_total ", "process_resident_memory_bytes ",
        "process_open_fds ", "process_start_time_seconds "}) {
    EXPECT_NE(metrics.body.find(family), std::string::npos) << family;
  }
}

TEST_F(PromtoolTest, TheShippedConfigIsValid) {
  Process promtool(
      {kPromtool, "check", "config",
       std::string(MANSARD_SOURCE_DIR) + "/deploy/prometheus/prometheus.yml"});
  EXPECT_EQ(promtool.Wait(), 0) << promtool.output();
}

}  // namespace
}  // namespace mansard::testing
