#include "model/io/graph_io.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/id.h"
#include "model/io/layer_io.h"
#include "model/io/revision.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

constexpr double kMaxLayers = 4096;

std::vector<int> LayerIndexes(const v1::ModelGraph& proto,
                              Violations& violations) {
  std::vector<int> given(proto.layer_kind_indexes().begin(),
                         proto.layer_kind_indexes().end());
  const int count = proto.layer_count();
  if (!given.empty()) {
    if (count != 0 && count != proto.layer_kind_indexes_size()) {
      violations.Add("layer_count",
                     absl::StrCat("is ", count, "; layer_kind_indexes names ",
                                  given.size(), " layers"));
    }
    return given;
  }
  // Stands in where a rule is broken: one layer of the first kind.
  std::vector<int> stand_in(proto.layer_kinds().empty() ? 0 : 1, 0);
  if (proto.layer_kinds_size() > 1) {
    violations.Add("layer_kind_indexes",
                   absl::StrCat("is empty; with ", proto.layer_kinds_size(),
                                " layer kinds it names the kind of each "
                                "layer"));
    return stand_in;
  }
  if (!violations.CheckRange("layer_count", count, 1, kMaxLayers)) {
    return stand_in;
  }
  return std::vector<int>(static_cast<size_t>(count), 0);
}

// What is not stored in a format of its own has 16 bits at least.
Format WideActivations(const Precision& precision) {
  return IsLowPrecision(precision.activations) ? Format::kBf16
                                               : precision.activations;
}

Precision NativePrecision(const v1::ModelGraph& proto, Violations& violations) {
  if (!proto.has_native_precision()) {
    AddRequired("native_precision", violations);
    return {};
  }
  Violations::Scope scope(violations, "native_precision");
  const auto read = [&](const std::string& name, absl::string_view field) {
    if (name.empty()) AddRequired(field, violations);
    return FormatFromProto(name, field, violations).value_or(Format::kBf16);
  };
  Precision precision{
      .weights = read(proto.native_precision().weights(), "weights"),
      .activations =
          read(proto.native_precision().activations(), "activations"),
      .kv_cache = read(proto.native_precision().kv_cache(), "kv_cache")};
  precision.state =
      FormatFromProto(proto.native_precision().state(), "state", violations)
          .value_or(WideActivations(precision));
  if (proto.native_precision().linear_precisions_size() > 0) {
    violations.Add("linear_precisions",
                   "must be empty in a graph: its layer kinds have formats");
  }
  return precision;
}

MultiTokenPrediction DraftingFromProto(const v1::MultiTokenPrediction& proto) {
  return {.modules = proto.module_count(),
          .layer_kind_indexes = {proto.layer_kind_indexes().begin(),
                                 proto.layer_kind_indexes().end()},
          .own_embedding = proto.own_embedding(),
          .own_head = proto.own_head()};
}

// Whole bytes; 4-bit caches of odd head sizes have half ones, compressed
// entries smaller parts.
int64_t WholeBytes(Bytes bytes) {
  return static_cast<int64_t>(std::ceil(bytes.value()));
}

// What stands before and after the layers, and beside them.
void ReadAroundLayers(const v1::ModelGraph& proto, ModelGraphSpec& spec) {
  spec.extra_embedding_rows = proto.extra_embedding_row_count();
  spec.embedding_size = proto.embedding_size();
  spec.position_rows = proto.position_row_count();
  spec.embedding_norm = proto.embedding_norm();
  spec.final_norm = !proto.has_final_norm() || proto.final_norm();
  spec.head_bias = proto.head_bias();
  spec.norm_bias = proto.norm_bias();
  spec.layer_input_size = proto.layer_input_size();
  spec.layer_input_rows = proto.layer_input_row_count();
  spec.residual_streams =
      proto.residual_stream_count() == 0 ? 1 : proto.residual_stream_count();
  spec.extra_parameters = proto.extra_parameter_count();
  spec.mtp = DraftingFromProto(proto.multi_token_prediction());
  spec.other_weight_bytes = proto.other_weight_bytes();
  spec.other_weight_source = proto.other_weight_source();
}

// Defaults stay unset, so that graphs without such parts keep their revision.
// Rows and widths are at most 1e9.
void WriteAroundLayers(const ModelGraphSpec& spec, v1::ModelGraph& proto) {
  proto.set_extra_embedding_row_count(
      static_cast<int>(spec.extra_embedding_rows));
  proto.set_embedding_size(static_cast<int>(spec.embedding_size));
  proto.set_position_row_count(static_cast<int>(spec.position_rows));
  proto.set_embedding_norm(spec.embedding_norm);
  if (!spec.final_norm) proto.set_final_norm(false);
  proto.set_head_bias(spec.head_bias);
  proto.set_norm_bias(spec.norm_bias);
  proto.set_layer_input_size(static_cast<int>(spec.layer_input_size));
  proto.set_layer_input_row_count(static_cast<int>(spec.layer_input_rows));
  if (spec.residual_streams != 1) {
    proto.set_residual_stream_count(spec.residual_streams);
  }
  proto.set_extra_parameter_count(spec.extra_parameters);
  LinearFormatsToProto(spec.formats, *proto.mutable_formats());
  proto.set_other_weight_bytes(spec.other_weight_bytes);
  if (spec.mtp.modules == 0) return;
  auto& mtp = *proto.mutable_multi_token_prediction();
  mtp.set_module_count(spec.mtp.modules);
  for (int index : spec.mtp.layer_kind_indexes) {
    mtp.add_layer_kind_indexes(index);
  }
  mtp.set_own_embedding(spec.mtp.own_embedding);
  mtp.set_own_head(spec.mtp.own_head);
}

v1::ModelSize SizeToProto(const ModelGraph& graph) {
  v1::ModelSize size;
  size.set_parameter_count(graph.ParameterCount());
  size.set_active_parameter_count(graph.ActiveParameterCount());
  size.set_active_without_embeddings_parameter_count(
      graph.ActiveParameterCountWithoutEmbeddings());
  size.set_multi_token_prediction_parameter_count(graph.MtpParameterCount());
  for (size_t i = 0; i < kTensorClassCount; ++i) {
    const auto tensor_class = static_cast<TensorClass>(i);
    if (graph.ParameterCount(tensor_class) == 0) continue;
    auto& entry = *size.add_tensor_classes();
    entry.set_tensor_class(std::string(TensorClassName(tensor_class)));
    entry.set_parameter_count(graph.ParameterCount(tensor_class));
  }
  const Precision& native = graph.spec().native_precision;
  size.set_kv_bytes_per_token(
      WholeBytes(graph.KvBytesPerToken(native.kv_cache)));
  size.set_unbounded_kv_bytes_per_token(
      WholeBytes(graph.UnboundedKvBytesPerToken(native.kv_cache)));
  size.set_indexer_bytes_per_token(
      WholeBytes(graph.IndexerBytesPerToken(native.kv_cache)));
  size.set_state_bytes_per_sequence(WholeBytes(
      graph.StateBytesPerSequence(native.state, WideActivations(native))));
  return size;
}

}  // namespace

std::optional<ModelGraph> GraphFromProto(const v1::ModelGraph& proto,
                                         absl::string_view id,
                                         Violations& violations) {
  const size_t before = violations.all().size();
  if (!id.empty() && !IsValidId(id)) {
    violations.Add("name", absl::StrCat("has id \"", id,
                                        "\"; allowed: 1 to 63 lower-case "
                                        "letters, digits, \"-\", \".\""));
  }
  ModelGraphSpec spec;
  spec.id = std::string(id);
  spec.display_name = proto.display_name();
  spec.source = proto.source();
  spec.hidden_size = proto.hidden_size();
  spec.vocabulary_size = proto.vocabulary_size();
  for (int i = 0; i < proto.layer_kinds_size(); ++i) {
    Violations::Scope scope(violations,
                            Indexed("layer_kinds", static_cast<size_t>(i)));
    spec.layer_kinds.push_back(
        LayerKindFromProto(proto.layer_kinds(i), violations));
  }
  spec.layer_kind_indexes = LayerIndexes(proto, violations);
  spec.tied_embeddings = proto.tied_embeddings();
  spec.native_precision = NativePrecision(proto, violations);
  spec.max_context = proto.max_context_token_count();
  ReadAroundLayers(proto, spec);
  spec.formats = LinearFormatsFromProto(proto.formats(), violations);
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  if (violations.all().size() != before) return std::nullopt;
  return graph;
}

v1::ModelGraph GraphToProto(const ModelGraph& graph) {
  const ModelGraphSpec& spec = graph.spec();
  v1::ModelGraph proto;
  proto.set_hidden_size(static_cast<int>(spec.hidden_size));
  proto.set_vocabulary_size(static_cast<int>(spec.vocabulary_size));
  for (const LayerKind& kind : spec.layer_kinds) {
    *proto.add_layer_kinds() = LayerKindToProto(kind);
  }
  if (spec.layer_kinds.size() > 1) {
    for (int index : spec.layer_kind_indexes) {
      proto.add_layer_kind_indexes(index);
    }
  } else {
    proto.set_layer_count(graph.layer_count());
  }
  proto.set_tied_embeddings(spec.tied_embeddings);
  const auto name = [](Format format) {
    return std::string(TraitsOf(format).name);
  };
  auto& precision = *proto.mutable_native_precision();
  precision.set_weights(name(spec.native_precision.weights));
  precision.set_activations(name(spec.native_precision.activations));
  precision.set_kv_cache(name(spec.native_precision.kv_cache));
  if (spec.native_precision.state != WideActivations(spec.native_precision)) {
    precision.set_state(name(spec.native_precision.state));
  }
  proto.set_max_context_token_count(spec.max_context);
  WriteAroundLayers(spec, proto);
  // The hash covers what is set so far: the content without its labels.
  proto.set_revision_id(RevisionOf(proto));
  if (!spec.id.empty()) proto.set_name(absl::StrCat("modelGraphs/", spec.id));
  proto.set_display_name(spec.display_name);
  proto.set_source(spec.source);
  proto.set_other_weight_source(spec.other_weight_source);
  *proto.mutable_size() = SizeToProto(graph);
  return proto;
}

}  // namespace mansard::model
