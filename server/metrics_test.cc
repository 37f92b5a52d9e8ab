#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mansard::server {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

model::PhaseEstimate DecodeStep(double seconds) {
  model::PhaseEstimate estimate;
  estimate.phase = model::Phase::kDecode;
  estimate.estimate = model::Seconds::Of(seconds);
  estimate.bound_times[static_cast<size_t>(model::Bound::kMemory)] =
      model::Seconds::Of(seconds * 0.75);
  estimate.bound_times[static_cast<size_t>(model::Bound::kOverhead)] =
      model::Seconds::Of(seconds * 0.25);
  return estimate;
}

// Lines of the scrape that start with `prefix`.
std::vector<std::string> Lines(const Metrics& metrics,
                               const std::string& prefix) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(metrics.Scrape(), '\n')) {
    if (absl::StartsWith(line, prefix)) lines.emplace_back(line);
  }
  return lines;
}

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
  metrics.RecordPrediction("llama-3.1-8b", "h100-sxm", DecodeStep(0.5));
  metrics.RecordPrediction("llama-3.1-8b", "h100-sxm", DecodeStep(0.5));
  metrics.RecordPrediction("", "", DecodeStep(2));
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

TEST(Metrics, AFullFamilyCountsAsOther) {
  Metrics metrics;
  for (int i = 0; i < 500; ++i) {
    metrics.RecordPrediction(absl::StrCat("model-", i), "h100-sxm",
                             DecodeStep(1));
  }
  EXPECT_LE(Lines(metrics, "mansard_predicted_step_seconds_count{").size(),
            kMaxSeries);
  EXPECT_LE(Lines(metrics, "mansard_predicted_bound_seconds_total{").size(),
            kMaxSeries);
  // 197 of 500 have room beside the three "other" phases.
  EXPECT_THAT(metrics.Scrape(),
              HasSubstr("mansard_metric_label_overflow_total{metric="
                        "\"mansard_predicted_step_seconds\"} 303"));
  // Nothing is lost.
  double total = 0;
  for (const std::string& line :
       Lines(metrics, "mansard_predicted_step_seconds_count{")) {
    total += std::stod(line.substr(line.rfind(' ')));
  }
  EXPECT_EQ(total, 500);
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
