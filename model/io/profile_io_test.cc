#include "model/io/profile_io.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::model {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

class ProfileIoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<ShippedData> data = LoadShippedData();
    ASSERT_TRUE(data.ok()) << data.status();
    shipped_ = *std::move(data);
    // Device: multiprocessors, clock, rates tf32 bf16 fp16 fp8 int8 and vector
    // fp32, levels smem l2 hbm.
    valid_ = ProfileToProto(*shipped_.profiles.at("h100-sxm"));
  }

  std::optional<HardwareProfile> Read(const v1::HardwareProfile& proto,
                                      Violations& violations,
                                      absl::string_view id = "") {
    return ProfileFromProto(proto, id, shipped_.fabrics, violations);
  }

  ShippedData shipped_;
  v1::HardwareProfile valid_;
};

v1::AchievedFraction Achieved(const char* family, double ratio) {
  v1::AchievedFraction achieved;
  achieved.set_family(family);
  achieved.mutable_ratio()->set_value(ratio);
  auto& provenance = *achieved.mutable_ratio()->mutable_provenance();
  provenance.set_kind(v1::Provenance::KIND_MEASURED);
  provenance.set_source("a bench");
  return achieved;
}

struct BrokenProfile {
  void (*breaks)(v1::HardwareProfile&);
  const char* field;
  const char* description;
};

TEST_F(ProfileIoTest, NamesTheRuleThatIsBroken) {
  using P = v1::HardwareProfile;
  const BrokenProfile kCases[] = {
      {[](P& p) { p.clear_device(); }, "device", "is required"},
      {[](P& p) {
         p.mutable_device()->mutable_multiprocessor_count()->set_value(-1);
       },
       "device.multiprocessor_count", "is -1"},
      {[](P& p) {
         p.mutable_device()
             ->mutable_clock_hertz()
             ->mutable_provenance()
             ->clear_source();
       },
       "device.clock_hertz.provenance.source", "is required"},
      {[](P& p) {
         p.mutable_device()
             ->mutable_peak_rates(0)
             ->mutable_flops_per_second()
             ->mutable_provenance()
             ->clear_kind();
       },
       "device.peak_rates[0].flops_per_second.provenance.kind", "is required"},
      {[](P& p) {
         p.mutable_device()->mutable_peak_rates(0)->set_unit("sparse");
       },
       "device.peak_rates[0].unit", "is \"sparse\"; allowed: tensor, vector"},
      {[](P& p) {
         p.mutable_device()->mutable_peak_rates(0)->set_precision("fp5");
       },
       "device.peak_rates[0].precision", "\"fp5\" is unknown"},
      {[](P& p) {
         p.mutable_device()->mutable_peak_rates(0)->clear_precision();
       },
       "device.peak_rates[0].precision", "is required"},
      {[](P& p) {
         p.mutable_device()->mutable_peak_rates(0)->set_precision("bf16");
       },
       "device.peak_rates[1].precision", "tensor bf16 has a rate already"},
      {[](P& p) {
         p.mutable_device()
             ->mutable_peak_rates(1)
             ->mutable_flops_per_second()
             ->set_value(0);
       },
       "device.peak_rates", "tensor bf16 is 0"},
      {[](P& p) {
         p.mutable_device()->mutable_memory_levels(0)->set_level("l3");
       },
       "device.memory_levels[0].level", "is \"l3\"; allowed: smem, l2, hbm"},
      {[](P& p) {
         p.mutable_device()->mutable_memory_levels(0)->set_level("l2");
       },
       "device.memory_levels[1].level", "\"l2\" is there already"},
      {[](P& p) { p.mutable_device()->mutable_memory_levels()->RemoveLast(); },
       "device.memory_levels", "has no level \"hbm\""},
      {[](P& p) {
         p.mutable_device()
             ->mutable_memory_levels(2)
             ->clear_bandwidth_bytes_per_second();
       },
       "device.memory_levels", "bandwidth_bytes_per_second of hbm is required"},
      {[](P& p) { p.clear_fabrics(); }, "fabrics", "is empty"},
      {[](P& p) { *p.add_achieved_fractions() = Achieved("gemm-16bit", .5); },
       "achieved_fractions", "are for the generic stack"},
      {[](P& p) {
         p.clear_kernel_stacks();
         *p.add_achieved_fractions() = Achieved("gemm-16bit", 1.5);
       },
       "achieved_fractions[0].ratio", "is 1.5; must be above 0"},
      {[](P& p) {
         p.clear_kernel_stacks();
         *p.add_achieved_fractions() = Achieved("attention", .5);
       },
       "achieved_fractions[0].family",
       "is \"attention\"; allowed: gemm-16bit, gemm-8bit, gemm-4bit"},
      {[](P& p) {
         p.clear_kernel_stacks();
         *p.add_achieved_fractions() = Achieved("gemm-8bit", .5);
         *p.add_achieved_fractions() = Achieved("gemm-8bit", .6);
       },
       "achieved_fractions[1].family", "\"gemm-8bit\" is there already"},
      {[](P& p) {
         p.clear_kernel_stacks();
         *p.add_achieved_fractions() = Achieved("gemm-8bit", .5);
         p.mutable_achieved_fractions(0)
             ->mutable_ratio()
             ->mutable_provenance()
             ->clear_source();
       },
       "achieved_fractions[0].ratio.provenance.source", "is required"},
      {[](P& p) {
         v1::Link& link = *p.mutable_fabrics(0)->mutable_links(0);
         *link.mutable_pair_bandwidth_bytes_per_second() =
             link.bandwidth_bytes_per_second();
         link.mutable_pair_bandwidth_bytes_per_second()->set_value(1e12);
       },
       "fabrics[0].links[0].pair_bandwidth_bytes_per_second",
       "is 1e+12; must be positive and at most"},
      {[](P& p) { p.add_fabric_ids("hgx-nvlink4-400"); }, "fabric_ids[0]",
       "\"hgx-nvlink4-400\" is unknown; closest: hgx-nvlink4-400g"},
      {[](P& p) { p.add_fabric_ids("hgx-nvlink4-200g"); }, "fabrics[2]",
       "\"hgx-nvlink4-200g\" is there already"},
      {[](P& p) {
         p.mutable_kernel_stacks()->DeleteSubrange(1,
                                                   p.kernel_stacks_size() - 1);
         *p.add_kernel_stacks() = p.kernel_stacks(0);
       },
       "kernel_stacks[1]", "\"generic\" is there already"},
      {[](P& p) { p.mutable_fabrics(0)->mutable_links(0)->set_tier("x"); },
       "fabrics[0].links[0].tier", "is \"x\"; allowed: nvlink, pcie, rdma"},
      {[](P& p) {
         p.mutable_fabrics(1)
             ->mutable_links(2)
             ->mutable_bandwidth_bytes_per_second()
             ->set_value(-1);
       },
       "fabrics[1].links[2].bandwidth_bytes_per_second", "is -1"},
      {[](P& p) {
         p.mutable_kernel_stacks(0)->mutable_families(0)->clear_tier();
       },
       "kernel_stacks[0].families[0].tier", "is required"},
  };
  for (const BrokenProfile& test : kCases) {
    v1::HardwareProfile proto = valid_;
    test.breaks(proto);
    Violations violations;
    EXPECT_FALSE(Read(proto, violations)) << test.field;
    ASSERT_EQ(violations.all().size(), 1u)
        << test.field << ": " << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, test.field);
    EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
  }
}

TEST_F(ProfileIoTest, NamesAllBrokenRulesAtOnce) {
  v1::HardwareProfile proto = valid_;
  proto.mutable_device()->mutable_multiprocessor_count()->set_value(0);
  proto.clear_fabrics();
  proto.add_fabric_ids("nowhere");
  proto.clear_kernel_stacks();
  *proto.add_achieved_fractions() = Achieved("gemm", .5);
  Violations violations;
  EXPECT_FALSE(Read(proto, violations, "Not An Id"));
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, ::testing::ElementsAre(
                          "name", "device.multiprocessor_count",
                          "fabric_ids[0]", "achieved_fractions[0].family"));
}

TEST_F(ProfileIoTest, FabricIdsComeBeforeInlineFabrics) {
  v1::HardwareProfile proto = valid_;
  proto.clear_fabrics();
  proto.add_fabric_ids("pcie4-200g");
  proto.add_fabric_ids("hgx-nvlink5-400g");
  *proto.add_fabrics() = FabricToProto(shipped_.fabrics.at("pcie5-400g"));
  Violations violations;
  const std::optional<HardwareProfile> profile = Read(proto, violations);
  ASSERT_TRUE(profile) << violations.ToStatus();
  ASSERT_EQ(profile->fabrics().size(), 3u);
  EXPECT_EQ(profile->fabrics()[0].spec().id, "pcie4-200g");
  EXPECT_EQ(profile->fabrics()[1].spec().id, "hgx-nvlink5-400g");
  EXPECT_EQ(profile->fabrics()[2].spec().id, "pcie5-400g");
}

TEST_F(ProfileIoTest, RevisionIsOfTheContentAlone) {
  v1::HardwareProfile renamed = valid_;
  renamed.set_name("hardwareProfiles/other");
  renamed.set_display_name("Other");
  renamed.set_revision_id("000000000000");
  Violations violations;
  const v1::HardwareProfile inline_profile =
      ProfileToProto(*Read(renamed, violations));
  EXPECT_EQ(inline_profile.name(), "");
  EXPECT_EQ(inline_profile.display_name(), "Other");
  EXPECT_EQ(inline_profile.revision_id(), valid_.revision_id());
  v1::HardwareProfile other = valid_;
  other.mutable_device()->mutable_clock_hertz()->set_value(1.83000001e9);
  EXPECT_NE(ProfileToProto(*Read(other, violations)).revision_id(),
            valid_.revision_id());
}

TEST_F(ProfileIoTest, WithoutStacksTheGenericOneIsDerivedAndWrittenOut) {
  v1::HardwareProfile proto = valid_;
  proto.clear_kernel_stacks();
  *proto.add_achieved_fractions() = Achieved("gemm-8bit", .4);
  Violations violations;
  const std::optional<HardwareProfile> derived = Read(proto, violations);
  ASSERT_TRUE(derived) << violations.ToStatus();
  EXPECT_EQ(
      derived->FindStack("generic")->GemmFor(Format::kInt8)->peak_fraction, .4);
  const v1::HardwareProfile once = ProfileToProto(*derived);
  EXPECT_EQ(once.kernel_stacks_size(), 1);
  EXPECT_EQ(once.achieved_fractions_size(), 0);
  EXPECT_NE(once.revision_id(), valid_.revision_id());
  // Derived again, and read back from what was written.
  for (const v1::HardwareProfile& again : {proto, once}) {
    EXPECT_EQ(ProfileToProto(*Read(again, violations)).revision_id(),
              once.revision_id());
  }
}

TEST_F(ProfileIoTest, APairsBandwidthIsPartOfTheRevision) {
  v1::HardwareProfile mesh = ProfileToProto(*shipped_.profiles.at("mi300x"));
  Violations violations;
  EXPECT_EQ(ProfileToProto(*Read(mesh, violations)).revision_id(),
            mesh.revision_id());
  mesh.mutable_fabrics(0)
      ->mutable_links(0)
      ->clear_pair_bandwidth_bytes_per_second();
  EXPECT_NE(ProfileToProto(*Read(mesh, violations)).revision_id(),
            mesh.revision_id());
}

TEST_F(ProfileIoTest, RoundTripKeepsOptionalFieldsAbsent) {
  v1::HardwareProfile proto = valid_;
  proto.mutable_device()->clear_multiprocessor_count();
  proto.mutable_device()->clear_clock_hertz();
  proto.mutable_device()->clear_board_power_watts();
  proto.mutable_device()->clear_special_functions_per_second();
  proto.mutable_device()->mutable_memory_levels()->DeleteSubrange(0, 2);
  proto.mutable_device()->set_peak_rate_note("none");
  proto.clear_name();
  Violations violations;
  v1::HardwareProfile read = ProfileToProto(*Read(proto, violations));
  EXPECT_NE(read.revision_id(), proto.revision_id());
  read.set_revision_id(proto.revision_id());
  EXPECT_TRUE(MessageDifferencer::Equals(read, proto));
}

}  // namespace
}  // namespace mansard::model
