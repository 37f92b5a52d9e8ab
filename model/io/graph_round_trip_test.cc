// Every field of a graph's proto survives the way into the domain and back.

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "model/io/graph_io.h"

namespace mansard::model {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::ModelGraph Parse(const std::string& text) {
  v1::ModelGraph proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return proto;
}

// Between them, the kinds set every field but those of ParallelProto.
const char kKinds[] = R"pb(
  layer_kinds {
    kind: "grouped"
    attention {
      query_head_count: 8
      grouped_query {
        kv_head_count: 2
        head_size: 16
        qkv_bias: true
        output_bias: true
        qk_norm: true
        value_head_size: 12
        nope_head_size: 4
        output_gate: true
        sinks: true
      }
      sliding_window_token_count: 1024
    }
    dense { intermediate_size: 128 gated: true bias: true }
    norm_placement: NORM_PLACEMENT_BOTH
    extra_parameter_count: 3
    formats {
      linear_class: "attention_input"
      weights: "bf16"
      activations: "bf16"
    }
    formats {
      linear_class: "feed_forward"
      weights: "int4-g64"
      activations: "fp8-e4m3"
    }
  }
  layer_kinds {
    kind: "shared"
    attention {
      query_head_count: 8
      grouped_query {
        kv_head_count: 2
        head_size: 16
        value_head_size: 12
        head_norm: HEAD_NORM_ALL_HEADS
        shared_kv: true
      }
      chunk_token_count: 512
    }
    norm_placement: NORM_PLACEMENT_AFTER
  }
  layer_kinds {
    kind: "keys-as-values"
    attention {
      query_head_count: 8
      grouped_query {
        kv_head_count: 8
        head_size: 16
        head_norm: HEAD_NORM_UNWEIGHTED
        value_from_key: true
      }
    }
  }
  layer_kinds {
    kind: "latent"
    attention {
      query_head_count: 8
      multi_head_latent {
        kv_lora_rank: 32
        query_lora_rank: 24
        nope_head_size: 16
        rope_head_size: 8
        value_head_size: 12
        unrotated: true
        bias: true
        output_gate: true
        indexer { head_count: 4 head_size: 16 selected_entry_count: 64 }
      }
    }
    experts {
      expert_count: 8
      experts_per_token_count: 2
      expert_intermediate_size: 32
      shared_intermediate_size: 48
      gated: true
      shared_gated: false
      latent_size: 16
      latent_norm: true
      router_bias: true
      expert_bias: true
      shared_expert_gate: true
      separate_norms: true
      hash_routing: true
    }
  }
  layer_kinds {
    kind: "compressed"
    attention {
      query_head_count: 8
      compressed {
        head_size: 32
        rope_head_size: 8
        query_lora_rank: 24
        output_group_count: 4
        output_lora_rank: 12
        compression_ratio: 4
        overlap: true
        indexer { head_count: 4 head_size: 16 selected_entry_count: 64 }
      }
      sliding_window_token_count: 128
    }
  }
  layer_kinds {
    kind: "cross"
    attention {
      query_head_count: 8
      cross { kv_head_count: 2 head_size: 16 head_norm: HEAD_NORM_PER_HEAD }
    }
  }
  layer_kinds {
    kind: "delta"
    recurrent {
      state_rule: STATE_RULE_KEY_GATED_DELTA
      head_count: 4
      key_head_count: 4
      key_size: 16
      value_size: 12
      convolution_token_count: 4
      convolution_bias: true
      projection_bias: true
      output_gate: OUTPUT_GATE_LOW_RANK
      gate_rank: 6
      decay_rank: 5
      output_norm: HEAD_NORM_PER_HEAD
    }
  }
  layer_kinds {
    kind: "mamba"
    recurrent {
      state_rule: STATE_RULE_MAMBA
      head_count: 96
      key_head_count: 1
      key_size: 16
      value_size: 1
      output_gate: OUTPUT_GATE_NONE
      decay_rank: 5
      inner_norms: true
    }
  }
)pb";

v1::ModelGraph FullProto() {
  return Parse(std::string(kKinds) + R"pb(
    name: "modelGraphs/full"
    display_name: "Full"
    source: "manual"
    hidden_size: 64
    vocabulary_size: 100
    layer_kind_indexes: [ 0, 1, 2, 3, 4, 5, 6, 7, 0 ]
    tied_embeddings: true
    native_precision {
      weights: "fp8-block"
      activations: "fp8-e4m3"
      kv_cache: "fp16"
      state: "fp32"
    }
    max_context_token_count: 4096
    extra_embedding_row_count: 8
    embedding_size: 48
    position_row_count: 2048
    embedding_norm: true
    final_norm: false
    head_bias: true
    norm_bias: true
    residual_stream_count: 4
    extra_parameter_count: 7
    formats { linear_class: "head" weights: "int8" activations: "int8" }
    formats { linear_class: "embedding" weights: "int8" activations: "bf16" }
    other_weight_bytes: 12345678901
    other_weight_source: "an index"
    multi_token_prediction {
      module_count: 2
      layer_kind_indexes: [ 3, 0 ]
      own_embedding: true
      own_head: true
    }
  )pb");
}

// Sets what does not go together with FullProto's streams and modules.
v1::ModelGraph ParallelProto() {
  v1::ModelGraph proto = FullProto();
  proto.clear_residual_stream_count();
  proto.clear_multi_token_prediction();
  proto.set_layer_input_size(6);
  proto.set_layer_input_row_count(90);
  proto.mutable_layer_kinds(0)->set_parallel(true);
  proto.mutable_layer_kinds(0)->set_parallel_norms(true);
  return proto;
}

v1::ModelGraph WithoutOutputs(v1::ModelGraph proto) {
  proto.clear_size();
  proto.clear_revision_id();
  return proto;
}

void NameFields(const Descriptor& type, std::set<std::string>& names) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!names.insert(field.full_name()).second) continue;
    if (field.message_type() != nullptr) {
      NameFields(*field.message_type(), names);
    }
  }
}

void NameSetFields(const Message& message, std::set<std::string>& names) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    names.insert(field->full_name());
    if (field->message_type() == nullptr) continue;
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    if (!field->is_repeated()) {
      NameSetFields(reflection.GetMessage(message, field), names);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      NameSetFields(reflection.GetRepeatedMessage(message, field, i), names);
    }
  }
}

// A field that is new in the proto must come into this test.
TEST(GraphRoundTrip, SetsEveryField) {
  std::set<std::string> missing;
  NameFields(*v1::ModelGraph::descriptor(), missing);
  std::set<std::string> output;
  NameFields(*v1::ModelSize::descriptor(), output);
  output.insert(
      {"mansard.v1.ModelGraph.size", "mansard.v1.ModelGraph.revision_id",
       // What the catalog alone knows.
       "mansard.v1.ModelGraph.create_time", "mansard.v1.ModelGraph.update_time",
       "mansard.v1.ModelGraph.etag", "google.protobuf.Timestamp.seconds",
       "google.protobuf.Timestamp.nanos",
       "mansard.v1.ModelGraph.layer_count",         // With one kind.
       "mansard.v1.Precision.linear_precisions"});  // A target's.
  std::set<std::string> set;
  NameSetFields(FullProto(), set);
  NameSetFields(ParallelProto(), set);
  for (const auto* found : {&output, &set}) {
    for (const std::string& name : *found) missing.erase(name);
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(GraphRoundTrip, KeepsEveryField) {
  for (const v1::ModelGraph& start : {FullProto(), ParallelProto()}) {
    Violations violations;
    const std::optional<ModelGraph> graph =
        GraphFromProto(start, "full", violations);
    ASSERT_TRUE(graph.has_value()) << violations.ToStatus();
    const v1::ModelGraph end = WithoutOutputs(GraphToProto(*graph));
    std::string report;
    MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&report);
    EXPECT_TRUE(differencer.Compare(start, end)) << report;
  }
}

TEST(GraphRoundTrip, NamedDefaultsAreTheUnsetOnes) {
  const v1::ModelGraph unset = Parse(R"pb(
    hidden_size: 64
    vocabulary_size: 100
    layer_kinds {
      kind: "delta"
      recurrent {
        state_rule: STATE_RULE_GATED_DELTA
        head_count: 4
        key_head_count: 2
        key_size: 16
        value_size: 12
      }
      experts {
        expert_count: 8
        experts_per_token_count: 2
        expert_intermediate_size: 32
        shared_intermediate_size: 16
      }
    }
    layer_count: 2
    native_precision { weights: "bf16" activations: "fp8" kv_cache: "fp8" }
    max_context_token_count: 4096
  )pb");
  v1::ModelGraph named = unset;
  v1::LayerKind& kind = *named.mutable_layer_kinds(0);
  kind.set_norm_placement(v1::LayerKind::NORM_PLACEMENT_BEFORE);
  kind.mutable_recurrent()->set_output_gate(
      v1::RecurrentMixer::OUTPUT_GATE_FULL);
  kind.mutable_recurrent()->set_output_norm(v1::HEAD_NORM_NONE);
  kind.mutable_experts()->set_shared_gated(false);
  named.set_final_norm(true);
  named.set_residual_stream_count(1);
  named.mutable_native_precision()->set_state("bf16");
  Violations violations;
  const std::optional<ModelGraph> a = GraphFromProto(unset, "", violations);
  const std::optional<ModelGraph> b = GraphFromProto(named, "", violations);
  ASSERT_TRUE(violations.empty()) << violations.ToStatus();
  EXPECT_EQ(GraphToProto(*a).SerializeAsString(),
            GraphToProto(*b).SerializeAsString());
  EXPECT_EQ(a->spec().native_precision.state, Format::kBf16);
  EXPECT_FALSE(std::get<MixtureOfExperts>(a->spec().layer_kinds[0].feed_forward)
                   .shared_gated);
  // State: 2 layers x 4 x 16 x 12, 2 bytes.
  EXPECT_EQ(GraphToProto(*a).size().state_bytes_per_sequence(), 3072);

  // A head norm has two spellings as well.
  v1::ModelGraph full = FullProto();
  auto& grouped = *full.mutable_layer_kinds(0)
                       ->mutable_attention()
                       ->mutable_grouped_query();
  grouped.set_qk_norm(false);
  grouped.set_head_norm(v1::HEAD_NORM_PER_HEAD);
  const std::optional<ModelGraph> norm =
      GraphFromProto(full, "full", violations);
  ASSERT_TRUE(norm.has_value()) << violations.ToStatus();
  EXPECT_TRUE(MessageDifferencer::Equals(WithoutOutputs(GraphToProto(*norm)),
                                         FullProto()));
}

struct Broken {
  void (*breaks)(v1::ModelGraph&);
  const char* field;
  const char* description;
};

TEST(GraphRoundTrip, NothingUnreadableIsDropped) {
  const Broken kCases[] = {
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(6)->mutable_recurrent()->clear_state_rule();
       },
       "layer_kinds[6].recurrent.state_rule", "is required"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(6)->mutable_recurrent()->set_state_rule(
             static_cast<v1::RecurrentMixer::StateRule>(77));
       },
       "layer_kinds[6].recurrent.state_rule", "is 77; this version knows no"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(7)->mutable_recurrent()->set_output_gate(
             static_cast<v1::RecurrentMixer::OutputGate>(-1));
       },
       "layer_kinds[7].recurrent.output_gate", "is -1"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(6)->mutable_recurrent()->set_output_norm(
             static_cast<v1::HeadNorm>(9));
       },
       "layer_kinds[6].recurrent.output_norm", "is 9"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(2)
             ->mutable_attention()
             ->mutable_grouped_query()
             ->set_head_norm(static_cast<v1::HeadNorm>(9));
       },
       "layer_kinds[2].attention.grouped_query.head_norm", "is 9"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(0)
             ->mutable_attention()
             ->mutable_grouped_query()
             ->set_head_norm(v1::HEAD_NORM_NONE);
       },
       "layer_kinds[0].attention.grouped_query.head_norm",
       "contradicts qk_norm"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(0)->set_norm_placement(
             static_cast<v1::LayerKind::NormPlacement>(5));
       },
       "layer_kinds[0].norm_placement", "is 5"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(5)
             ->mutable_attention()
             ->set_sliding_window_token_count(4);
       },
       "layer_kinds[5].attention.sliding_window_token_count",
       "is 4; cross-attention takes none"},
      {[](v1::ModelGraph& g) {
         g.mutable_layer_kinds(4)->mutable_attention()->set_chunk_token_count(
             4);
       },
       "layer_kinds[4].attention.chunk_token_count",
       "is 4; compressed attention takes none"},
      {[](v1::ModelGraph& g) {
         g.mutable_native_precision()->set_state("fp7");
       },
       "native_precision.state", "\"fp7\" is unknown"},
      {[](v1::ModelGraph& g) {
         g.mutable_multi_token_prediction()->clear_module_count();
       },
       "multi_token_prediction.module_count", "is 0; must be at least 1"},
  };
  for (const Broken& test : kCases) {
    v1::ModelGraph proto = FullProto();
    test.breaks(proto);
    Violations violations;
    EXPECT_FALSE(GraphFromProto(proto, "", violations)) << test.field;
    ASSERT_EQ(violations.all().size(), 1u)
        << test.field << ": " << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, test.field);
    EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
  }
}

}  // namespace
}  // namespace mansard::model
