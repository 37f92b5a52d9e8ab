#include "clients/cli/output/model_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::cli {
namespace {

int LayerCount(const v1::ModelGraph& graph) {
  return graph.layer_kind_indexes_size() > 0 ? graph.layer_kind_indexes_size()
                                             : graph.layer_count();
}

int LayersOfKind(const v1::ModelGraph& graph, int kind) {
  if (graph.layer_kind_indexes_size() == 0) return graph.layer_count();
  int count = 0;
  for (const int index : graph.layer_kind_indexes()) count += index == kind;
  return count;
}

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrFormat("  %-18s%s\n", label, text);
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

// What the columns do not say.
std::string NotesOn(const v1::LayerKind& kind) {
  const v1::Attention& attention = kind.attention();
  const v1::Attention::GroupedQuery& grouped = attention.grouped_query();
  const v1::MixtureOfExperts& experts = kind.experts();
  std::string notes =
      kind.dense().gated() || experts.gated() ? "gated" : "plain";
  if (kind.has_experts()) {
    absl::StrAppend(&notes, ", ", experts.expert_count(), " experts, ",
                    experts.experts_per_token_count(), " a token");
  }
  if (experts.shared_intermediate_size() > 0) {
    absl::StrAppend(&notes, ", shared ", experts.shared_intermediate_size());
  }
  if (attention.has_multi_head_latent()) {
    absl::StrAppend(&notes, ", latent rank ",
                    attention.multi_head_latent().kv_lora_rank());
  }
  if (attention.chunk_token_count() > 0) notes += ", chunks";
  if (kind.parallel()) notes += ", parallel";
  if (grouped.qk_norm()) notes += ", QK norm";
  if (grouped.qkv_bias()) notes += ", QKV bias";
  if (grouped.output_bias()) notes += ", output bias";
  if (kind.dense().bias()) notes += ", FFN bias";
  return notes;
}

Report LayerKindReport(const v1::ModelGraph& graph) {
  Report report{{{"layers", Unit::kNone, Align::kLeft},
                 {"count"},
                 {"query heads"},
                 {"KV heads"},
                 {"head size"},
                 {"window"},
                 {"FFN width"},
                 {"notes", Unit::kNone, Align::kLeft}},
                {}};
  for (int i = 0; i < graph.layer_kinds_size(); ++i) {
    const v1::LayerKind& kind = graph.layer_kinds(i);
    const v1::Attention& attention = kind.attention();
    const v1::MultiHeadLatent& latent = attention.multi_head_latent();
    const v1::Attention::GroupedQuery& grouped = attention.grouped_query();
    const int64_t window =
        attention.sliding_window_token_count() + attention.chunk_token_count();
    report.rows.push_back(
        {Text(kind.kind()), Number(LayersOfKind(graph, i)),
         Number(attention.query_head_count()),
         NumberOrNothing(grouped.kv_head_count()),
         Number(grouped.head_size() + latent.nope_head_size() +
                latent.rope_head_size()),
         NumberOrNothing(static_cast<double>(window)),
         Number(kind.dense().intermediate_size() +
                kind.experts().expert_intermediate_size()),
         Text(NotesOn(kind))});
  }
  return report;
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
       {"layers"},
       {"max context", Unit::kNone, Align::kRight, "max_context_tokens"},
       {"format", Unit::kNone, Align::kLeft}},
      {}};
  for (const v1::ModelGraph& graph : response.model_graphs()) {
    const v1::ModelSize& size = graph.size();
    report.rows.push_back(
        {Text(IdOf(graph.name())),
         Number(static_cast<double>(size.parameter_count())),
         Number(static_cast<double>(size.active_parameter_count())),
         Number(static_cast<double>(size.kv_bytes_per_token())),
         Number(LayerCount(graph)),
         Number(static_cast<double>(graph.max_context_token_count())),
         Text(FormatsText(graph.native_precision()))});
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
      Line("active", Grouped(size.active_parameter_count())),
      Line("KV per token",
           absl::StrCat(Grouped(size.kv_bytes_per_token()), " B")),
      Line("layers", Grouped(int64_t{LayerCount(graph)})),
      Line("hidden size", Grouped(int64_t{graph.hidden_size()})),
      Line("vocabulary",
           absl::StrCat(Grouped(int64_t{graph.vocabulary_size()}),
                        graph.tied_embeddings() ? ", head tied" : "")),
      Line("max context",
           absl::StrCat(Grouped(graph.max_context_token_count()), " tokens")),
      Line("formats", FormatsText(graph.native_precision())));
  if (!graph.source().empty()) {
    absl::StrAppend(&out, Line("source", Wrapped(graph.source(), 20)));
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
