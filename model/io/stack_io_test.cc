#include "model/io/stack_io.h"

#include <cmath>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

constexpr char kValidText[] =
    R"pb(
  stack: "generic"
  bindings { op_kind: "gemm" family: "wide" }
  bindings { op_kind: "gemm" precision: "fp8" family: "narrow" }
  bindings { op_kind: "attention_decode" family: "decode" }
  bindings { op_kind: "attention_prefill" family: "prefill" }
  bindings { op_kind: "elementwise" family: "elementwise" }
  bindings { op_kind: "collective" tier: "nvlink" family: "nvlink" }
  families {
    family: "narrow"
    formula: "roofline-gemm"
    parameters { parameter: "launch_seconds" value: 1e-6 }
    parameters { parameter: "wave_seconds" value: 2e-6 }
    parameters {
      parameter: "peak_fraction_ratio"
      value: .7
      provenance { kind: KIND_MEASURED source: "own" }
    }
    parameters { parameter: "hbm_fraction_ratio" value: .8 }
    parameters { parameter: "l2_feed_bytes_per_second" value: 3e12 }
    parameters { parameter: "tile_rows" value: 128 }
    parameters { parameter: "tile_columns" value: 256 }
    residual_ratio: .25
    tier: TIER_CALIBRATED
    provenance { kind: KIND_FITTED source: "fit" observe_date: "2026" }
    fitted_ranges { size: "k" least_value: 256 most_value: 16384 }
    fitted_ranges { size: "m" least_value: 1 most_value: 8192 }
  }
  families {
    family: "decode"
    formula: "roofline-attention-decode"
    parameters { parameter: "launch_seconds" value: 3e-6 }
    parameters { parameter: "combine_seconds" value: 4e-6 }
    parameters { parameter: "peak_fraction_ratio" value: .6 }
    parameters { parameter: "hbm_fraction_ratio" value: .9 }
    parameters { parameter: "l2_feed_bytes_per_second" value: 5e12 }
    residual_ratio: .35
    tier: TIER_SPEC
    provenance { kind: KIND_SCALED source: "s" }
  }
  families {
    family: "prefill"
    formula: "roofline-attention-prefill"
    parameters { parameter: "launch_seconds" value: 6e-6 }
    parameters { parameter: "hbm_fraction_ratio" value: .5 }
    parameters { parameter: "peak_fraction_head_256_ratio" value: .8 }
    parameters { parameter: "peak_fraction_head_64_ratio" value: .4 }
    residual_ratio: .35
    tier: TIER_TRANSFERRED
    provenance { kind: KIND_DERIVED source: "s" }
  }
  families {
    family: "elementwise"
    formula: "roofline-elementwise"
    parameters { parameter: "launch_seconds" value: 7e-6 }
    parameters { parameter: "hbm_fraction_ratio" value: .75 }
    parameters { parameter: "l2_feed_bytes_per_second" value: 8e12 }
    residual_ratio: .25
    tier: TIER_SPEC
    provenance { kind: KIND_ASSUMED source: "s" }
  }
  families {
    family: "nvlink"
    formula: "protocol-lines"
    parameters { parameter: "simple_bus_bytes_per_second" value: 4e11 }
    parameters { parameter: "simple_alpha_seconds" value: 2e-5 }
    parameters { parameter: "simple_step_seconds" value: 0 }
    parameters { parameter: "ll_alpha_seconds" value: 5e-6 }
    parameters { parameter: "ll_step_seconds" value: 1e-6 }
    parameters { parameter: "ll_bus_bytes_per_second" value: 2e10 }
    residual_ratio: .35
    tier: TIER_SPEC
    provenance { kind: KIND_DATASHEET source: "s" }
  }
  host {
    step_seconds: 1e-5
    request_seconds: 2e-6
    prefill_token_seconds: 3e-7
    eager_launch_seconds: 4e-6
    cuda_graphs: true
    provenance { kind: KIND_ASSUMED source: "host" }
  }
  fusion { residual_into_norm: true }
  memory {
    usable_ratio: 0.75
    framework_bytes: 1e8
    communication_bytes: 2e8
    max_batched_token_count: 4096
    max_sequence_count: 128
    bytes_per_logit: 30
    fixed_workspace_bytes: 3e7
    block_token_count: 64
    unified_pages: true
    mxfp4_width_multiple: 32
    provenance { kind: KIND_MEASURED source: "memory" }
  }
    )pb";

v1::KernelStack ValidProto() {
  v1::KernelStack proto;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(kValidText, &proto));
  // "wide" is "narrow" with another name and tile; it comes last.
  *proto.add_families() = proto.families(0);
  v1::KernelFamily& wide = *proto.mutable_families(5);
  wide.set_family("wide");
  wide.mutable_parameters(6)->set_value(64);
  return proto;
}

KernelStack Read(const v1::KernelStack& proto) {
  Violations violations;
  std::optional<KernelStack> stack = KernelStackFromProto(proto, violations);
  EXPECT_EQ(violations.ToStatus().ToString(), "OK");
  return *stack;
}

TEST(StackIoTest, ReadsEveryParameter) {
  const KernelStack stack = Read(ValidProto());
  const KernelStackSpec& spec = stack.spec();
  EXPECT_EQ(spec.id, "generic");
  ASSERT_EQ(spec.gemm.size(), 2u);
  const GemmFamily& narrow = *stack.GemmFor(Format::kFp8E4m3);
  EXPECT_EQ(narrow.facts.id, "narrow");
  EXPECT_EQ(narrow.facts.tier, Tier::kCalibrated);
  EXPECT_EQ(narrow.facts.sigma, .25);
  EXPECT_EQ(narrow.facts.provenance.kind, ProvenanceKind::kFitted);
  EXPECT_EQ(narrow.facts.provenance.source, "fit");
  EXPECT_EQ(narrow.facts.provenance.observe_date, "2026");
  EXPECT_EQ(narrow.facts.fitted_ranges[SizeName::kM], (SizeRange{1, 8192}));
  EXPECT_EQ(narrow.facts.fitted_ranges[SizeName::kK], (SizeRange{256, 16384}));
  EXPECT_FALSE(narrow.facts.fitted_ranges[SizeName::kN].bounded());
  EXPECT_TRUE(stack.spec().attention_decode.facts.fitted_ranges.empty());
  ASSERT_EQ(narrow.facts.parameter_provenance.size(), 1u);
  EXPECT_EQ(narrow.facts.parameter_provenance.at("peak_fraction_ratio").source,
            "own");
  EXPECT_EQ(narrow.launch, Seconds::Of(1e-6));
  EXPECT_EQ(narrow.wave, Seconds::Of(2e-6));
  EXPECT_EQ(narrow.peak_fraction, .7);
  EXPECT_EQ(narrow.hbm_fraction, .8);
  EXPECT_EQ(narrow.l2_feed, BytesPerSecond::Of(3e12));
  EXPECT_EQ(narrow.tile_rows, 128);
  EXPECT_EQ(narrow.tile_columns, 256);
  EXPECT_EQ(stack.GemmFor(Format::kBf16)->facts.id, "wide");
  EXPECT_EQ(stack.GemmFor(Format::kNvfp4)->tile_columns, 64);
  EXPECT_EQ(spec.attention_decode.combine, Seconds::Of(4e-6));
  EXPECT_EQ(spec.attention_decode.hbm_fraction, .9);
  EXPECT_EQ(spec.attention_prefill.facts.tier, Tier::kTransferred);
  EXPECT_EQ(spec.attention_prefill.peak_fractions,
            (std::vector<std::pair<int, double>>{{64, .4}, {256, .8}}));
  EXPECT_EQ(spec.elementwise.l2_feed, BytesPerSecond::Of(8e12));
  ASSERT_TRUE(spec.collectives[0]);
  ASSERT_EQ(spec.collectives[0]->lines.size(), 2u);
  EXPECT_EQ(spec.collectives[0]->lines[0].alpha, Seconds::Of(5e-6));
  EXPECT_EQ(spec.collectives[0]->lines[0].bus, BytesPerSecond::Of(2e10));
  EXPECT_EQ(spec.collectives[0]->lines[1].alpha, Seconds::Of(2e-5));
  EXPECT_EQ(spec.collectives[0]->lines[1].protocol,
            CollectiveFamily::Protocol::kSimple);
  EXPECT_FALSE(spec.collectives[1]);
  EXPECT_EQ(spec.host.step, Seconds::Of(1e-5));
  EXPECT_EQ(spec.host.request, Seconds::Of(2e-6));
  EXPECT_EQ(spec.host.prefill_token, Seconds::Of(3e-7));
  EXPECT_EQ(spec.host.eager_launch, Seconds::Of(4e-6));
  EXPECT_TRUE(spec.host.cuda_graphs);
  EXPECT_TRUE(spec.fusion.residual_into_norm);
  ASSERT_TRUE(spec.memory);
  EXPECT_EQ(spec.memory->usable_fraction, 0.75);
  EXPECT_EQ(spec.memory->framework, Bytes::Of(1e8));
  EXPECT_EQ(spec.memory->communication, Bytes::Of(2e8));
  EXPECT_EQ(spec.memory->token_budget, 4096);
  EXPECT_EQ(spec.memory->sequence_limit, 128);
  EXPECT_EQ(spec.memory->bytes_per_logit, 30);
  EXPECT_EQ(spec.memory->fixed_workspace, Bytes::Of(3e7));
  EXPECT_EQ(spec.memory->block_tokens, 64);
  EXPECT_TRUE(spec.memory->unified_pages);
  EXPECT_EQ(spec.memory->mxfp4_width_multiple, 32);
  EXPECT_EQ(spec.memory->provenance.source, "memory");
}

TEST(StackIoTest, MemoryMayBeUnknown) {
  v1::KernelStack proto = ValidProto();
  proto.clear_memory();
  EXPECT_FALSE(Read(proto).spec().memory.has_value());
  EXPECT_FALSE(KernelStackToProto(Read(proto)).has_memory());
}

TEST(StackIoTest, MemoryThatIsThereIsComplete) {
  v1::KernelStack proto = ValidProto();
  proto.mutable_memory()->Clear();
  Violations violations;
  EXPECT_FALSE(KernelStackFromProto(proto, violations).has_value());
  std::string fields;
  for (const Violation& violation : violations.all()) {
    fields += violation.field + "\n";
  }
  EXPECT_NE(fields.find("memory.provenance"), std::string::npos) << fields;
  *proto.mutable_memory()->mutable_provenance() = proto.host().provenance();
  violations = Violations();
  EXPECT_FALSE(KernelStackFromProto(proto, violations).has_value());
  fields.clear();
  for (const Violation& violation : violations.all()) {
    fields += violation.field + "\n";
  }
  EXPECT_EQ(fields,
            "memory.usable_ratio\nmemory.max_batched_token_count\n"
            "memory.max_sequence_count\nmemory.block_token_count\n");
}

TEST(StackIoTest, RoundTripKeepsEverything) {
  v1::KernelStack no_fallback = ValidProto();
  no_fallback.mutable_bindings(0)->set_precision("bf16");
  v1::KernelStack shared = ValidProto();
  shared.mutable_bindings(5)->clear_tier();
  v1::KernelStack plain = ValidProto();
  plain.clear_fusion();
  plain.clear_memory();
  plain.mutable_host()->set_cuda_graphs(false);
  for (const v1::KernelStack& start :
       {ValidProto(), no_fallback, shared, plain}) {
    const v1::KernelStack once = KernelStackToProto(Read(start));
    const v1::KernelStack twice = KernelStackToProto(Read(once));
    EXPECT_TRUE(MessageDifferencer::Equals(once, twice))
        << once.DebugString() << twice.DebugString();
    EXPECT_EQ(once.families_size(), 6);
    EXPECT_EQ(once.families(4).parameters_size(), 3);
    ASSERT_EQ(once.families(1).fitted_ranges_size(), 2);
    EXPECT_EQ(once.families(1).fitted_ranges(0).size(), "m");
    EXPECT_EQ(once.families(1).fitted_ranges(1).most_value(), 16384);
  }
}

TEST(StackIoTest, OnlyBoundFormatsHaveAFamilyWithoutAFallback) {
  v1::KernelStack proto = ValidProto();
  proto.mutable_bindings(0)->set_precision("bf16");
  const KernelStack stack = Read(proto);
  EXPECT_NE(stack.GemmFor(Format::kBf16), nullptr);
  EXPECT_NE(stack.GemmFor(Format::kFp8E4m3), nullptr);
  EXPECT_EQ(stack.GemmFor(Format::kFp16), nullptr);
}

TEST(StackIoTest, AnEmptyTierServesEveryTierWithoutItsOwn) {
  v1::KernelStack proto = ValidProto();
  proto.mutable_bindings(5)->clear_tier();
  const KernelStack stack = Read(proto);
  for (const auto& family : stack.spec().collectives) {
    ASSERT_TRUE(family);
    EXPECT_EQ(family->facts.id, "nvlink");
  }
}

v1::KernelFamily& Decode(v1::KernelStack& s) { return *s.mutable_families(1); }
v1::KernelFamily& Prefill(v1::KernelStack& s) { return *s.mutable_families(2); }
v1::KernelFamily& Nvlink(v1::KernelStack& s) { return *s.mutable_families(4); }

struct BrokenStack {
  void (*breaks)(v1::KernelStack&);
  const char* field;
  const char* description;
};

void AddRange(v1::KernelFamily& family, const char* size, double least,
              double most) {
  auto& range = *family.add_fitted_ranges();
  range.set_size(size);
  range.set_least_value(least);
  range.set_most_value(most);
}

void ExpectOneViolation(const BrokenStack& test) {
  v1::KernelStack proto = ValidProto();
  test.breaks(proto);
  Violations violations;
  EXPECT_FALSE(KernelStackFromProto(proto, violations)) << test.field;
  ASSERT_EQ(violations.all().size(), 1u)
      << test.field << ": " << violations.ToStatus();
  EXPECT_EQ(violations.all()[0].field, test.field);
  EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
}

TEST(StackIoTest, NamesTheBrokenRangeRule) {
  const BrokenStack kCases[] = {
      {[](v1::KernelStack& s) { AddRange(Decode(s), "length", 1, 2); },
       "families[1].fitted_ranges[0].size", "\"length\" is unknown; known: m"},
      {[](v1::KernelStack& s) {
         AddRange(Decode(s), "requests", 1, 2);
         AddRange(Decode(s), "requests", 1, 3);
       },
       "families[1].fitted_ranges[1].size", "\"requests\" is there already"},
      {[](v1::KernelStack& s) { AddRange(Decode(s), "m", 1, 2); },
       "families[\"decode\"].fitted_ranges[\"m\"]",
       "is no size of the formula; it has requests, new_tokens"},
      {[](v1::KernelStack& s) { AddRange(Decode(s), "requests", 3, 2); },
       "families[\"decode\"].fitted_ranges[\"requests\"]", "is 3 to 2"},
      {[](v1::KernelStack& s) { AddRange(Decode(s), "requests", -1, 2); },
       "families[\"decode\"].fitted_ranges[\"requests\"]", "is -1 to 2"},
      {[](v1::KernelStack& s) { AddRange(Decode(s), "requests", NAN, 2); },
       "families[\"decode\"].fitted_ranges[\"requests\"]", "is nan to 2"},
  };
  for (const BrokenStack& test : kCases) ExpectOneViolation(test);
}

TEST(StackIoTest, NamesTheBrokenFamilyRule) {
  const BrokenStack kCases[] = {
      {[](v1::KernelStack& s) { Decode(s).set_formula("magic"); },
       "families[1].formula",
       "\"magic\" is unknown; known: roofline-gemm, roofline-attention-decode"},
      {[](v1::KernelStack& s) { Decode(s).clear_tier(); }, "families[1].tier",
       "is required"},
      {[](v1::KernelStack& s) { Decode(s).mutable_provenance()->clear_kind(); },
       "families[1].provenance.kind", "is required"},
      {[](v1::KernelStack& s) {
         Decode(s).mutable_provenance()->clear_source();
       },
       "families[1].provenance.source", "is required"},
      {[](v1::KernelStack& s) { Decode(s).mutable_parameters()->RemoveLast(); },
       "families[1].parameters", "\"l2_feed_bytes_per_second\" is missing"},
      {[](v1::KernelStack& s) {
         Decode(s).add_parameters()->set_parameter("wave_seconds");
       },
       "families[1].parameters[5].parameter",
       "\"wave_seconds\" is no parameter of roofline-attention-decode; it has "
       "launch_seconds, combine_seconds"},
      {[](v1::KernelStack& s) {
         *Decode(s).add_parameters() = Decode(s).parameters(2);
       },
       "families[1].parameters[5].parameter",
       "\"peak_fraction_ratio\" is there already"},
      {[](v1::KernelStack& s) {
         Decode(s).mutable_parameters(0)->mutable_provenance()->set_source("x");
       },
       "families[1].parameters[0].provenance.kind", "is required"},
      {[](v1::KernelStack& s) {
         Prefill(s).mutable_parameters()->DeleteSubrange(2, 2);
       },
       "families[2].parameters",
       "needs at least one of peak_fraction_head_64_ratio"},
      {[](v1::KernelStack& s) {
         Nvlink(s).mutable_parameters()->DeleteSubrange(4, 1);
       },
       "families[4].parameters",
       "\"ll_step_seconds\" is missing; \"ll\" is there in part"},
      {[](v1::KernelStack& s) { Nvlink(s).clear_parameters(); },
       "families[4].parameters", "needs at least one of ll_alpha_seconds"},
      {[](v1::KernelStack& s) { Decode(s).set_residual_ratio(0); },
       "families[\"decode\"].residual_ratio", "is 0"},
      {[](v1::KernelStack& s) {
         *s.add_families() = Decode(s);
         s.mutable_families(6)->set_family("spare");
       },
       "families[6]", "\"spare\" serves nothing"},
      {[](v1::KernelStack& s) { *s.add_families() = Decode(s); },
       "families[6].family", "\"decode\" is there already"},
  };
  for (const BrokenStack& test : kCases) ExpectOneViolation(test);
}

TEST(StackIoTest, NamesTheBrokenBindingRule) {
  const BrokenStack kCases[] = {
      {[](v1::KernelStack& s) {
         auto& binding = *s.add_bindings();
         binding.set_op_kind("moe");
         binding.set_family("wide");
       },
       "bindings[6].op_kind",
       "\"moe\" is unknown; known: activation, all_gather"},
      {[](v1::KernelStack& s) { s.mutable_bindings(1)->set_precision("fp5"); },
       "bindings[1].precision", "\"fp5\" is unknown; known: fp32"},
      {[](v1::KernelStack& s) { s.mutable_bindings(5)->set_tier("ethernet"); },
       "bindings[5].tier", "\"ethernet\" is unknown; known: nvlink"},
      {[](v1::KernelStack& s) { s.mutable_bindings(1)->set_tier("pcie"); },
       "bindings[1].tier", "is only for op_kind \"all_gather\""},
      {[](v1::KernelStack& s) { s.mutable_bindings(5)->set_precision("bf16"); },
       "bindings[5].precision", "is only for op_kind \"attention_decode\""},
      {[](v1::KernelStack& s) { s.mutable_bindings(1)->set_family("gone"); },
       "bindings[1].family", "\"gone\" is no family of this stack; it has "},
      {[](v1::KernelStack& s) { s.mutable_bindings(1)->set_family("decode"); },
       "bindings[1].family",
       "\"decode\" has formula roofline-attention-decode, which does not serve "
       "op_kind \"gemm\""},
      {[](v1::KernelStack& s) { *s.add_bindings() = s.bindings(1); },
       "bindings[6]", "op_kind \"gemm\" for fp8-e4m3 is bound already"},
      {[](v1::KernelStack& s) { s.mutable_bindings()->DeleteSubrange(2, 1); },
       "bindings", "has none of op_kind \"attention_decode\""},
      {[](v1::KernelStack& s) {
         s.mutable_host()->mutable_provenance()->clear_source();
       },
       "host.provenance.source", "is required"},
      {[](v1::KernelStack& s) { s.set_stack("My Stack"); }, "stack",
       "is \"My Stack\""},
  };
  for (const BrokenStack& test : kCases) ExpectOneViolation(test);
}

TEST(StackIoTest, NamesAllBrokenRulesAtOnce) {
  v1::KernelStack proto = ValidProto();
  proto.mutable_host()->clear_provenance();                  // 2: kind, source
  proto.mutable_bindings(1)->set_precision("fp5");           // 1
  Decode(proto).mutable_parameters()->DeleteSubrange(0, 2);  // 2
  Prefill(proto).clear_tier();                               // 1
  Violations violations;
  EXPECT_FALSE(KernelStackFromProto(proto, violations));
  EXPECT_EQ(violations.all().size(), 6u) << violations.ToStatus();
}

}  // namespace
}  // namespace mansard::model
