// CalibrationService over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/catalog_calls.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Stub = v1::CalibrationService::Stub;
using CatalogStub = v1::CatalogService::Stub;

constexpr char kProfile[] = "hardwareProfiles/h100-pcie";

class CalibrationsTest : public ::testing::Test {
 protected:
  template <class Request, class Response>
  Called<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                     const Request&, Response*),
                        const Request& request) {
    return CallOf(*stub_, method, request);
  }
  v1::HardwareProfile Profile() {
    v1::GetHardwareProfileRequest request;
    request.set_name(kProfile);
    return CallOf(server_.catalog(), &CatalogStub::GetHardwareProfile, request)
        .response;
  }
  // A stack of its own on the first, with a faster host.
  v1::CreateCalibrationRequest Request(const std::string& id) {
    auto request = Parse<v1::CreateCalibrationRequest>(R"pb(
      calibration {
        device_hash: "d1"
        measurements {
          case: "gemm-1"
          median_seconds: 0.001
          outcome: OUTCOME_MEASURED
        }
        measurements {
          case: "gemm-2"
          outcome: OUTCOME_WAIVED
          reason: "no unit"
        }
        fitted_stack { stack: "mine" }
      }
    )pb");
    request.set_parent(kProfile);
    request.set_calibration_id(id);
    v1::KernelStack& fitted =
        *request.mutable_calibration()->mutable_fitted_stack();
    const v1::KernelStack base = Profile().kernel_stacks(0);
    fitted.set_base_stack(base.stack());
    *fitted.mutable_host() = base.host();
    fitted.mutable_host()->set_step_seconds(0.0042);
    return request;
  }
  Called<v1::HardwareProfile> Apply(const std::string& id,
                                    const std::string& etag = "") {
    v1::ApplyCalibrationRequest request;
    request.set_name(absl::StrCat(kProfile, "/calibrations/", id));
    request.set_profile_etag(etag);
    return Call(&Stub::ApplyCalibration, request);
  }

  TestServer server_;
  std::unique_ptr<Stub> stub_ =
      v1::CalibrationService::NewStub(server_.channel());
};

TEST_F(CalibrationsTest, KeptAndApplied) {
  const v1::HardwareProfile before = Profile();
  const auto created = Call(&Stub::CreateCalibration, Request("one"));
  ASSERT_TRUE(created.ok()) << created.facts();
  const std::string name = absl::StrCat(kProfile, "/calibrations/one");
  EXPECT_EQ(created.response.name(), name);
  EXPECT_EQ(created.response.measurements_size(), 2);
  v1::GetCalibrationRequest get;
  get.set_name(name);
  EXPECT_EQ(Call(&Stub::GetCalibration, get).response.SerializeAsString(),
            created.response.SerializeAsString());
  EXPECT_EQ(Profile().etag(), before.etag());

  const auto applied = Apply("one", before.etag());
  ASSERT_TRUE(applied.ok()) << applied.facts();
  EXPECT_TRUE(applied.response.has_calibrate_time());
  EXPECT_NE(applied.response.revision_id(), before.revision_id());
  ASSERT_EQ(applied.response.kernel_stacks_size(),
            before.kernel_stacks_size() + 1);
  const v1::KernelStack& last = *applied.response.kernel_stacks().rbegin();
  EXPECT_EQ(last.stack(), "mine");
  EXPECT_EQ(last.host().step_seconds(), 0.0042);
  EXPECT_EQ(last.families_size(), before.kernel_stacks(0).families_size());
  EXPECT_EQ(Apply("one", before.etag()).facts().reason, "ETAG_MISMATCH");
  EXPECT_EQ(Profile().SerializeAsString(),
            applied.response.SerializeAsString());

  // The next takes its place, and an update keeps when it was.
  auto second = Request("two");
  second.mutable_calibration()
      ->mutable_fitted_stack()
      ->mutable_host()
      ->set_step_seconds(0.0043);
  ASSERT_TRUE(Call(&Stub::CreateCalibration, second).ok());
  const auto again = Apply("two");
  ASSERT_TRUE(again.ok()) << again.facts();
  EXPECT_EQ(again.response.kernel_stacks_size(),
            before.kernel_stacks_size() + 1);
  v1::UpdateHardwareProfileRequest update;
  update.mutable_hardware_profile()->set_name(kProfile);
  update.mutable_hardware_profile()->set_display_name("Mine");
  update.mutable_update_mask()->add_paths("display_name");
  const auto updated =
      CallOf(server_.catalog(), &CatalogStub::UpdateHardwareProfile, update);
  ASSERT_TRUE(updated.ok()) << updated.facts();
  EXPECT_EQ(updated.response.calibrate_time().SerializeAsString(),
            again.response.calibrate_time().SerializeAsString());
}

TEST_F(CalibrationsTest, MistakesAreNamedAllAtOnce) {
  auto request = Request("Not An Id");
  request.set_parent("modelGraphs/x");
  request.set_request_id("no-uuid");
  request.mutable_calibration()->mutable_measurements(0)->clear_case_();
  request.mutable_calibration()->mutable_measurements(0)->set_reason("why");
  request.mutable_calibration()->mutable_measurements(1)->clear_outcome();
  request.mutable_calibration()->mutable_measurements(1)->set_flops(-1);
  EXPECT_THAT(Call(&Stub::CreateCalibration, request).facts().Fields(),
              ElementsAre("calibration.measurements[0].case",
                          "calibration.measurements[0].reason",
                          "calibration.measurements[1].flops",
                          "calibration.measurements[1].outcome",
                          "calibration_id", "parent", "request_id"));
  request = Request("one");
  request.mutable_calibration()->mutable_fitted_stack()->set_base_stack("none");
  EXPECT_THAT(Call(&Stub::CreateCalibration, request).facts().Fields(),
              ElementsAre("calibration.fitted_stack.base_stack"));
  request = Request("one");
  request.set_parent("hardwareProfiles/h100-pci");
  EXPECT_EQ(Call(&Stub::CreateCalibration, request).facts().reason,
            "HARDWARE_PROFILE_NOT_FOUND");
}

TEST_F(CalibrationsTest, ARequestCanBeRepeated) {
  auto request = Request("one");
  request.set_request_id("0f8fad5b-d9cb-469f-a165-70867728950e");
  const auto first = Call(&Stub::CreateCalibration, request);
  ASSERT_TRUE(first.ok()) << first.facts();
  const auto again = Call(&Stub::CreateCalibration, request);
  ASSERT_TRUE(again.ok()) << again.facts();
  EXPECT_EQ(again.response.SerializeAsString(),
            first.response.SerializeAsString());
  auto other = request;
  other.set_calibration_id("two");
  EXPECT_THAT(Call(&Stub::CreateCalibration, other).facts().Fields(),
              ElementsAre("request_id"));
  request.clear_request_id();
  EXPECT_EQ(Call(&Stub::CreateCalibration, request).facts().reason,
            "RESOURCE_ALREADY_EXISTS");
}

TEST_F(CalibrationsTest, ListedAndDeleted) {
  for (const char* id : {"b", "a", "c"}) {
    ASSERT_TRUE(Call(&Stub::CreateCalibration, Request(id)).ok());
  }
  const auto names = [this] {
    std::vector<std::string> all;
    v1::ListCalibrationsRequest list;
    list.set_parent(kProfile);
    list.set_page_size(2);
    do {
      const auto page = Call(&Stub::ListCalibrations, list);
      EXPECT_TRUE(page.ok()) << page.facts();
      for (const auto& one : page.response.calibrations()) {
        all.push_back(one.name().substr(one.name().rfind('/') + 1));
      }
      list.set_page_token(page.response.next_page_token());
    } while (!list.page_token().empty());
    return all;
  };
  EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
  v1::DeleteCalibrationRequest remove;
  remove.set_name(absl::StrCat(kProfile, "/calibrations/b"));
  remove.set_etag("\"x\"");
  EXPECT_EQ(Call(&Stub::DeleteCalibration, remove).facts().reason,
            "ETAG_MISMATCH");
  remove.clear_etag();
  ASSERT_TRUE(Call(&Stub::DeleteCalibration, remove).ok());
  EXPECT_EQ(Call(&Stub::DeleteCalibration, remove).facts().reason,
            "CALIBRATION_NOT_FOUND");
  EXPECT_EQ(Apply("b").facts().reason, "CALIBRATION_NOT_FOUND");
  EXPECT_THAT(names(), ElementsAre("a", "c"));
}

TEST_F(CalibrationsTest, GoWithTheirProfile) {
  v1::CreateHardwareProfileRequest create;
  create.set_hardware_profile_id("mine");
  *create.mutable_hardware_profile() = Profile();
  ASSERT_TRUE(
      CallOf(server_.catalog(), &CatalogStub::CreateHardwareProfile, create)
          .ok());
  auto request = Request("one");
  request.set_parent("hardwareProfiles/mine");
  ASSERT_TRUE(Call(&Stub::CreateCalibration, request).ok());
  v1::DeleteHardwareProfileRequest remove;
  remove.set_name("hardwareProfiles/mine");
  ASSERT_TRUE(
      CallOf(server_.catalog(), &CatalogStub::DeleteHardwareProfile, remove)
          .ok());
  ASSERT_TRUE(
      CallOf(server_.catalog(), &CatalogStub::CreateHardwareProfile, create)
          .ok());
  v1::ListCalibrationsRequest list;
  list.set_parent("hardwareProfiles/mine");
  EXPECT_THAT(Call(&Stub::ListCalibrations, list).response.calibrations(),
              IsEmpty());
}

}  // namespace
}  // namespace mansard::testing
