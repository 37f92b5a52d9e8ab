#include "tests/observability/used_server.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/step_streams.h"

namespace mansard::testing {
namespace {

using Catalog = v1::CatalogService::Stub;
using Calibration = v1::CalibrationService::Stub;
using Scheduling = v1::SchedulingService::Stub;
using Estimation = v1::EstimationService::Stub;

constexpr char kProfile[] = "hardwareProfiles/h100-pcie";

struct Asked {
  const char* model;
  const char* hardware;
  const char* target;  // More of it.
};
constexpr Asked kAsked[] = {
    {"llama-3.1-8b", "h100-sxm", "kernel_stack: 'served-vllm'"},
    {"llama-3.1-70b", "h200-sxm", "parallelism { tensor_size: 4 }"},
    {"qwen3-32b", "b200-sxm", ""},
};

std::string Group(const char* role, int requests, int new_tokens, int prior) {
  return absl::StrFormat(
      "groups { role: ROLE_%s request_count: %d new_token_count: %d "
      "prior_token_count: %d } ",
      role, requests, new_tokens, prior);
}

// Some wave around 1, of its own for each seed.
double Wave(int round, int seed) {
  return 1 + 0.12 * std::sin(0.21 * round + seed) +
         0.05 * std::sin(1.3 * round + 2 * seed);
}

server::ServerOptions OptionsOfUsed() {
  server::ServerOptions options = TestOptions();
  options.commit = "1a2b3c4d5e6f";
  return options;
}

}  // namespace

UsedServer::UsedServer()
    : server_(OptionsOfUsed()),
      scheduling_(v1::SchedulingService::NewStub(server_.channel())),
      calibration_(v1::CalibrationService::NewStub(server_.channel())),
      engine_([this] { return EnginePage(); }) {
  CreateEngine("chat", 1);
  CreateEngine("batch", 2);
}

void UsedServer::CreateEngine(const std::string& id, int tensor_size) {
  auto request = Parse<v1::CreateEngineRequest>(R"pb(
    engine {
      target {
        model_graph: "modelGraphs/llama-3.1-8b"
        hardware_profile: "hardwareProfiles/h100-sxm"
        kernel_stack: "served-vllm"
      }
    }
  )pb");
  request.set_engine_id(id);
  request.mutable_engine()
      ->mutable_target()
      ->mutable_parallelism()
      ->set_tensor_size(tensor_size);
  const auto created =
      CallOf(server_.catalog(), &Catalog::CreateEngine, request);
  EXPECT_TRUE(created.ok()) << created.facts();
}

void UsedServer::Use(int round) {
  Estimate(round);
  Schedule(round);
  Calibrate(round);
  Observe(round);
  ++rounds_;
}

void UsedServer::Estimate(int round) {
  for (int i = 0; i < 3; ++i) {
    const int batch = 1 + (8 * (i + 1) + 5 * round) % 96;
    for (const std::string& pass :
         {Group("DECODE", batch, 1, 500 + 137 * (round % 40)),
          Group("PREFILL", 1, 512 << (round % 4), 0),
          Group("DECODE", batch, 1, 2000) + Group("PREFILL", 1, 256, 0),
          // Beyond what kernels were fitted on.
          Group("DECODE", 4000, 1, 20)}) {
      v1::EstimateResponse response;
      const grpc::Status status = server_.Estimate(
          Parse<v1::EstimateRequest>(absl::StrCat(
              "target { model_graph: 'modelGraphs/", kAsked[i].model,
              "' hardware_profile: 'hardwareProfiles/", kAsked[i].hardware,
              "' ", kAsked[i].target, " } forward_pass { ", pass, " }")),
          &response);
      EXPECT_TRUE(status.ok()) << FactsOf(status);
    }
  }
  v1::EstimateResponse refused;
  EXPECT_FALSE(server_.Estimate({}, &refused).ok());
  const auto stub = v1::EstimationService::NewStub(server_.channel());
  const auto roofline =
      CallOf(*stub, &Estimation::ExplainRoofline,
             Parse<v1::ExplainRooflineRequest>(
                 absl::StrCat("request { target { model_graph: "
                              "'modelGraphs/llama-3.1-8b' hardware_profile: "
                              "'hardwareProfiles/h100-sxm' } forward_pass { ",
                              Group("DECODE", 8, 1, 1000), " } }")));
  EXPECT_TRUE(roofline.ok()) << roofline.facts();
}

void UsedServer::Schedule(int round) {
  for (const char* engine : {"chat", "batch"}) {
    for (const char* slo : {"", "slo { inter_token_latency_seconds: 0.012 }"}) {
      const auto recommended = CallOf(
          *scheduling_, &Scheduling::RecommendBatchSize,
          Parse<v1::RecommendBatchSizeRequest>(absl::StrCat(
              "engine: 'engines/", engine,
              "' context_token_count: ", 500 + 211 * (round % 37), " ", slo)));
      EXPECT_TRUE(recommended.ok()) << recommended.facts();
    }
    const auto predicted =
        CallOf(*scheduling_, &Scheduling::PredictLatencies,
               Parse<v1::PredictLatenciesRequest>(absl::StrCat(
                   "queries { engine: 'engines/", engine,
                   "' input_token_count: 1000 output_token_count: 100 }")));
    EXPECT_TRUE(predicted.ok()) << predicted.facts();
  }
  StepStream stream(*scheduling_);
  for (int i = 0; i <= round % 7; ++i) {
    const auto answer = stream.Ask(absl::StrCat(
        "engine: 'engines/chat' ", Pass(Group("DECODE", 8 + i, 1, 1000))));
    EXPECT_TRUE(answer.has_step()) << answer.ShortDebugString();
  }
  EXPECT_TRUE(stream.Close().ok());
}

// A measurement or four of an H100 PCIe, whose host is said to be faster each
// time.
void UsedServer::Calibrate(int round) {
  v1::GetHardwareProfileRequest get;
  get.set_name(kProfile);
  const v1::HardwareProfile profile =
      CallOf(server_.catalog(), &Catalog::GetHardwareProfile, get).response;
  v1::CreateCalibrationRequest request;
  request.set_parent(kProfile);
  request.set_calibration_id(absl::StrCat("round-", round));
  v1::Calibration& calibration = *request.mutable_calibration();
  for (int i = 0; i < 20; ++i) {
    v1::Measurement& one = *calibration.add_measurements();
    one.set_case_(absl::StrCat("gemm-", i));
    one.set_outcome(i < 17    ? v1::Measurement::OUTCOME_MEASURED
                    : i == 17 ? v1::Measurement::OUTCOME_WAIVED
                    : i == 18 ? v1::Measurement::OUTCOME_UNSTABLE
                              : v1::Measurement::OUTCOME_FAILED);
  }
  v1::KernelStack& fitted = *calibration.mutable_fitted_stack();
  fitted.set_stack("mine");
  fitted.set_base_stack(profile.kernel_stacks(0).stack());
  *fitted.mutable_host() = profile.kernel_stacks(0).host();
  fitted.mutable_host()->set_step_seconds(0.004 - 1e-5 * (round % 100));
  const auto created =
      CallOf(*calibration_, &Calibration::CreateCalibration, request);
  EXPECT_TRUE(created.ok()) << created.facts();
  v1::ApplyCalibrationRequest apply;
  apply.set_name(created.response.name());
  const auto applied =
      CallOf(*calibration_, &Calibration::ApplyCalibration, apply);
  EXPECT_TRUE(applied.ok()) << applied.facts();
}

// "chat" takes about a tenth more than is predicted, "batch" less.
void UsedServer::Observe(int round) {
  int seed = 0;
  for (const auto& [engine, ratio] :
       {std::pair("engines/chat", 1.1), std::pair("engines/batch", 0.93)}) {
    ++seed;
    auto load = Parse<v1::EstimateServedLoadRequest>(
        "shape { input_token_count: 1000 output_token_count: 200 } "
        "concurrency_count: 16");
    load.set_engine(engine);
    const auto at = CallOf(*scheduling_, &Scheduling::EstimateServedLoad, load);
    EXPECT_TRUE(at.ok()) << at.facts();
    v1::ReportObservationsRequest request;
    request.set_engine(engine);
    v1::Observation& run = *request.add_observations();
    *run.mutable_shape() = load.shape();
    run.set_concurrency_count(16);
    run.set_time_per_output_token_seconds(
        ratio * Wave(round, seed) *
        at.response.time_per_output_token().seconds());
    run.set_time_to_first_token_seconds(
        ratio * Wave(round, seed + 2) *
        at.response.time_to_first_token().seconds());
    const auto reported =
        CallOf(*calibration_, &Calibration::ReportObservations, request);
    EXPECT_TRUE(reported.ok()) << reported.facts();
  }
}

std::string UsedServer::EnginePage() const {
  constexpr char kLabels[] = "{engine=\"0\",model_name=\"llama-3.1-8b\"} ";
  const double rounds = rounds_;
  return absl::StrCat(
      "# TYPE vllm:estimated_flops_per_gpu_total counter\n",
      "vllm:estimated_flops_per_gpu_total", kLabels, rounds * 4e13,
      "\nvllm:estimated_read_bytes_per_gpu_total", kLabels, rounds * 1.6e12,
      "\nvllm:estimated_write_bytes_per_gpu_total", kLabels, rounds * 2e10,
      "\n");
}

}  // namespace mansard::testing
