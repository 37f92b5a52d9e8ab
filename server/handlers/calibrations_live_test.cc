// A calibration is applied while callers are at work: none of them fails, and
// each answer is of one revision alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/catalog_calls.h"

namespace mansard::testing {
namespace {

using ::testing::HasSubstr;
using Stub = v1::CalibrationService::Stub;
using CatalogStub = v1::CatalogService::Stub;

constexpr char kProfile[] = "hardwareProfiles/h100-pcie";
constexpr int kCallers = 4;
constexpr int kCalibrations = 20;

struct Seen {
  std::string revision;  // Of the profile.
  double seconds = 0;
};

class CalibrationsLiveTest : public ::testing::Test {
 protected:
  v1::HardwareProfile Profile() {
    v1::GetHardwareProfileRequest request;
    request.set_name(kProfile);
    return CallOf(server_.catalog(), &CatalogStub::GetHardwareProfile, request)
        .response;
  }

  // A stack on the first one with another host time.
  Called<v1::Calibration> Create(const std::string& id, double step_seconds) {
    v1::CreateCalibrationRequest request;
    request.set_parent(kProfile);
    request.set_calibration_id(id);
    v1::KernelStack& fitted =
        *request.mutable_calibration()->mutable_fitted_stack();
    fitted.set_stack("mine");
    const v1::KernelStack base = Profile().kernel_stacks(0);
    fitted.set_base_stack(base.stack());
    *fitted.mutable_host() = base.host();
    fitted.mutable_host()->set_step_seconds(step_seconds);
    return CallOf(*stub_, &Stub::CreateCalibration, request);
  }

  Called<v1::HardwareProfile> Apply(const std::string& id,
                                    const std::string& etag) {
    v1::ApplyCalibrationRequest request;
    request.set_name(absl::StrCat(kProfile, "/calibrations/", id));
    request.set_profile_etag(etag);
    return CallOf(*stub_, &Stub::ApplyCalibration, request);
  }

  // By a target, or by an engine that stands on the hardware.
  static v1::EstimateRequest Question(bool by_engine) {
    const std::string subject =
        by_engine ? "engine: 'engines/prod'"
                  : "target { model_graph: 'modelGraphs/llama-3.1-8b' "
                    "hardware_profile: 'hardwareProfiles/h100-pcie' "
                    "kernel_stack: 'mine' }";
    return Parse<v1::EstimateRequest>(absl::StrCat(
        subject,
        " forward_pass { groups { role: ROLE_DECODE request_count: 8 "
        "new_token_count: 1 prior_token_count: 1000 } }"));
  }

  // Until it is told to stop; what it saw, in order.
  void Ask(bool by_engine, std::vector<Seen>& seen, std::string& failure) {
    const v1::EstimateRequest question = Question(by_engine);
    while (!stop_) {
      v1::EstimateResponse answer;
      const grpc::Status status = server_.Estimate(question, &answer);
      if (!status.ok()) {
        failure = status.error_message();
        return;
      }
      seen.push_back({answer.resolution().hardware_profile_revision(),
                      answer.estimate().time_seconds()});
      ++answers_;
    }
  }

  TestServer server_;
  std::unique_ptr<Stub> stub_ =
      v1::CalibrationService::NewStub(server_.channel());
  std::atomic<bool> stop_{false};
  std::atomic<int> answers_{0};
};

TEST_F(CalibrationsLiveTest, NoCallFailsAndEachIsOfOneRevision) {
  const auto step = [](int calibration) { return 0.01 + 0.001 * calibration; };
  // What stands on each revision of the profile.
  std::map<std::string, int> calibration_of;
  ASSERT_TRUE(Create("c0", step(0)).ok());
  auto applied = Apply("c0", Profile().etag());
  ASSERT_TRUE(applied.ok()) << applied.facts();
  const auto note = [&](int calibration) {
    calibration_of[absl::StrCat(kProfile, "@",
                                applied.response.revision_id())] = calibration;
  };
  note(0);
  v1::CreateEngineRequest engine;
  engine.set_engine_id("prod");
  *engine.mutable_engine()->mutable_target() = Question(false).target();
  ASSERT_TRUE(
      CallOf(server_.catalog(), &CatalogStub::CreateEngine, engine).ok());
  v1::EstimateResponse first;
  ASSERT_TRUE(server_.Estimate(Question(false), &first).ok());
  const double rest = first.estimate().time_seconds() - step(0);

  std::vector<std::vector<Seen>> seen(kCallers);
  std::vector<std::string> failures(kCallers);
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    const auto at = static_cast<size_t>(i);
    callers.emplace_back([this, i, at, &seen, &failures] {
      Ask(i % 2 == 1, seen[at], failures[at]);
    });
  }
  for (int i = 1; i <= kCalibrations; ++i) {
    const std::string id = absl::StrCat("c", i);
    EXPECT_TRUE(Create(id, step(i)).ok());
    applied = Apply(id, applied.response.etag());
    EXPECT_TRUE(applied.ok()) << applied.facts();
    note(i);
    // Some calls of each revision, on any machine.
    const int before = answers_;
    while (answers_ < before + 2 * kCallers) std::this_thread::yield();
  }
  stop_ = true;
  for (std::thread& caller : callers) caller.join();

  std::set<std::string> revisions;
  for (size_t caller = 0; caller < seen.size(); ++caller) {
    EXPECT_EQ(failures[caller], "");
    int latest = 0;
    for (const Seen& one : seen[caller]) {
      ASSERT_EQ(calibration_of.count(one.revision), 1u) << one.revision;
      const int calibration = calibration_of[one.revision];
      // The time is that of the revision that the answer names.
      EXPECT_NEAR(one.seconds, rest + step(calibration), 1e-12);
      // No caller sees an older one again.
      EXPECT_GE(calibration, latest);
      latest = calibration;
      revisions.insert(one.revision);
    }
  }
  EXPECT_EQ(revisions.size(), 1u + kCalibrations);
}

TEST_F(CalibrationsLiveTest, AStaleEtagIsRefusedAndTheCurrentOneNamed) {
  const std::string stale = Profile().etag();
  ASSERT_TRUE(Create("one", 0.01).ok());
  ASSERT_TRUE(Create("two", 0.02).ok());
  const auto applied = Apply("one", stale);
  ASSERT_TRUE(applied.ok()) << applied.facts();
  const ErrorFacts facts = Apply("two", stale).facts();
  EXPECT_EQ(facts.code, grpc::StatusCode::ABORTED);
  EXPECT_EQ(facts.reason, "ETAG_MISMATCH");
  EXPECT_THAT(facts.message, HasSubstr(applied.response.etag()));
  EXPECT_EQ(facts.metadata.at("etag"), applied.response.etag());
  EXPECT_EQ(Profile().etag(), applied.response.etag());
}

}  // namespace
}  // namespace mansard::testing
