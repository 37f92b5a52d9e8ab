#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/catalog/catalog.h"
#include "server/metric_family.h"
#include "server/metrics_testing.h"
#include "server/version.h"

namespace mansard::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(Metrics, CountsCallsByMethodAndCode) {
  Metrics metrics;
  metrics.CallStarted(Method::kEstimate, CallClass::kHot);
  EXPECT_EQ(metrics.CallsInFlight(), 1);
  EXPECT_THAT(metrics.Scrape(),
              HasSubstr("mansard_rpcs_in_flight{class=\"hot\"} 1"));
  metrics.CallHandled(Method::kEstimate, absl::StatusCode::kNotFound, 0.002);
  EXPECT_EQ(metrics.CallsInFlight(), 1);
  metrics.CallDone(CallClass::kHot);
  EXPECT_EQ(metrics.CallsInFlight(), 0);
  const std::string text = metrics.Scrape();
  EXPECT_THAT(text, HasSubstr("mansard_rpcs_in_flight{class=\"hot\"} 0"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "grpc_server_handled_total{grpc_code=\"NotFound\",grpc_method="
          "\"Estimate\",grpc_service=\"mansard.v1.EstimationService\",grpc_"
          "type=\"unary\"} 1"));
  EXPECT_THAT(
      text,
      HasSubstr("grpc_server_handling_seconds_bucket{grpc_method=\"Estimate\","
                "grpc_service=\"mansard.v1.EstimationService\",grpc_type="
                "\"unary\",le=\"0.001\"} 0"));
  EXPECT_THAT(
      text,
      HasSubstr("grpc_server_handling_seconds_bucket{grpc_method=\"Estimate\","
                "grpc_service=\"mansard.v1.EstimationService\",grpc_type="
                "\"unary\",le=\"0.0025\"} 1"));
}

TEST(Metrics, HeavyCallsWaitStartOrAreRejected) {
  Metrics metrics;
  metrics.CallStarted(Method::kExplainRoofline, CallClass::kHeavy);
  metrics.HeavyQueued();
  metrics.HeavyQueued();
  metrics.HeavyQueued();
  EXPECT_THAT(
      Lines(metrics, "mansard_rpcs_in_flight{"),
      UnorderedElementsAre("mansard_rpcs_in_flight{class=\"hot\"} 0",
                           "mansard_rpcs_in_flight{class=\"heavy\"} 1"));
  metrics.HeavyStarted(0.003);
  metrics.HeavyRejected();
  const std::string text = metrics.Scrape();
  EXPECT_THAT(text, HasSubstr("\nmansard_heavy_rpcs_queued 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmansard_heavy_rpcs_rejected_total 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("mansard_heavy_rpc_wait_seconds_bucket{le=\"0.0025\"} 0"));
  EXPECT_THAT(
      text, HasSubstr("mansard_heavy_rpc_wait_seconds_bucket{le=\"0.005\"} 1"));
}

TEST(Metrics, PredictionsAddUpOverBounds) {
  Metrics metrics;
  Record(metrics, "llama-3.1-8b", "h100-sxm", DecodeStep(0.5));
  Record(metrics, "llama-3.1-8b", "h100-sxm", DecodeStep(0.5));
  Record(metrics, "", "", DecodeStep(2));
  const std::string text = metrics.Scrape();
  EXPECT_THAT(text, HasSubstr("mansard_predicted_step_seconds_sum{hardware="
                              "\"h100-sxm\",model=\"llama-3.1-8b\",phase="
                              "\"decode\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("mansard_predicted_bound_seconds_total{bound="
                        "\"memory\",hardware=\"h100-sxm\",model=\"llama-3.1-"
                        "8b\",phase=\"decode\"} 0.75"));
  EXPECT_THAT(text,
              HasSubstr("mansard_predicted_bound_seconds_total{bound="
                        "\"overhead\",hardware=\"inline\",model=\"inline\","
                        "phase=\"decode\"} 0.5"));
}

TEST(Metrics, WorkIsOfAllRepeatsAndAKindIsExtrapolatedOnce) {
  Metrics metrics;
  Record(metrics, "m", "h", StepOfThreeOps());
  Record(metrics, "m", "h", StepOfThreeOps());
  const std::string labels = "{hardware=\"h\",model=\"m\",phase=\"decode\"} ";
  const std::string text = metrics.Scrape();
  // 2 x (2 x 10 x 1000 + 7), and so on.
  EXPECT_THAT(text, HasSubstr("mansard_estimated_flops_per_gpu_total" + labels +
                              "40014\n"));
  EXPECT_THAT(text, HasSubstr("mansard_estimated_read_bytes_per_gpu_total" +
                              labels + "4810\n"));
  EXPECT_THAT(text, HasSubstr("mansard_estimated_write_bytes_per_gpu_total" +
                              labels + "1206\n"));
  EXPECT_THAT(Lines(metrics, "mansard_extrapolations_total{"),
              UnorderedElementsAre("mansard_extrapolations_total{hardware="
                                   "\"h\",op_kind=\"gemm\"} 2"));
}

TEST(Metrics, SaysWhatSchedulersWereTold) {
  Metrics metrics;
  model::BatchAnswer answer;
  answer.batch = 24;
  answer.limit = model::BatchLimit::kKvBudget;
  metrics.engines().Recommended("chat", answer);
  const std::string text = metrics.Scrape();
  EXPECT_THAT(text, HasSubstr("mansard_recommended_batch_requests_bucket{"
                              "engine=\"chat\",le=\"16\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("mansard_recommended_batch_requests_bucket{"
                              "engine=\"chat\",le=\"32\"} 1\n"));
  EXPECT_THAT(Lines(metrics, "mansard_recommendations_total{"),
              UnorderedElementsAre("mansard_recommendations_total{engine="
                                   "\"chat\",limit=\"kv_budget\"} 1"));
}

TEST(Metrics, ObservedAndExpectedTimesAddUp) {
  Metrics metrics;
  EngineMetrics& engines = metrics.engines();
  engines.Observed("chat", model::Phase::kDecode, model::Seconds::Of(3), 1.5);
  engines.Observed("chat", model::Phase::kDecode, model::Seconds::Of(1), 0.5);
  // Nothing can be said of these.
  engines.Observed("chat", model::Phase::kDecode, model::Seconds::Of(1), 0);
  engines.Observed("chat", model::Phase::kDecode, model::Seconds::Of(0), 1);
  const std::string labels = "{engine=\"chat\",phase=\"decode\"} ";
  const std::string text = metrics.Scrape();
  EXPECT_THAT(
      text, HasSubstr("mansard_observed_step_seconds_total" + labels + "4\n"));
  EXPECT_THAT(
      text, HasSubstr("mansard_expected_step_seconds_total" + labels + "4\n"));
  EXPECT_THAT(text, HasSubstr("mansard_observations_total" + labels + "2\n"));
  EXPECT_THAT(text, HasSubstr("mansard_observed_to_predicted_ratio_sum" +
                              labels + "2\n"));
}

TEST(Metrics, CountsWhatBecameOfCalibrations) {
  Metrics metrics;
  v1::Calibration calibration;
  for (const auto outcome :
       {v1::Measurement::OUTCOME_MEASURED, v1::Measurement::OUTCOME_MEASURED,
        v1::Measurement::OUTCOME_FAILED}) {
    calibration.add_measurements()->set_outcome(outcome);
  }
  metrics.calibrations().Kept("h", calibration);
  metrics.calibrations().Applied("h", /*fits=*/true);
  metrics.calibrations().Applied("h", /*fits=*/false);
  EXPECT_THAT(
      Lines(metrics, "mansard_calibration"),
      UnorderedElementsAre(
          "mansard_calibrations_total{hardware=\"h\",outcome=\"kept\"} 1",
          "mansard_calibrations_total{hardware=\"h\",outcome=\"applied\"} 1",
          "mansard_calibrations_total{hardware=\"h\",outcome=\"unfit\"} 1",
          "mansard_calibration_measurements_total{hardware=\"h\",outcome="
          "\"measured\"} 2",
          "mansard_calibration_measurements_total{hardware=\"h\",outcome="
          "\"failed\"} 1"));
}

TEST(Metrics, SaysWhatTheCatalogHolds) {
  const auto catalog = Catalog::OpenInMemory();
  ASSERT_TRUE(catalog.ok());
  Metrics metrics;
  metrics.SetCatalog(*(*catalog)->state());
  const std::string text = metrics.Scrape();
  EXPECT_THAT(text,
              HasSubstr("mansard_catalog_resources{kind=\"engine\"} 0\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "mansard_catalog_broken_resources{kind=\"hardware_profile\"} 0"));
  // As many as the gauge says, each once.
  const size_t profiles = (*catalog)->state()->snapshot->profiles().size();
  EXPECT_EQ(Lines(metrics, "mansard_profile_info{").size(), profiles);
  EXPECT_THAT(
      Lines(metrics, "mansard_profile_info{hardware=\"h100-sxm\","),
      ElementsAre(EndsWith("provenance=\"shipped\",tier=\"calibrated\"} 1")));
  EXPECT_THAT(Lines(metrics, "mansard_profile_info{hardware=\"t4\","),
              ElementsAre(EndsWith("provenance=\"shipped\",tier=\"spec\"} 1")));
  EXPECT_THAT(Lines(metrics, "mansard_calibration_residual_ratio{"),
              ::testing::Contains(HasSubstr("hardware=\"h100-sxm\"")));
  EXPECT_LE(Lines(metrics, "mansard_calibration_residual_ratio{").size(),
            kMaxSeries);
  // What has no calibration has no time of one.
  EXPECT_THAT(Lines(metrics, "mansard_profile_calibrate_timestamp_seconds"),
              ::testing::IsEmpty());
  const std::vector<std::string> changed =
      Lines(metrics, "mansard_catalog_change_timestamp_seconds ");
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_NEAR(std::stod(changed[0].substr(changed[0].rfind(' '))),
              static_cast<double>(time(nullptr)), 60);
}

TEST(Metrics, SaysWhatRuns) {
  const Metrics metrics("1a2b3c4d5e6f");
  EXPECT_THAT(Lines(metrics, "mansard_build_info{"),
              ElementsAre(absl::StrCat(
                  "mansard_build_info{commit=\"1a2b3c4d5e6f\",version=\"",
                  kVersion, "\"} 1")));
}

TEST(Metrics, SaysWhatTheProcessUses) {
  const Metrics metrics;
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes",
        "process_start_time_seconds", "process_open_fds"}) {
    const std::vector<std::string> lines =
        Lines(metrics, absl::StrCat(name, " "));
    ASSERT_EQ(lines.size(), 1u) << name;
    EXPECT_GE(std::stod(lines[0].substr(lines[0].rfind(' '))), 0) << name;
  }
  // A plausible size and age, not a wrong column of the file.
  const double resident =
      std::stod(Lines(metrics, "process_resident_memory_bytes ")[0].substr(30));
  EXPECT_GT(resident, 1e6);
  EXPECT_LT(resident, 1e10);
  const double start =
      std::stod(Lines(metrics, "process_start_time_seconds ")[0].substr(27));
  EXPECT_NEAR(start, static_cast<double>(time(nullptr)), 600);
}

}  // namespace
}  // namespace mansard::server
