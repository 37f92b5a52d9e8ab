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
  return {.weights = read(proto.native_precision().weights(), "weights"),
          .activations =
              read(proto.native_precision().activations(), "activations"),
          .kv_cache = read(proto.native_precision().kv_cache(), "kv_cache")};
}

v1::ModelSize SizeToProto(const ModelGraph& graph) {
  v1::ModelSize size;
  size.set_parameter_count(graph.ParameterCount());
  size.set_active_parameter_count(graph.ActiveParameterCount());
  for (int i = 0; i < kTensorClassCount; ++i) {
    const auto tensor_class = static_cast<TensorClass>(i);
    auto& entry = *size.add_tensor_classes();
    entry.set_tensor_class(std::string(TensorClassName(tensor_class)));
    entry.set_parameter_count(graph.ParameterCount(tensor_class));
  }
  // Whole bytes; only 4-bit caches of odd head sizes have half ones.
  size.set_kv_bytes_per_token(static_cast<int64_t>(std::ceil(
      graph.KvBytesPerToken(graph.spec().native_precision.kv_cache).value())));
  return size;
}

}  // namespace

std::optional<Format> FormatFromProto(absl::string_view name,
                                      absl::string_view field,
                                      Violations& violations) {
  if (name.empty()) return std::nullopt;
  const std::optional<Format> format = ParseFormat(name);
  if (!format) {
    violations.Add(
        field,
        absl::StrCat("\"", name, "\" is unknown; known: ", FormatNames()));
  }
  return format;
}

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
  proto.set_max_context_token_count(spec.max_context);
  // The hash covers what is set so far: the content without its labels.
  proto.set_revision_id(RevisionOf(proto));
  if (!spec.id.empty()) proto.set_name(absl::StrCat("modelGraphs/", spec.id));
  proto.set_display_name(spec.display_name);
  proto.set_source(spec.source);
  *proto.mutable_size() = SizeToProto(graph);
  return proto;
}

}  // namespace mansard::model
