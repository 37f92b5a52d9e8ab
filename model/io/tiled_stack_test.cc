// Tiled GEMM families and stacks that derive from another, on the wire.

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "model/io/derived_stack.h"
#include "model/io/profile_io.h"
#include "model/io/shipped.h"
#include "model/io/stack_io.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

constexpr char kDerived[] =
    R"pb(
  stack: "engine-1.0"
  base_stack: "toy"
  bindings { op_kind: "plain_gemm" precision: "bf16" family: "tiled" }
  families {
    family: "tiled"
    formula: "tiled-gemm"
    parameters { parameter: "launch_seconds" value: 1e-6 }
    parameters { parameter: "wave_seconds" value: 2e-6 }
    parameters { parameter: "split_seconds" value: 3e-6 }
    parameters { parameter: "block_latency_seconds" value: 1e-7 }
    parameters { parameter: "peak_fraction_ratio" value: 0.9 }
    parameters { parameter: "droop_ratio" value: 0.2 }
    parameters { parameter: "droop_seconds" value: 0.002 }
    parameters { parameter: "hbm_fraction_ratio" value: 0.8 }
    parameters { parameter: "l2_feed_bytes_per_second" value: 1e13 }
    parameters { parameter: "sm_hbm_feed_bytes_per_second" value: 2e10 }
    parameters {
      parameter: "sm_smem_feed_bytes_per_second"
      value: 2e11
      provenance { kind: KIND_ASSUMED source: "prior" }
    }
    parameters { parameter: "k_block_bytes" value: 128 }
    residual_ratio: 0.1
    tier: TIER_CALIBRATED
    provenance { kind: KIND_FITTED source: "rows" observe_date: "2026-01-02" }
    tiles { row_count: 128 column_count: 256 }
    tiles { row_count: 64 column_count: 64 }
    split_counts: [ 1, 2, 8 ]
  })pb";

v1::KernelStack Parse(const std::string& text) {
  v1::KernelStack proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return proto;
}

const TiledGemmFamily* PlainGemm(const KernelStack& stack, Format weights) {
  return stack.spec().fine.plain_gemm.For(static_cast<size_t>(weights));
}

class TiledStackTest : public ::testing::Test {
 protected:
  TiledStackTest() {
    mansard::testing::ToyHardware toy;
    toy.stack.id = "toy";
    profile_ = toy.Build();
    proto_ = ProfileToProto(*profile_);
    proto_.clear_name();
    proto_.clear_revision_id();
  }

  // What the profile with this stack added breaks; "" where nothing.
  std::string Problems(const v1::KernelStack& added) {
    v1::HardwareProfile proto = proto_;
    *proto.add_kernel_stacks() = added;
    Violations violations;
    read_ = ProfileFromProto(proto, "", {}, violations);
    std::string text;
    for (const Violation& violation : violations.all()) {
      text += violation.field + ": " + violation.description + "; ";
    }
    return text;
  }

  std::shared_ptr<const HardwareProfile> profile_;
  v1::HardwareProfile proto_;
  std::optional<HardwareProfile> read_;
};

TEST_F(TiledStackTest, DerivesAllThatItDoesNotBind) {
  ASSERT_EQ(Problems(Parse(kDerived)), "");
  ASSERT_EQ(read_->stacks().size(), 2u);
  EXPECT_EQ(read_->FindStack(""), &read_->stacks()[0]);
  const KernelStack& stack = *read_->FindStack("engine-1.0");
  const KernelStackSpec& base = profile_->stacks()[0].spec();
  const TiledGemmFamily* tiled = PlainGemm(stack, Format::kBf16);
  ASSERT_NE(tiled, nullptr);
  EXPECT_EQ(tiled->facts.tier, Tier::kCalibrated);
  EXPECT_EQ(tiled->split_cost, Microseconds(3));
  EXPECT_EQ(tiled->block_latency, Seconds::Of(1e-7));
  EXPECT_EQ(tiled->droop, .2);
  ASSERT_EQ(tiled->tiles.size(), 2u);
  EXPECT_EQ(tiled->tiles[0].rows, 128);
  EXPECT_EQ(tiled->tiles[0].columns, 256);
  EXPECT_EQ(tiled->splits, (std::vector<int>{1, 2, 8}));
  EXPECT_EQ(PlainGemm(stack, Format::kFp8E4m3), nullptr);
  for (const Format format : {Format::kBf16, Format::kFp8E4m3}) {
    ASSERT_NE(stack.GemmFor(format), nullptr);
    EXPECT_EQ(stack.GemmFor(format)->facts.id,
              profile_->stacks()[0].GemmFor(format)->facts.id);
  }
  EXPECT_EQ(stack.spec().attention_decode.facts.id,
            base.attention_decode.facts.id);
  EXPECT_EQ(stack.spec().host.step, base.host.step);
}

TEST_F(TiledStackTest, RoundTrip) {
  ASSERT_EQ(Problems(Parse(kDerived)), "");
  const v1::KernelStack once = KernelStackToProto(read_->stacks()[1]);
  Violations violations;
  const auto again = KernelStackFromProto(once, violations);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(MessageDifferencer::Equals(once, KernelStackToProto(*again)));
  const v1::KernelFamily& tiled = once.families(once.families_size() - 1);
  EXPECT_EQ(tiled.formula(), "tiled-gemm");
  EXPECT_EQ(tiled.parameters_size() + tiled.tiles_size(), 14);
}

TEST_F(TiledStackTest, DerivedTextReadsBack) {
  ASSERT_EQ(Problems(Parse(kDerived)), "");
  const std::string text =
      DerivedStackToText({"engine-1.0",
                          "toy",
                          {{"plain_gemm", "bf16", "",
                            *PlainGemm(read_->stacks()[1], Format::kBf16)}}});
  v1::HardwareProfile written;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &written));
  EXPECT_TRUE(
      MessageDifferencer::Equals(written.kernel_stacks(0), Parse(kDerived)));
}

// A cost of 0 is no reason to take the base's.
TEST_F(TiledStackTest, AHostOfItsOwnIsWhole) {
  v1::KernelStack derived = Parse(kDerived);
  ASSERT_EQ(Problems(derived), "");
  const HostCost base = read_->stacks()[0].spec().host;
  EXPECT_EQ(read_->stacks()[1].spec().host.request, base.request);
  HostCost host;
  host.request = Microseconds(7);
  host.provenance = {ProvenanceKind::kFitted, "serving rows", ""};
  v1::HardwareProfile written;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      DerivedStackToText({.id = "engine-1.0", .base = "toy", .host = host}),
      &written));
  *derived.mutable_host() = written.kernel_stacks(0).host();
  ASSERT_EQ(Problems(derived), "");
  const HostCost& own = read_->stacks()[1].spec().host;
  EXPECT_EQ(own.request, Microseconds(7));
  EXPECT_EQ(own.eager_launch, Seconds::Zero());
  EXPECT_EQ(own.provenance.source, "serving rows");
}

TEST_F(TiledStackTest, RefusesWhatDoesNotFit) {
  struct Case {
    void (*change)(v1::KernelStack&);
    const char* problem;
  };
  const Case cases[] = {
      {[](v1::KernelStack& s) { s.set_base_stack("other"); },
       "base_stack: \"other\" is no stack that stands before"},
      {[](v1::KernelStack& s) { s.mutable_families(0)->clear_tiles(); },
       "tiles: is empty"},
      {[](v1::KernelStack& s) {
         s.mutable_families(0)->mutable_tiles(1)->set_row_count(0);
       },
       "tiles[1]: is 0 x 64"},
      {[](v1::KernelStack& s) {
         s.mutable_families(0)->set_split_counts(0, 2);
       },
       "split_counts: must begin with 1"},
      {[](v1::KernelStack& s) {
         s.mutable_families(0)->set_split_counts(2, 2);
       },
       "split_counts[2]: is 2; they must ascend"},
      {[](v1::KernelStack& s) {
         s.mutable_families(0)->mutable_parameters(5)->set_value(1.5);
       },
       "droop_ratio: is 1.5; allowed: 0 to 1"},
      {[](v1::KernelStack& s) {
         s.mutable_families(0)->mutable_parameters()->RemoveLast();
       },
       "\"k_block_bytes\" is missing"},
      {[](v1::KernelStack& s) { s.mutable_bindings(0)->set_op_kind("gemm"); },
       "has formula tiled-gemm, which does not serve op_kind \"gemm\""},
      {[](v1::KernelStack& s) {
         s.mutable_families(0)->set_formula("roofline-elementwise");
       },
       "split_counts: are no part of roofline-elementwise"},
  };
  for (const Case& test : cases) {
    v1::KernelStack changed = Parse(kDerived);
    test.change(changed);
    EXPECT_THAT(Problems(changed), HasSubstr(test.problem));
  }
}

TEST(ShippedStacks, KeepTheGenericStackFirst) {
  const absl::StatusOr<ShippedData> data = LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status().message();
  int calibrated = 0;
  for (const auto& [id, profile] : data->profiles) {
    EXPECT_TRUE(
        profile->FindStack("")->spec().fine.plain_gemm.families().empty())
        << id;
    for (const KernelStack& stack : profile->stacks()) {
      for (const TiledGemmFamily& family :
           stack.spec().fine.plain_gemm.families()) {
        ++calibrated;
        const bool scaled = stack.spec().id == "scaled-h100";
        EXPECT_EQ(family.facts.tier,
                  scaled ? Tier::kTransferred : Tier::kCalibrated)
            << id;
        EXPECT_EQ(family.facts.provenance.kind,
                  scaled ? ProvenanceKind::kScaled : ProvenanceKind::kFitted)
            << id;
      }
    }
  }
  EXPECT_GE(calibrated, 15);
}

TEST(ShippedStacks, RefuseMoreThanStacks) {
  ShippedData data;
  const absl::Status status = AddData(
      {.fabrics = {},
       .hardware = {},
       .models = {},
       .stacks = {{"stacks/a.textproto", "display_name: \"x\""},
                  {"stacks/b.textproto",
                   "kernel_stacks { stack: \"s\" base_stack: \"generic\" }"}}},
      data);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("stacks/a.textproto: must have kernel_stacks and "
                        "nothing else"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("stacks/b.textproto: no hardware file has this name"));
}

}  // namespace
}  // namespace mansard::model
