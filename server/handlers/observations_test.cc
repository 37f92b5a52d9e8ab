// Observations of engines and load points over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
#include "tests/support/catalog_calls.h"
#include "tests/support/temporary_folder.h"

namespace mansard::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Catalog = v1::CatalogService::Stub;
using Calibration = v1::CalibrationService::Stub;
using Scheduling = v1::SchedulingService::Stub;

constexpr char kName[] = "engines/prod-a";

class ObservationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    v1::CreateEngineRequest request = Parse<v1::CreateEngineRequest>(R"pb(
      engine_id: "prod-a"
      engine {
        target {
          model_graph: "modelGraphs/llama-3.1-8b"
          hardware_profile: "hardwareProfiles/h100-sxm"
          kernel_stack: "served-vllm"
        }
      }
    )pb");
    const auto created =
        CallOf(server_.catalog(), &Catalog::CreateEngine, request);
    ASSERT_TRUE(created.ok()) << created.facts();
  }
  v1::Engine Engine() {
    v1::GetEngineRequest request;
    request.set_name(kName);
    return CallOf(server_.catalog(), &Catalog::GetEngine, request).response;
  }
  v1::Engine Update(const std::string& path, const std::string& fields) {
    auto request = Parse<v1::UpdateEngineRequest>(
        absl::StrCat("engine { name: \"", kName, "\" ", fields,
                     " } update_mask { paths: \"", path, "\" }"));
    const auto updated =
        CallOf(server_.catalog(), &Catalog::UpdateEngine, request);
    EXPECT_TRUE(updated.ok()) << updated.facts();
    return updated.response;
  }
  Called<v1::EstimateServedLoadResponse> Load(const std::string& text) {
    auto request = Parse<v1::EstimateServedLoadRequest>(text);
    if (request.engine().empty()) request.set_engine(kName);
    return CallOf(*scheduling_, &Scheduling::EstimateServedLoad, request);
  }
  v1::EstimateServedLoadResponse At(double concurrency) {
    const auto load =
        Load(absl::StrCat("shape { input_token_count: 1000 output_token_count: "
                          "200 } concurrency_count: ",
                          concurrency));
    EXPECT_TRUE(load.ok()) << load.facts();
    return load.response;
  }
  // So many times what is predicted now.
  v1::Observation Observed(double concurrency, double step, double first) {
    const v1::EstimateServedLoadResponse load = At(concurrency);
    v1::Observation observation;
    observation.mutable_shape()->set_input_token_count(1000);
    observation.mutable_shape()->set_output_token_count(200);
    observation.set_concurrency_count(concurrency);
    observation.set_time_per_output_token_seconds(
        step * load.time_per_output_token().seconds());
    observation.set_time_to_first_token_seconds(
        first * load.time_to_first_token().seconds());
    return observation;
  }
  Called<v1::ReportObservationsResponse> Report(
      const v1::ReportObservationsRequest& request) {
    return CallOf(*calibration_, &Calibration::ReportObservations, request);
  }
  v1::ReportObservationsRequest Three(double step) {
    v1::ReportObservationsRequest request;
    request.set_engine(kName);
    for (const double concurrency : {4, 8, 16}) {
      *request.add_observations() = Observed(concurrency, step, step);
    }
    return request;
  }

  TestServer server_;
  std::unique_ptr<Calibration> calibration_ =
      v1::CalibrationService::NewStub(server_.channel());
  std::unique_ptr<Scheduling> scheduling_ =
      v1::SchedulingService::NewStub(server_.channel());
};

TEST_F(ObservationsTest, ThreeRunsMakeFactorsThatApplyWhereTheEngineSaysSo) {
  const v1::EstimateServedLoadResponse before = At(8);
  EXPECT_FALSE(before.resolution().has_observed_factors());
  const auto reported = Report(Three(1.3));
  ASSERT_TRUE(reported.ok()) << reported.facts();
  EXPECT_NEAR(reported.response.observed_factors().step_ratio(), 1.3, 1e-9);
  EXPECT_EQ(reported.response.observed_factors().step_observation_count(), 3);
  EXPECT_FALSE(reported.response.observed_factors().applied());
  ASSERT_EQ(reported.response.ratios_size(), 3);
  EXPECT_NEAR(reported.response.ratios(1).step_ratio(), 1.3, 1e-9);

  // Shown, and not applied.
  const v1::EstimateServedLoadResponse shown = At(8);
  EXPECT_EQ(shown.time_per_output_token().seconds(),
            before.time_per_output_token().seconds());
  EXPECT_NEAR(shown.resolution().observed_factors().step_ratio(), 1.3, 1e-9);
  EXPECT_FALSE(shown.resolution().observed_factors().applied());
  EXPECT_EQ(shown.resolution().engine_revision(),
            before.resolution().engine_revision());

  // Applied.
  const v1::Engine engine =
      Update("apply_observed_factors", "apply_observed_factors: true");
  EXPECT_EQ(engine.observations_size(), 3);
  const v1::EstimateServedLoadResponse applied = At(8);
  EXPECT_NEAR(applied.time_per_output_token().seconds() /
                  before.time_per_output_token().seconds(),
              1.3, 1e-9);
  EXPECT_NEAR(applied.time_to_first_token().seconds() /
                  before.time_to_first_token().seconds(),
              1.3, 0.02);
  EXPECT_TRUE(applied.resolution().observed_factors().applied());
  EXPECT_NE(applied.resolution().engine_revision(),
            before.resolution().engine_revision());

  // And back.
  Update("apply_observed_factors", "");
  EXPECT_EQ(At(8).time_per_output_token().seconds(),
            before.time_per_output_token().seconds());
}

TEST_F(ObservationsTest, AreMetrics) {
  v1::ReportObservationsRequest request = Three(1.25);
  request.set_validate_only(true);
  ASSERT_TRUE(Report(request).ok());
  const auto scrape = [this] {
    return HttpGet(server_.metrics_address(), "/metrics").body;
  };
  EXPECT_THAT(scrape(), Not(HasSubstr("mansard_observations_total{")));
  request.set_validate_only(false);
  // A step of prompts and decodes, beside the runs.
  auto& step = *request.add_observations();
  step.mutable_step()->set_prefill_request_count(1);
  step.mutable_step()->set_prefill_token_count(512);
  step.mutable_step()->set_decode_request_count(8);
  step.mutable_step()->set_decode_prior_token_count(8000);
  step.set_step_seconds(0.5);
  const auto reported = Report(request);
  ASSERT_TRUE(reported.ok()) << reported.facts();
  const std::string text = scrape();
  for (const auto& [phase, count] :
       {std::pair("prefill", 3), std::pair("decode", 3),
        std::pair("mixed", 1)}) {
    EXPECT_THAT(text,
                HasSubstr(absl::StrCat(
                    "\nmansard_observations_total{engine=\"prod-a\",phase="
                    "\"",
                    phase, "\"} ", count, "\n")));
  }
  EXPECT_THAT(text, HasSubstr("\nmansard_observed_step_seconds_total{engine="
                              "\"prod-a\",phase=\"mixed\"} 0.5\n"));
  // The runs' ratios: 1.25 each.
  EXPECT_THAT(text,
              HasSubstr("\nmansard_observed_to_predicted_ratio_bucket{engine="
                        "\"prod-a\",phase=\"decode\",le=\"1.15\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("\nmansard_observed_to_predicted_ratio_bucket{engine="
                        "\"prod-a\",phase=\"decode\",le=\"1.4\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\nmansard_engine_own_factor_ratio{engine="
                              "\"prod-a\",part=\"step\"} "));
}

TEST_F(ObservationsTest, EveryAnswerShowsThem) {
  ASSERT_TRUE(Report(Three(0.8)).ok());
  Update("apply_observed_factors", "apply_observed_factors: true");
  const auto expect = [](const v1::ObservedFactors& factors) {
    EXPECT_NEAR(factors.step_ratio(), 0.8, 1e-9);
    EXPECT_TRUE(factors.applied());
  };
  v1::RecommendBatchSizeRequest batch;
  batch.set_engine(kName);
  batch.set_context_token_count(2000);
  expect(CallOf(*scheduling_, &Scheduling::RecommendBatchSize, batch)
             .response.resolution()
             .observed_factors());
  v1::PredictLatenciesRequest latencies;
  latencies.add_queries()->set_engine(kName);
  latencies.mutable_queries(0)->set_input_token_count(1000);
  expect(CallOf(*scheduling_, &Scheduling::PredictLatencies, latencies)
             .response.rows(0)
             .prediction()
             .observed_factors());
  v1::PredictStepsRequest steps;
  steps.set_engine(kName);
  steps.add_decode_request_counts(8);
  steps.add_decode_context_token_counts(1000);
  expect(CallOf(*scheduling_, &Scheduling::PredictSteps, steps)
             .response.resolution()
             .observed_factors());
  v1::FindEngineCapacityRequest capacity;
  capacity.set_engine(kName);
  capacity.mutable_shape()->set_input_token_count(1000);
  capacity.mutable_shape()->set_output_token_count(200);
  expect(CallOf(*scheduling_, &Scheduling::FindEngineCapacity, capacity)
             .response.resolution()
             .observed_factors());
}

TEST_F(ObservationsTest, StepsTellOfPasses) {
  auto request = Parse<v1::ReportObservationsRequest>(R"pb(
    engine: "engines/prod-a"
    observations {
      step { decode_request_count: 8 decode_prior_token_count: 8000 }
    }
  )pb");
  v1::PredictStepsRequest steps;
  steps.set_engine(kName);
  steps.add_decode_request_counts(8);
  steps.add_decode_context_token_counts(1001);
  const double predicted =
      CallOf(*scheduling_, &Scheduling::PredictSteps, steps)
          .response.step_seconds(0);
  request.mutable_observations(0)->set_step_seconds(1.1 * predicted);
  const auto reported = Report(request);
  ASSERT_TRUE(reported.ok()) << reported.facts();
  EXPECT_NEAR(reported.response.observed_factors().step_ratio(), 1.1, 1e-9);
  EXPECT_EQ(reported.response.observed_factors().first_token_ratio(), 1);
}

TEST_F(ObservationsTest, TheNewestStayUntilTheDeploymentIsAnother) {
  auto request = Three(1.2);
  ASSERT_TRUE(Report(request).ok());
  // Beyond what is allowed they are dry.
  request.set_validate_only(true);
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(Engine().observations_size(), 3);
  v1::ReportObservationsRequest many;
  many.set_engine(kName);
  for (int i = 0; i < 64; ++i)
    *many.add_observations() = request.observations(0);
  ASSERT_TRUE(Report(many).ok());
  EXPECT_EQ(Engine().observations_size(), 64);
  // The label is no part of the deployment, its limits are.
  EXPECT_EQ(Update("display_name", "display_name: \"A\"").observations_size(),
            64);
  const v1::Engine changed =
      Update("limits", "limits { max_sequence_count: 32 }");
  EXPECT_EQ(changed.observations_size(), 0);
  EXPECT_FALSE(changed.resolution().has_observed_factors());
  // Forgotten.
  ASSERT_TRUE(Report(request).ok());
  v1::ReportObservationsRequest none;
  none.set_engine(kName);
  none.set_replace_all(true);
  const auto forgotten = Report(none);
  ASSERT_TRUE(forgotten.ok()) << forgotten.facts();
  EXPECT_EQ(forgotten.response.observed_factors().step_ratio(), 1);
  EXPECT_EQ(Engine().observations_size(), 0);
}

TEST_F(ObservationsTest, BrokenRulesAllTogether) {
  const auto reported = Report(Parse<v1::ReportObservationsRequest>(R"pb(
    engine: "engines/prod-a"
    observations { step_seconds: 1 }
    observations {
      shape { input_token_count: 10 output_token_count: 10 }
      concurrency_count: -1
      time_per_output_token_seconds: 0
    }
  )pb"));
  EXPECT_THAT(
      reported.facts().Fields(),
      ElementsAre("observations[0].step", "observations[1].concurrency_count",
                  "observations[1].time_per_output_token_seconds"));
  v1::ReportObservationsRequest empty;
  EXPECT_THAT(Report(empty).facts().Fields(),
              ElementsAre("engine", "observations"));
  auto unknown = Three(1);
  unknown.set_engine("engines/prod-b");
  EXPECT_EQ(Report(unknown).facts().reason, "ENGINE_NOT_FOUND");
}

TEST_F(ObservationsTest, LoadPointsSayWhatTheyAre) {
  const v1::EstimateServedLoadResponse load = At(16);
  EXPECT_LT(load.time_per_output_token().p10_seconds(),
            load.time_per_output_token().seconds());
  EXPECT_GT(load.time_to_first_token().p90_seconds(),
            load.time_to_first_token().seconds());
  const auto& parts = load.first_token_parts();
  EXPECT_NEAR(parts.prompt_seconds() + parts.wait_seconds() +
                  parts.queue_seconds() + parts.burst_seconds() +
                  parts.decode_pass_seconds() + parts.engine_seconds(),
              load.time_to_first_token().seconds(), 1e-12);
  EXPECT_EQ(load.batch_request_count(), 16);
  EXPECT_EQ(load.limit(), v1::SERVED_LIMIT_LOAD);
  // As many as arrive are served, in as many in flight as Little says.
  const auto arriving = Load(
      absl::StrCat("shape { input_token_count: 1000 output_token_count: 200 } "
                   "requests_per_second: ",
                   load.requests_per_second()));
  ASSERT_TRUE(arriving.ok()) << arriving.facts();
  EXPECT_NEAR(arriving.response.concurrency_count(), 16, 0.01);
  const auto flooded = Load(
      "shape { input_token_count: 1000 output_token_count: 200 } "
      "requests_per_second: 1000000");
  ASSERT_TRUE(flooded.ok()) << flooded.facts();
  EXPECT_TRUE(flooded.response.saturated());
  EXPECT_FALSE(flooded.response.has_time_to_first_token());
  EXPECT_THAT(Load("shape { input_token_count: 1000 }").facts().Fields(),
              ElementsAre("concurrency_count", "shape.output_token_count"));
}

// A stack of kernels is asked all the same; the answer says what it lacks.
TEST_F(ObservationsTest, LoadOnKernelsAloneSaysSo) {
  EXPECT_THAT(At(16).resolution().warnings(),
              Not(Contains(HasSubstr("kernels alone"))));
  Update("target", R"pb(
    target {
      model_graph: "modelGraphs/llama-3.1-8b"
      hardware_profile: "hardwareProfiles/h100-sxm"
      kernel_stack: "vllm-0.24"
    }
  )pb");
  EXPECT_THAT(
      At(16).resolution().warnings(),
      Contains(AllOf(HasSubstr("kernels alone"), HasSubstr("served-vllm"))));
  Update("target", R"pb(
    target {
      model_graph: "modelGraphs/llama-3.1-8b"
      hardware_profile: "hardwareProfiles/l40s"
    }
  )pb");
  EXPECT_THAT(
      At(16).resolution().warnings(),
      Contains(AllOf(HasSubstr("kernels alone"), Not(HasSubstr("fitted to")))));
}

server::ServerOptions StoredIn(const TemporaryFolder& folder) {
  server::ServerOptions options = TestOptions();
  options.state_dir = folder.path();
  return options;
}

TEST(ObservationsStoreTest, OutliveTheProcess) {
  const TemporaryFolder folder;
  v1::Engine before;
  {
    TestServer server(StoredIn(folder));
    auto create = Parse<v1::CreateEngineRequest>(R"pb(
      engine_id: "prod-a"
      engine {
        target {
          model_graph: "modelGraphs/llama-3.1-8b"
          hardware_profile: "hardwareProfiles/h100-sxm"
        }
        apply_observed_factors: true
      }
    )pb");
    ASSERT_TRUE(CallOf(server.catalog(), &Catalog::CreateEngine, create).ok());
    auto report = Parse<v1::ReportObservationsRequest>(R"pb(
      engine: "engines/prod-a"
      observations {
        step { decode_request_count: 8 decode_prior_token_count: 8000 }
        step_seconds: 0.009
      }
    )pb");
    const auto calibration = v1::CalibrationService::NewStub(server.channel());
    ASSERT_TRUE(
        CallOf(*calibration, &Calibration::ReportObservations, report).ok());
    v1::GetEngineRequest get;
    get.set_name(kName);
    before = CallOf(server.catalog(), &Catalog::GetEngine, get).response;
  }
  TestServer server(StoredIn(folder));
  v1::GetEngineRequest get;
  get.set_name(kName);
  const v1::Engine after =
      CallOf(server.catalog(), &Catalog::GetEngine, get).response;
  EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
  EXPECT_EQ(after.observations_size(), 1);
  EXPECT_NE(after.resolution().observed_factors().step_ratio(), 1);
}

}  // namespace
}  // namespace mansard::testing
