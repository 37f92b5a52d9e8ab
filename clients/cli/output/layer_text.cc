#include "clients/cli/output/layer_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace mansard::cli {
namespace {

// "gated delta" of STATE_RULE_GATED_DELTA; empty for a newer server's rule.
std::string RuleWord(v1::RecurrentMixer::StateRule rule) {
  const std::string& name = v1::RecurrentMixer::StateRule_Name(rule);
  return absl::AsciiStrToLower(absl::StrReplaceAll(
      absl::StripPrefix(name, "STATE_RULE_"), {{"_", " "}}));
}

std::string AttentionWord(const v1::Attention& attention) {
  switch (attention.kind_case()) {
    case v1::Attention::kGroupedQuery:
      return attention.chunk_token_count() > 0            ? "chunked"
             : attention.sliding_window_token_count() > 0 ? "window"
                                                          : "full";
    case v1::Attention::kMultiHeadLatent:
      return attention.multi_head_latent().has_indexer() ? "sparse latent"
                                                         : "latent";
    case v1::Attention::kCompressed:
      return attention.compressed().compression_ratio() == 0 ? "window"
             : attention.compressed().has_indexer() ? "compressed sparse"
                                                    : "compressed";
    case v1::Attention::kCross:
      return "cross";
    case v1::Attention::KIND_NOT_SET:
      break;
  }
  return "";
}

std::string MixerText(const v1::LayerKind& kind) {
  std::vector<std::string> mixers;
  if (kind.has_attention()) mixers.push_back(AttentionWord(kind.attention()));
  if (kind.has_recurrent()) {
    mixers.push_back(RuleWord(kind.recurrent().state_rule()));
  }
  return mixers.empty() ? "none" : absl::StrJoin(mixers, " + ");
}

class Notes {
 public:
  void Add(bool holds, absl::string_view note) {
    if (holds) notes_.emplace_back(note);
  }
  std::string Text() const { return absl::StrJoin(notes_, ", "); }

 private:
  std::vector<std::string> notes_;
};

void AddAttentionNotes(const v1::Attention& attention, Notes& notes) {
  const v1::Attention::GroupedQuery& grouped = attention.grouped_query();
  const v1::MultiHeadLatent& latent = attention.multi_head_latent();
  const v1::Attention::Compressed& compressed = attention.compressed();
  const v1::SparseIndexer& indexer =
      attention.has_compressed() ? compressed.indexer() : latent.indexer();
  notes.Add(latent.kv_lora_rank() > 0,
            absl::StrCat("rank ", latent.kv_lora_rank()));
  notes.Add(compressed.compression_ratio() > 0,
            absl::StrCat("1 entry a ", compressed.compression_ratio()));
  notes.Add(indexer.selected_entry_count() > 0,
            absl::StrCat("top ", indexer.selected_entry_count()));
  notes.Add(grouped.shared_kv(), "KV of an earlier layer");
  notes.Add(grouped.value_from_key(), "V from K");
  notes.Add(grouped.value_head_size() > 0,
            absl::StrCat("values of ", grouped.value_head_size()));
  notes.Add(grouped.output_gate() || latent.output_gate(), "output gate");
  notes.Add(grouped.sinks(), "sinks");
  notes.Add(grouped.qk_norm() || grouped.head_norm() > v1::HEAD_NORM_NONE ||
                attention.cross().head_norm() > v1::HEAD_NORM_NONE,
            "QK norm");
  notes.Add(grouped.qkv_bias(), "QKV bias");
  notes.Add(grouped.output_bias(), "output bias");
}

std::string FeedForwardText(const v1::LayerKind& kind) {
  const v1::MixtureOfExperts& experts = kind.experts();
  if (kind.has_dense()) {
    return absl::StrCat(kind.dense().gated() ? "gated" : "plain",
                        kind.dense().bias() ? ", FFN bias" : "");
  }
  if (!kind.has_experts()) return "";
  return absl::StrCat(
      experts.experts_per_token_count(), " of ", experts.expert_count(),
      experts.shared_intermediate_size() == 0
          ? ""
          : absl::StrCat(" + shared ", experts.shared_intermediate_size()),
      experts.latent_size() == 0 ? ""
                                 : absl::StrCat(" on ", experts.latent_size()),
      experts.gated() ? "" : ", plain");
}

// What the columns do not say.
std::string NotesOn(const v1::LayerKind& kind) {
  Notes notes;
  notes.Add(kind.has_dense() || kind.has_experts(), FeedForwardText(kind));
  AddAttentionNotes(kind.attention(), notes);
  const v1::RecurrentMixer& recurrent = kind.recurrent();
  notes.Add(kind.has_recurrent(),
            absl::StrCat("state ", recurrent.head_count(), " x ",
                         recurrent.key_size(), " x ", recurrent.value_size()));
  notes.Add(kind.parallel(), "parallel");
  notes.Add(kind.norm_placement() == v1::LayerKind::NORM_PLACEMENT_AFTER,
            "norms after");
  notes.Add(kind.norm_placement() == v1::LayerKind::NORM_PLACEMENT_BOTH,
            "norms before and after");
  return notes.Text();
}

}  // namespace

int LayerCount(const v1::ModelGraph& graph) {
  return graph.layer_kind_indexes_size() > 0 ? graph.layer_kind_indexes_size()
                                             : graph.layer_count();
}

int LayersOfKind(const v1::ModelGraph& graph, int kind) {
  if (graph.layer_kind_indexes_size() == 0) {
    return kind == 0 ? graph.layer_count() : 0;
  }
  int count = 0;
  for (const int index : graph.layer_kind_indexes()) count += index == kind;
  return count;
}

std::string LayersText(const v1::ModelGraph& graph) {
  std::vector<std::string> kinds;
  for (int i = 0; i < graph.layer_kinds_size(); ++i) {
    const int count = LayersOfKind(graph, i);
    // Kinds of drafting modules are no layers.
    if (count == 0) continue;
    kinds.push_back(absl::StrCat(count, " ", graph.layer_kinds(i).kind()));
  }
  return absl::StrJoin(kinds, ", ");
}

Report LayerKindReport(const v1::ModelGraph& graph) {
  Report report{{{"layers", Unit::kNone, Align::kLeft},
                 {"count"},
                 {"mixer", Unit::kNone, Align::kLeft},
                 {"heads"},
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
    const int64_t window =
        attention.sliding_window_token_count() + attention.chunk_token_count();
    report.rows.push_back(
        {Text(kind.kind()), Number(LayersOfKind(graph, i)),
         Text(MixerText(kind)), NumberOrNothing(attention.query_head_count()),
         NumberOrNothing(attention.grouped_query().kv_head_count() +
                         attention.cross().kv_head_count()),
         NumberOrNothing(attention.grouped_query().head_size() +
                         attention.cross().head_size() +
                         attention.compressed().head_size() +
                         latent.nope_head_size() + latent.rope_head_size()),
         NumberOrNothing(static_cast<double>(window)),
         NumberOrNothing(kind.dense().intermediate_size() +
                         kind.experts().expert_intermediate_size()),
         Text(NotesOn(kind))});
  }
  return report;
}

}  // namespace mansard::cli
