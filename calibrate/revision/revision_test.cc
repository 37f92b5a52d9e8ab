// Differences of two revisions.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibrate/revision/commands.h"
#include "calibrate/revision/diff_text.h"
#include "calibrate/revision/revision_diff.h"
#include "calibrate/revision/revision_file.h"
#include "calibrate/revision/step_times.h"
#include "model/io/profile_io.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const model::ShippedData& Data() {
  static const auto* const kData =
      new model::ShippedData(*model::LoadShippedData());
  return *kData;
}

v1::HardwareProfile Shipped(const std::string& id) {
  return model::ProfileToProto(*Data().profiles.at(id));
}

constexpr char kStack[] = R"pb(
  kernel_stacks {
    stack: "mine"
    bindings { op_kind: "gemm" family: "gemm" }
    families {
      family: "gemm"
      formula: "tiled-gemm"
      residual_ratio: 0.05
      tier: TIER_CALIBRATED
      provenance { kind: KIND_FITTED source: "s" observe_date: "2026-11-01" }
      parameters {
        parameter: "launch_seconds"
        value: 2e-6
        p10_value: 1.9e-6
        p90_value: 2.1e-6
      }
      parameters {
        parameter: "wave_seconds"
        value: 1e-6
        provenance { kind: KIND_ASSUMED source: "prior" }
      }
    }
    families { family: "norm" formula: "roofline-elementwise" }
    host {
      step_seconds: 1e-3
      provenance { kind: KIND_MEASURED source: "s" }
    }
  }
)pb";

v1::HardwareProfile Parse(const std::string& text) {
  v1::HardwareProfile profile;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &profile));
  return profile;
}

TEST(RevisionDiffTest, NothingIsTheSame) {
  EXPECT_TRUE(DiffRevisions(Parse(kStack), Parse(kStack)).empty());
  for (const char* id : {"h200-sxm", "mi300x", "cpu-avx512"}) {
    EXPECT_TRUE(DiffRevisions(Shipped(id), Shipped(id)).empty()) << id;
  }
  EXPECT_EQ(DiffText("a", "b", {}, {}), "");
}

TEST(RevisionDiffTest, SourcesDatesAndOrderTellNothing) {
  v1::HardwareProfile other = Parse(kStack);
  other.set_name("hardwareProfiles/x");
  other.set_etag("e");
  other.mutable_calibrate_time()->set_seconds(9);
  v1::KernelStack& stack = *other.mutable_kernel_stacks(0);
  v1::Provenance& provenance = *stack.mutable_families(0)->mutable_provenance();
  provenance.set_source("another run");
  provenance.set_observe_date("2026-11-30");
  stack.mutable_host()->mutable_provenance()->set_source("another run");
  std::swap(*stack.mutable_families(0), *stack.mutable_families(1));
  const RevisionDiff diff = DiffRevisions(Parse(kStack), other);
  EXPECT_TRUE(diff.empty()) << DiffText("a", "b", diff, {});
}

TEST(RevisionDiffTest, ParametersResidualsTiersAndProvenance) {
  v1::HardwareProfile other = Parse(kStack);
  v1::KernelFamily& family =
      *other.mutable_kernel_stacks(0)->mutable_families(0);
  family.set_residual_ratio(0.04);
  family.set_tier(v1::TIER_TRANSFERRED);
  family.mutable_parameters(0)->set_value(2.2e-6);
  family.mutable_parameters(0)->set_p10_value(2.15e-6);
  family.mutable_parameters(0)->set_p90_value(2.3e-6);
  family.mutable_parameters(1)->clear_provenance();
  const RevisionDiff diff = DiffRevisions(Parse(kStack), other);
  EXPECT_EQ(DiffText("old", "new", diff, {}),
            "--- old\n"
            "+++ new\n"
            "stack mine\n"
            "  gemm\n"
            "    tier                                         calibrated -> "
            "transferred\n"
            "    residual_ratio                                     0.05 ->    "
            "   0.04    -20.0 %\n"
            "    launch_seconds                                    2e-06 ->    "
            "2.2e-06    +10.0 %  apart\n"
            "    assumed -> fitted: 1 number\n");
}

TEST(RevisionDiffTest, FamiliesStacksAndTheRest) {
  v1::HardwareProfile other = Parse(kStack);
  v1::KernelStack& stack = *other.mutable_kernel_stacks(0);
  stack.mutable_families(1)->set_family("rope");
  stack.mutable_bindings(0)->set_family("rope");
  stack.clear_host();
  other.add_kernel_stacks()->set_stack("further");
  const RevisionDiff diff = DiffRevisions(Parse(kStack), other);
  EXPECT_THAT(diff.added_stacks, ElementsAre("further"));
  EXPECT_THAT(diff.removed_stacks, IsEmpty());
  const std::string text = DiffText("a", "b", diff, {});
  EXPECT_THAT(text, HasSubstr("stack further: added\n"));
  EXPECT_THAT(text, HasSubstr("  norm: removed\n"));
  EXPECT_THAT(text, HasSubstr("  rope: added\n"));
  EXPECT_THAT(text, HasSubstr("  host: removed\n"));
  EXPECT_THAT(text, HasSubstr("bindings[0]"));
  const RevisionDiff back = DiffRevisions(other, Parse(kStack));
  EXPECT_THAT(back.removed_stacks, ElementsAre("further"));
}

TEST(RevisionDiffTest, DeviceAndLinks) {
  v1::HardwareProfile other = Shipped("h200-sxm");
  v1::SourcedNumber& hbm = *other.mutable_device()
                                ->mutable_memory_levels(2)
                                ->mutable_bandwidth_bytes_per_second();
  hbm.set_value(4.5e12);
  hbm.mutable_provenance()->set_kind(v1::Provenance::KIND_MEASURED);
  other.mutable_fabrics(0)
      ->mutable_links(0)
      ->mutable_bandwidth_bytes_per_second()
      ->set_value(4e11);
  other.mutable_fabrics(0)->mutable_links(0)->set_domain_device_count(4);
  const RevisionDiff diff = DiffRevisions(Shipped("h200-sxm"), other);
  std::vector<std::string> names;
  for (const NumberChange& one : diff.device) names.push_back(one.name);
  EXPECT_THAT(names,
              ElementsAre("hgx-nvlink4-400g.links[nvlink]"
                          ".bandwidth_bytes_per_second",
                          "memory_levels[hbm].bandwidth_bytes_per_second"));
  EXPECT_THAT(DiffText("a", "b", diff, {}),
              HasSubstr("    datasheet -> measured: 1 number\n"));
  ASSERT_EQ(diff.other.size(), 1u);
  EXPECT_THAT(diff.other[0], HasSubstr("domain_device_count: 8 -> 4"));
}

TEST(NumberChangeTest, IntervalsOverlapOrNot) {
  const auto change = [](RevisionNumber a, RevisionNumber b) {
    return NumberChange{"x", std::move(a), std::move(b)};
  };
  const RevisionNumber low{1, "", 0.9, 1.1};
  EXPECT_EQ(change(low, {1.05, "", 1.0, 1.2}).overlap(), true);
  EXPECT_EQ(change(low, {1.3, "", 1.2, 1.4}).overlap(), false);
  EXPECT_EQ(change({1.3, "", 1.2, 1.4}, low).overlap(), false);
  EXPECT_EQ(change(low, {1.05}).overlap(), true);
  EXPECT_EQ(change(low, {1.15}).overlap(), false);
  EXPECT_EQ(change({1}, {2}).overlap(), std::nullopt);
  EXPECT_EQ(change({0}, {2}).percent(), std::nullopt);
  EXPECT_DOUBLE_EQ(*change({4}, {3}).percent(), -25);
}

TEST(StepChangesTest, OnlyWhatChanged) {
  v1::HardwareProfile faster = Shipped("h200-sxm");
  faster.mutable_device()
      ->mutable_memory_levels(2)
      ->mutable_bandwidth_bytes_per_second()
      ->set_value(9.6e12);
  const auto same =
      StepChanges(Shipped("h200-sxm"), Shipped("h200-sxm"), "", Data());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(*same, IsEmpty());
  const auto changed = StepChanges(Shipped("h200-sxm"), faster, "", Data());
  ASSERT_TRUE(changed.ok()) << changed.status();
  ASSERT_FALSE(changed->empty());
  const StepChange& first = changed->front();
  EXPECT_EQ(first.step, "decode of 1 x 4096 tokens");
  // 16 GB at 4.8 TB/s are 3.3 ms, at twice that half.
  EXPECT_GT(first.a_seconds, 3.3e-3);
  EXPECT_LT(first.b_seconds, 0.75 * first.a_seconds);
}

TEST(StepChangesTest, StacksStandOnShippedHardware) {
  v1::HardwareProfile stacks;
  *stacks.add_kernel_stacks() = Shipped("h200-sxm").kernel_stacks(0);
  v1::HardwareProfile other = stacks;
  other.mutable_kernel_stacks(0)->mutable_host()->set_step_seconds(0.5);
  EXPECT_THAT(StepChanges(stacks, other, "", Data()).status().message(),
              HasSubstr("a: is of stacks alone; --hardware names"));
  EXPECT_THAT(StepChanges(stacks, other, "h9", Data()).status().message(),
              HasSubstr("--hardware: is \"h9\""));
  const auto changed = StepChanges(stacks, other, "h200-sxm", Data());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->size(), 3u);
  other.mutable_kernel_stacks(0)->clear_families();
  EXPECT_THAT(StepChanges(stacks, other, "h200-sxm", Data()).status().message(),
              HasSubstr("b: "));
}

// A device that computes in fp32 alone is asked in it.
TEST(StepChangesTest, TheHostProcessor) {
  v1::HardwareProfile other = Shipped("cpu-avx512");
  for (v1::KernelStack& stack : *other.mutable_kernel_stacks()) {
    stack.mutable_host()->set_step_seconds(0.5);
  }
  const auto changed = StepChanges(Shipped("cpu-avx512"), other, "", Data());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(changed->empty());
}

TEST(DiffTextTest, FitsAScreen) {
  const v1::HardwareProfile a = Shipped("h100-sxm");
  const v1::HardwareProfile b = Shipped("h200-sxm");
  const auto steps = StepChanges(a, b, "", Data());
  ASSERT_TRUE(steps.ok()) << steps.status();
  RevisionDiff diff = DiffRevisions(a, b);
  diff.other.clear();  // As protobuf writes it.
  const std::string text = DiffText("a", "b", diff, *steps);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_THAT(text, HasSubstr("steps of llama-3.1-8b, ms\n"));
}

TEST(DiffTextTest, JsonHasAllOfIt) {
  v1::HardwareProfile other = Parse(kStack);
  other.mutable_kernel_stacks(0)->mutable_families(0)->set_residual_ratio(0.04);
  other.set_display_name("a \"name\"");
  const std::string json =
      DiffJson("a", "b", DiffRevisions(Parse(kStack), other),
               {{"mine", "step", 1.0, 2.0}});
  for (const char* part : {R"("family": "gemm")", R"("change": "changed")",
                           R"("name": "residual_ratio")", R"("value": 0.05)",
                           R"("intervals_overlap": null)",
                           R"("b_seconds": 2.0)", R"(a \\\"name\\\")"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
}

class RevisionFileTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    std::string path = absl::StrCat(::testing::TempDir(), "/", name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

TEST_F(RevisionFileTest, ProfilesAndStacks) {
  const auto profile = ReadRevision(File("profile.textproto", kStack));
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->kernel_stacks_size(), 1);
  const auto stack = ReadRevision(
      File("stack.textproto",
           "# proto-message: mansard.v1.KernelStack\nstack: \"mine\"\n"));
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_EQ(stack->kernel_stacks(0).stack(), "mine");
  EXPECT_THAT(
      ReadRevision(File("bad.textproto", "\n  speed: 9\n")).status().message(),
      HasSubstr("bad.textproto: line 2, column 8: Message type "
                "\"mansard.v1.HardwareProfile\" has no field named"));
  EXPECT_EQ(ReadRevision("/nonexistent").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadRevision("/").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RevisionFileTest, OneStackOfSeveral) {
  v1::HardwareProfile other = Parse(kStack);
  other.set_display_name("another");
  std::string text;
  google::protobuf::TextFormat::PrintToString(other, &text);
  const std::string a = File("a.textproto", kStack);
  const std::string b = File("b.textproto", text);
  const auto all = RunDiff({.a = a, .b = b});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(*all);
  const auto stack = RunDiff({.a = a, .b = b, .stack = "mine"});
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_FALSE(*stack);
  EXPECT_EQ(RunDiff({.a = a, .b = b, .stack = "none"}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(RunDiff({.a = a, .b = b, .output = "xml"}).status().message(),
              HasSubstr("allowed: text, json"));
}

}  // namespace
}  // namespace mansard::calibrate
