#include "clients/cli/output/model_text.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/layer_text.h"

namespace mansard::cli {
namespace {

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrFormat("  %-20s%s\n", label, text);
}

std::string FormatsText(const v1::Precision& precision) {
  if (precision.weights() == precision.activations() &&
      precision.weights() == precision.kv_cache()) {
    return precision.weights();
  }
  return absl::StrCat(precision.weights(), " weights, ",
                      precision.activations(), " activations, ",
                      precision.kv_cache(), " KV cache");
}

// Classes of linear layers that are in other formats, with the layers they are
// so in.
std::vector<std::string> LinearLines(const v1::ModelGraph& graph) {
  std::vector<int> layers_of(static_cast<size_t>(graph.layer_kinds_size()));
  for (int index : graph.layer_kind_indexes()) {
    if (index >= 0 && index < graph.layer_kinds_size()) {
      ++layers_of[static_cast<size_t>(index)];
    }
  }
  if (graph.layer_kind_indexes().empty() && !layers_of.empty()) {
    layers_of[0] = graph.layer_count();
  }
  std::vector<std::pair<std::string, int>> rows;
  const auto add = [&rows](const v1::LinearPrecision& linear, int layers) {
    const std::string text =
        absl::StrCat(linear.linear_class(), ": ", linear.weights(),
                     " weights, ", linear.activations(), " activations");
    for (auto& [known, count] : rows) {
      if (known == text) {
        count += layers;
        return;
      }
    }
    rows.emplace_back(text, layers);
  };
  for (int i = 0; i < graph.layer_kinds_size(); ++i) {
    for (const auto& linear : graph.layer_kinds(i).formats()) {
      add(linear, layers_of[static_cast<size_t>(i)]);
    }
  }
  for (const auto& linear : graph.formats()) add(linear, 0);
  std::vector<std::string> lines;
  for (const auto& [text, layers] : rows) {
    lines.push_back(layers == 0
                        ? text
                        : absl::StrCat(text, ", in ", layers,
                                       layers == 1 ? " layer" : " layers"));
  }
  return lines;
}

// What a token and a sequence keep.
std::string CacheLines(const v1::ModelSize& size) {
  std::string text = Line(
      "KV per token",
      absl::StrCat(
          Grouped(size.kv_bytes_per_token()), " B",
          size.unbounded_kv_bytes_per_token() == size.kv_bytes_per_token()
              ? ""
              : absl::StrCat(", ", Grouped(size.unbounded_kv_bytes_per_token()),
                             " B once windows are full")));
  if (size.indexer_bytes_per_token() > 0) {
    absl::StrAppend(
        &text,
        Line("index per token",
             absl::StrCat(Grouped(size.indexer_bytes_per_token()), " B")));
  }
  if (size.state_bytes_per_sequence() > 0) {
    absl::StrAppend(
        &text,
        Line("state per sequence",
             absl::StrCat(Grouped(size.state_bytes_per_sequence()), " B")));
  }
  return text;
}

// Beside `parameters`.
std::string DraftLine(const v1::ModelSize& size) {
  const int64_t count = size.multi_token_prediction_parameter_count();
  if (count == 0) return "";
  return Line("drafting modules", Grouped(count));
}

}  // namespace

std::string IdOf(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

Report TensorClassReport(const v1::ModelSize& size) {
  Report report{{{"tensors", Unit::kNone, Align::kLeft},
                 {"parameters"},
                 {"share", Unit::kPercent}},
                {}};
  const auto total = static_cast<double>(size.parameter_count());
  for (const auto& entry : size.tensor_classes()) {
    const auto count = static_cast<double>(entry.parameter_count());
    report.rows.push_back({Text(entry.tensor_class()), Number(count),
                           Number(total > 0 ? count / total : 0)});
  }
  return report;
}

Report ModelListReport(const v1::ListModelGraphsResponse& response) {
  Report report{
      {{"model", Unit::kNone, Align::kLeft},
       {"parameters", Unit::kParameters},
       {"active", Unit::kParameters},
       {"KV/token", Unit::kBytes, Align::kRight, "kv_bytes_per_token"},
       {"state", Unit::kBytes, Align::kRight, "state_bytes_per_sequence"},
       {"max context", Unit::kNone, Align::kRight, "max_context_tokens",
        Reader::kPrograms},
       {"weights", Unit::kNone, Align::kLeft, "weights", Reader::kPrograms},
       {"layers", Unit::kNone, Align::kLeft}},
      {}};
  for (const v1::ModelGraph& graph : response.model_graphs()) {
    const v1::ModelSize& size = graph.size();
    report.rows.push_back(
        {Text(IdOf(graph.name())),
         Number(static_cast<double>(size.parameter_count())),
         Number(static_cast<double>(size.active_parameter_count())),
         Number(static_cast<double>(size.kv_bytes_per_token())),
         NumberOrNothing(static_cast<double>(size.state_bytes_per_sequence())),
         Number(static_cast<double>(graph.max_context_token_count())),
         Text(graph.native_precision().weights()), Text(LayersText(graph))});
  }
  return report;
}

std::string ModelText(const v1::ModelGraph& graph, const Style& style) {
  const v1::ModelSize& size = graph.size();
  const std::string id = IdOf(graph.name());
  std::string title = graph.display_name();
  if (title.empty()) title = id.empty() ? "model" : id;
  if (!id.empty() && id != title) absl::StrAppend(&title, "  (", id, ")");
  std::string out = absl::StrCat(style.Paint(Tone::kStrong, title), "\n");
  absl::StrAppend(
      &out, Line("parameters", Grouped(size.parameter_count())),
      Line("active",
           absl::StrCat(
               Grouped(size.active_parameter_count()), "; ",
               Grouped(size.active_without_embeddings_parameter_count()),
               " without embeddings")),
      DraftLine(size), CacheLines(size),
      Line("layers", Grouped(int64_t{LayerCount(graph)})),
      Line("hidden size", Grouped(int64_t{graph.hidden_size()})),
      Line("vocabulary",
           absl::StrCat(Grouped(int64_t{graph.vocabulary_size()}),
                        graph.tied_embeddings() ? ", head tied" : "")),
      Line("max context",
           absl::StrCat(Grouped(graph.max_context_token_count()), " tokens")),
      Line("formats", FormatsText(graph.native_precision())));
  for (const std::string& line : LinearLines(graph)) {
    absl::StrAppend(&out, Line("", line));
  }
  if (graph.other_weight_bytes() > 0) {
    absl::StrAppend(&out,
                    Line("other weights",
                         absl::StrCat(Grouped(graph.other_weight_bytes()),
                                      " B: ", graph.other_weight_source())));
  }
  if (!graph.source().empty()) {
    absl::StrAppend(&out, Line("source", Wrapped(graph.source(), 22)));
    out.pop_back();  // Wrapped ends its last line.
  }
  if (!graph.revision_id().empty()) {
    absl::StrAppend(&out, Line("revision", graph.revision_id()));
  }
  absl::StrAppend(&out, "\n", TableText(TensorClassReport(size), style), "\n",
                  TableText(LayerKindReport(graph), style));
  return out;
}

}  // namespace mansard::cli
