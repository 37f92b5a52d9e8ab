#include "model/io/graph_io.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "model/io/revision.h"

namespace mansard::model {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

v1::ModelGraph Parse(const char* text) {
  v1::ModelGraph proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return proto;
}

v1::ModelGraph ValidProto() {
  return Parse(R"pb(
    display_name: "Small"
    source: "manual"
    hidden_size: 64
    vocabulary_size: 100
    layer_kinds {
      kind: "dense"
      attention {
        query_head_count: 4
        grouped_query { kv_head_count: 2 head_size: 16 }
      }
      dense { intermediate_size: 128 gated: true }
    }
    layer_count: 3
    native_precision { weights: "bf16" activations: "bf16" kv_cache: "fp8" }
    max_context_token_count: 4096
  )pb");
}

// Two kinds, every flag set.
v1::ModelGraph MixedProto() {
  v1::ModelGraph proto = ValidProto();
  proto.clear_layer_count();
  *proto.add_layer_kinds() = proto.layer_kinds(0);
  v1::LayerKind& window = *proto.mutable_layer_kinds(1);
  window.set_kind("window");
  window.mutable_attention()->set_sliding_window_token_count(1024);
  auto& grouped = *window.mutable_attention()->mutable_grouped_query();
  grouped.set_qkv_bias(true);
  grouped.set_output_bias(true);
  grouped.set_qk_norm(true);
  window.mutable_dense()->set_gated(false);
  window.mutable_dense()->set_bias(true);
  proto.set_tied_embeddings(true);
  for (int index : {1, 0, 1, 1}) proto.add_layer_kind_indexes(index);
  return proto;
}

ModelGraph Read(const v1::ModelGraph& proto, absl::string_view id = "") {
  Violations violations;
  std::optional<ModelGraph> graph = GraphFromProto(proto, id, violations);
  EXPECT_EQ(violations.ToStatus().ToString(), "OK");
  return *graph;
}

TEST(GraphIoTest, ReadsEveryField) {
  const ModelGraph graph = Read(MixedProto(), "mixed");
  const ModelGraphSpec& spec = graph.spec();
  EXPECT_EQ(spec.id, "mixed");
  EXPECT_EQ(spec.display_name, "Small");
  EXPECT_EQ(spec.source, "manual");
  EXPECT_EQ(spec.hidden_size, 64);
  EXPECT_EQ(spec.vocabulary_size, 100);
  EXPECT_EQ(spec.layer_kind_indexes, (std::vector<int>{1, 0, 1, 1}));
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(spec.max_context, 4096);
  EXPECT_EQ(spec.native_precision,
            (Precision{Format::kBf16, Format::kBf16, Format::kFp8E4m3,
                       Format::kBf16}));
  ASSERT_EQ(spec.layer_kinds.size(), 2u);
  EXPECT_EQ(spec.layer_kinds[0],
            (LayerKind{.name = "dense",
                       .attention = GroupedQueryAttention{.query_heads = 4,
                                                          .kv_heads = 2,
                                                          .head_size = 16},
                       .feed_forward = DenseFeedForward{128, true, false}}));
  EXPECT_EQ(
      spec.layer_kinds[1],
      (LayerKind{.name = "window",
                 .attention = GroupedQueryAttention{.query_heads = 4,
                                                    .kv_heads = 2,
                                                    .head_size = 16,
                                                    .qkv_bias = true,
                                                    .output_bias = true,
                                                    .qk_norm = QkNorm::kPerHead,
                                                    .sliding_window = 1024},
                 .feed_forward = DenseFeedForward{128, false, true}}));
}

TEST(GraphIoTest, LayerCountStandsForEqualLayers) {
  EXPECT_EQ(Read(ValidProto()).spec().layer_kind_indexes,
            (std::vector<int>{0, 0, 0}));
  v1::ModelGraph both = ValidProto();
  for (int i = 0; i < 3; ++i) both.add_layer_kind_indexes(0);
  EXPECT_EQ(GraphToProto(Read(both)).revision_id(),
            GraphToProto(Read(ValidProto())).revision_id());
}

TEST(GraphIoTest, WritesSizeAndName) {
  const v1::ModelGraph proto = GraphToProto(Read(ValidProto(), "small"));
  EXPECT_EQ(proto.name(), "modelGraphs/small");
  EXPECT_EQ(proto.layer_count(), 3);
  EXPECT_EQ(proto.layer_kind_indexes_size(), 0);
  // Embedding and head 6,400 each; per layer q 64 x 64, k and v 64 x 32 each,
  // o 64 x 64, feed-forward 3 x 64 x 128, norms 2 x 64; a final norm of 64.
  EXPECT_EQ(proto.size().parameter_count(), 123840);
  EXPECT_EQ(proto.size().active_parameter_count(), 123840);
  ASSERT_EQ(proto.size().tensor_classes_size(), 5);
  const struct {
    const char* name;
    int64_t count;
  } kClasses[] = {{"embedding", 6400},
                  {"attention", 36864},
                  {"feed_forward", 73728},
                  {"norm", 448},
                  {"head", 6400}};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(proto.size().tensor_classes(i).tensor_class(), kClasses[i].name);
    EXPECT_EQ(proto.size().tensor_classes(i).parameter_count(),
              kClasses[i].count);
  }
  // 3 layers x 2 x 2 heads x 16, one byte each.
  EXPECT_EQ(proto.size().kv_bytes_per_token(), 192);
  EXPECT_EQ(proto.size().unbounded_kv_bytes_per_token(), 192);
  EXPECT_EQ(proto.size().active_without_embeddings_parameter_count(),
            123840 - 2 * 6400);
  EXPECT_EQ(proto.size().multi_token_prediction_parameter_count(), 0);
  EXPECT_EQ(proto.size().indexer_bytes_per_token(), 0);
  EXPECT_EQ(proto.size().state_bytes_per_sequence(), 0);
  EXPECT_EQ(GraphToProto(Read(ValidProto())).name(), "");
  EXPECT_EQ(GraphToProto(Read(MixedProto())).layer_kind_indexes_size(), 4);
}

TEST(GraphIoTest, RoundTripKeepsEverything) {
  for (const v1::ModelGraph& start : {ValidProto(), MixedProto()}) {
    const v1::ModelGraph once = GraphToProto(Read(start, "m"));
    const v1::ModelGraph twice = GraphToProto(Read(once, "m"));
    EXPECT_TRUE(MessageDifferencer::Equals(once, twice))
        << once.DebugString() << twice.DebugString();
  }
}

TEST(GraphIoTest, RevisionIsOfTheContentAlone) {
  const std::string revision = GraphToProto(Read(ValidProto())).revision_id();
  EXPECT_EQ(revision.size(), 12u);
  EXPECT_EQ(revision.find_first_not_of("0123456789abcdef"), std::string::npos);
  v1::ModelGraph renamed = ValidProto();
  renamed.set_name("modelGraphs/other");
  renamed.set_display_name("Other");
  renamed.set_source("elsewhere");
  renamed.set_other_weight_source("elsewhere");
  renamed.set_revision_id("000000000000");
  renamed.mutable_size()->set_parameter_count(7);
  EXPECT_EQ(GraphToProto(Read(renamed, "other")).revision_id(), revision);
  v1::ModelGraph other = ValidProto();
  other.mutable_native_precision()->set_kv_cache("bf16");
  EXPECT_NE(GraphToProto(Read(other)).revision_id(), revision);
}

struct BrokenGraph {
  void (*breaks)(v1::ModelGraph&);
  const char* field;
  const char* description;
};

TEST(GraphIoTest, NamesTheRuleThatIsBroken) {
  const BrokenGraph kCases[] = {
      {[](v1::ModelGraph& g) { g.clear_hidden_size(); }, "hidden_size",
       "is 0; allowed: 1 to"},
      {[](v1::ModelGraph& g) { g.set_vocabulary_size(-5); }, "vocabulary_size",
       "is -5"},
      {[](v1::ModelGraph& g) { g.clear_max_context_token_count(); },
       "max_context_token_count", "is 0"},
      {[](v1::ModelGraph& g) { g.clear_native_precision(); },
       "native_precision", "is required"},
      {[](v1::ModelGraph& g) {
         g.mutable_native_precision()->clear_activations();
       },
       "native_precision.activations", "is required"},
      {[](v1::ModelGraph& g) {
         g.mutable_native_precision()->set_weights("fp7");
       },
       "native_precision.weights",
       "\"fp7\" is unknown; known: fp32, tf32, bf16, fp16, fp8-e4m3"},
      {[](v1::ModelGraph& g) {
         g.mutable_native_precision()
             ->add_linear_precisions()
             ->set_linear_class("head");
       },
       "native_precision.linear_precisions", "must be empty in a graph"},
      {[](v1::ModelGraph& g) {
         v1::LinearPrecision& row = *g.mutable_layer_kinds(0)->add_formats();
         row.set_linear_class("heads");
         row.set_weights("bf16");
         row.set_activations("bf16");
       },
       "layer_kinds[0].formats[0].linear_class",
       "\"heads\" is unknown; known: attention_input"},
      {[](v1::ModelGraph& g) {
         v1::LinearPrecision& row = *g.add_formats();
         row.set_linear_class("head");
         row.set_weights("bf16");
       },
       "formats[0].activations", "is required"},
      {[](v1::ModelGraph& g) { g.clear_layer_count(); }, "layer_count",
       "is 0; allowed: 1 to 4096"},
      {[](v1::ModelGraph& g) { g.set_layer_count(5000); }, "layer_count",
       "is 5000"},
      {[](v1::ModelGraph& g) { g.add_layer_kind_indexes(0); }, "layer_count",
       "is 3; layer_kind_indexes names 1 layers"},
      {[](v1::ModelGraph& g) {
         *g.add_layer_kinds() = g.layer_kinds(0);
         g.mutable_layer_kinds(1)->set_kind("other");
       },
       "layer_kind_indexes", "is empty; with 2 layer kinds"},
      {[](v1::ModelGraph& g) {
         g.clear_layer_count();
         g.add_layer_kind_indexes(1);
       },
       "layer_kind_indexes[0]", "is 1; there are 1"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(0)->clear_attention();
         g.mutable_layer_kinds(0)->clear_dense();
       },
       "layer_kinds[0].attention",
       "is required, or recurrent, dense or experts"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(0)->mutable_attention()->clear_grouped_query();
       },
       "layer_kinds[0].attention.grouped_query", "is required"},
      {[](v1::ModelGraph& g) { g.mutable_layer_kinds(0)->set_kind("A"); },
       "layer_kinds[0].kind", "is \"A\""},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(0)
             ->mutable_attention()
             ->mutable_grouped_query()
             ->set_kv_head_count(3);
       },
       "layer_kinds[0].attention.grouped_query.kv_head_count",
       "must divide the query heads, 4"},
  };
  for (const BrokenGraph& test : kCases) {
    v1::ModelGraph proto = ValidProto();
    test.breaks(proto);
    Violations violations;
    EXPECT_FALSE(GraphFromProto(proto, "", violations)) << test.field;
    ASSERT_EQ(violations.all().size(), 1u)
        << test.field << ": " << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, test.field);
    EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
  }
}

TEST(GraphIoTest, NamesAllBrokenRulesAtOnce) {
  v1::ModelGraph proto = ValidProto();
  proto.set_hidden_size(0);
  proto.mutable_native_precision()->set_kv_cache("x");
  proto.mutable_layer_kinds(0)->mutable_dense()->set_intermediate_size(0);
  proto.clear_layer_count();
  Violations violations;
  EXPECT_FALSE(GraphFromProto(proto, "Bad Id", violations));
  EXPECT_EQ(violations.all().size(), 5u) << violations.ToStatus();
}

TEST(GraphIoTest, FormatNames) {
  Violations violations;
  EXPECT_EQ(FormatFromProto("", "f", violations), std::nullopt);
  EXPECT_EQ(FormatFromProto("fp8", "f", violations), Format::kFp8E4m3);
  EXPECT_EQ(FormatFromProto("nvfp4", "f", violations), Format::kNvfp4);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(FormatFromProto("FP8", "f", violations), std::nullopt);
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].field, "f");
}

// The published FNV-1a test vectors: "" cbf29ce484222325, "a"
// af63dc4c8601ec8c, "foobar" 85944171f73967e8; the upper 16 bits are folded
// into the lowest.
TEST(GraphIoTest, ContentHashIsFoldedFnv1a) {
  EXPECT_EQ(ContentHash(""), "9ce48422e8d7");
  EXPECT_EQ(ContentHash("a"), "dc4c860143ef");
  EXPECT_EQ(ContentHash("foobar"), "4171f739e27c");
}

}  // namespace
}  // namespace mansard::model
