#include "model/graph/graph_rules.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/base/id.h"
#include "model/graph/graph_parameters.h"
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

constexpr double kMaxVocabulary = 1 << 28;  // Also rows of other tables.
constexpr size_t kMaxLayers = 4096;
constexpr double kMaxExtraParameters =
    1e12;  // Of one layer, or beyond the layers.
constexpr double kMaxStreams = 64;
constexpr int kMaxModules = 64;  // Also layers of one.
// So that sums of counts fit into 64 bits: 2^63 is 9.22e18.
constexpr double kMaxParameters = 9e18;

void CheckLayerKind(const LayerKind& kind, Violations& violations) {
  if (!kind.has_mixer() && !kind.has_feed_forward()) {
    violations.Add("attention",
                   "is required, or recurrent, dense or experts: a layer has a "
                   "mixer, a feed-forward or both");
  }
  if (kind.parallel && (!kind.has_mixer() || !kind.has_feed_forward())) {
    violations.Add("parallel",
                   "is true; must be false without both a mixer and a "
                   "feed-forward");
  }
  if (kind.parallel_norms && !kind.parallel) {
    violations.Add("parallel_norms",
                   "is true; must be false in a layer that is not parallel");
  }
  violations.CheckRange("extra_parameter_count",
                        static_cast<double>(kind.extra_parameters), 0,
                        kMaxExtraParameters);
  if (kind.attention.has_value()) {
    CheckAttentionRules(*kind.attention, violations);
  }
  if (kind.recurrent.has_value()) {
    CheckRecurrentRules(*kind.recurrent, violations);
  }
  CheckFeedForwardRules(kind.feed_forward, violations);
  CheckLayerFormats(kind, violations);
}

void CheckIndexes(absl::string_view field, const std::vector<int>& indexes,
                  const ModelGraphSpec& spec, Violations& violations) {
  for (size_t i = 0; i < indexes.size(); ++i) {
    const int index = indexes[i];
    if (index < 0 || static_cast<size_t>(index) >= spec.layer_kinds.size()) {
      violations.Add(Indexed(field, i),
                     absl::StrCat("is ", index, "; there are ",
                                  spec.layer_kinds.size(), " layer kinds"));
    }
  }
}

void CheckLayerKinds(const ModelGraphSpec& spec, Violations& violations) {
  std::set<std::string> names;
  if (spec.layer_kinds.empty()) {
    violations.Add("layer_kinds", "is empty; at least one is needed");
  }
  for (size_t i = 0; i < spec.layer_kinds.size(); ++i) {
    const LayerKind& kind = spec.layer_kinds[i];
    Violations::Scope scope(violations, Indexed("layer_kinds", i));
    if (!IsValidId(kind.name)) {
      violations.Add("kind", absl::StrCat("is \"", kind.name,
                                          "\"; allowed: 1 to 63 lower-case "
                                          "letters, digits, \"-\", \".\""));
    } else if (!names.insert(kind.name).second) {
      violations.Add(
          "kind",
          absl::StrCat("\"", kind.name, "\" stands for another kind already"));
    }
    CheckLayerKind(kind, violations);
    if (kind.parallel && spec.residual_streams > 1) {
      violations.Add("parallel", absl::StrCat("is true; must be false beside a "
                                              "residual_stream_count of ",
                                              spec.residual_streams));
    }
  }
  if (spec.layer_kind_indexes.empty() ||
      spec.layer_kind_indexes.size() > kMaxLayers) {
    violations.Add("layer_kind_indexes",
                   absl::StrCat("names ", spec.layer_kind_indexes.size(),
                                " layers; allowed: 1 to ", kMaxLayers));
  }
  CheckIndexes("layer_kind_indexes", spec.layer_kind_indexes, spec, violations);
}

void CheckDrafting(const ModelGraphSpec& spec, Violations& violations) {
  const MultiTokenPrediction& mtp = spec.mtp;
  Violations::Scope scope(violations, "multi_token_prediction");
  violations.CheckRange("module_count", mtp.modules, 0, kMaxModules);
  if (mtp.modules == 0 &&
      (!mtp.layer_kind_indexes.empty() || mtp.own_embedding || mtp.own_head)) {
    violations.Add("module_count",
                   "is 0; must be at least 1 where modules are described");
  }
  if (mtp.layer_kind_indexes.size() > size_t{kMaxModules}) {
    violations.Add("layer_kind_indexes",
                   absl::StrCat("names ", mtp.layer_kind_indexes.size(),
                                " layers; allowed: 1 to ", kMaxModules));
  } else if (mtp.modules > 0 && mtp.layer_kind_indexes.empty()) {
    violations.Add("layer_kind_indexes",
                   "is empty; names the layers of one module");
  }
  CheckIndexes("layer_kind_indexes", mtp.layer_kind_indexes, spec, violations);
}

void CheckTables(const ModelGraphSpec& spec, Violations& violations) {
  const struct {
    const char* field;
    int64_t value;
    double most;
  } kSizes[] = {
      {"extra_embedding_row_count", spec.extra_embedding_rows, kMaxVocabulary},
      {"embedding_size", spec.embedding_size, kMaxWidth},
      {"position_row_count", spec.position_rows, kMaxContext},
      {"layer_input_row_count", spec.layer_input_rows, kMaxVocabulary},
      {"extra_parameter_count", spec.extra_parameters, kMaxExtraParameters},
  };
  for (const auto& [field, value, most] : kSizes) {
    violations.CheckRange(field, static_cast<double>(value), 0, most);
  }
  if ((spec.layer_input_size == 0) != (spec.layer_input_rows == 0)) {
    violations.Add(
        "layer_input_row_count",
        absl::StrCat("is ", spec.layer_input_rows,
                     "; beside a layer_input_size of ", spec.layer_input_size,
                     ": both are 0 or neither is"));
  }
  const auto layers = static_cast<double>(spec.layer_kind_indexes.size());
  if (violations.CheckRange("layer_input_size",
                            static_cast<double>(spec.layer_input_size), 0,
                            kMaxWidth) &&
      static_cast<double>(spec.layer_input_size) * layers > kMaxWidth) {
    violations.Add(
        "layer_input_size",
        absl::StrCat("is ", spec.layer_input_size, "; times the layers, ",
                     layers, ", it may be up to ",
                     static_cast<int>(kMaxWidth)));
  }
  // No model has these together: where the one enters the other is not known.
  if (spec.layer_input_size != 0 && spec.residual_streams > 1) {
    violations.Add("layer_input_size",
                   absl::StrCat("is ", spec.layer_input_size,
                                "; must be 0 beside a residual_stream_count "
                                "of ",
                                spec.residual_streams));
  }
  if (spec.layer_input_size != 0 && spec.mtp.modules > 0) {
    violations.Add(
        "layer_input_size",
        absl::StrCat("is ", spec.layer_input_size,
                     "; must be 0 beside modules for multi-token prediction"));
  }
  if (violations.CheckRange("residual_stream_count", spec.residual_streams, 1,
                            kMaxStreams) &&
      static_cast<double>(spec.hidden_size) * spec.residual_streams >
          kMaxWidth) {
    violations.Add(
        "residual_stream_count",
        absl::StrCat("is ", spec.residual_streams, "; times the hidden size, ",
                     spec.hidden_size, ", it may be up to ",
                     static_cast<int>(kMaxWidth)));
  }
}

bool ProjectsLikeKeys(const GroupedQueryAttention& from,
                      const GroupedQueryAttention& to) {
  return !from.shared_kv && from.kv_heads == to.kv_heads &&
         from.head_size == to.head_size && from.value_size() == to.value_size();
}

// An earlier layer has what this one takes from it.
bool HasSource(const LayerKind& kind,
               const std::vector<const LayerKind*>& earlier) {
  if (!kind.attention.has_value()) return true;
  const auto any = [&earlier](const auto& fits) {
    for (const LayerKind* other : earlier) {
      if (other->attention.has_value() && fits(*other->attention)) return true;
    }
    return false;
  };
  if (const auto* a = std::get_if<GroupedQueryAttention>(&*kind.attention)) {
    return !a->shared_kv || any([a](const Attention& other) {
      const auto* from = std::get_if<GroupedQueryAttention>(&other);
      return from != nullptr && ProjectsLikeKeys(*from, *a);
    });
  }
  const auto chooses = [](const Attention& attention) {
    if (const auto* a = std::get_if<LatentAttention>(&attention)) {
      return a->indexer;
    }
    const auto* a = std::get_if<CompressedAttention>(&attention);
    return a == nullptr ? std::optional<SparseIndexer>() : a->indexer;
  };
  const std::optional<SparseIndexer> indexer = chooses(*kind.attention);
  return !indexer.has_value() || indexer->heads != 0 ||
         any([&](const Attention& other) {
           const std::optional<SparseIndexer> from = chooses(other);
           return other.index() == kind.attention->index() &&
                  from.has_value() && from->heads != 0;
         });
}

void CheckSources(const ModelGraphSpec& spec, Violations& violations) {
  std::vector<const LayerKind*> earlier;
  std::set<int> seen;
  for (size_t i = 0; i < spec.layer_kind_indexes.size(); ++i) {
    const int index = spec.layer_kind_indexes[i];
    if (!seen.insert(index).second) continue;
    const LayerKind& kind = spec.layer_kinds[static_cast<size_t>(index)];
    if (!HasSource(kind, earlier)) {
      violations.Add(Indexed("layer_kind_indexes", i),
                     absl::StrCat("is ", index, "; kind \"", kind.name,
                                  "\" takes an earlier layer's keys and values "
                                  "or choice of positions, and no earlier "
                                  "layer has fitting ones"));
    }
    earlier.push_back(&kind);
  }
}

// In floating point: the exact sum may not fit into 64 bits.
void CheckTotal(const ModelGraphSpec& spec, Violations& violations) {
  std::vector<double> of_kind;
  for (const LayerKind& kind : spec.layer_kinds) {
    of_kind.push_back(static_cast<double>(LayerParameters(kind, spec).Total()));
  }
  auto total = static_cast<double>(AroundLayersParameters(spec).Total());
  for (int index : spec.layer_kind_indexes) {
    total += of_kind[static_cast<size_t>(index)];
  }
  if (spec.mtp.modules != 0) {
    // At most 64 layers: exact.
    total += spec.mtp.modules *
             static_cast<double>(MtpModuleParameters(spec).Total());
  }
  if (total > kMaxParameters) {
    violations.Add(
        "layer_kind_indexes",
        absl::StrCat("amounts to ", total, " parameters; allowed: up to 9e18"));
  }
}

}  // namespace

void CheckGraph(const ModelGraphSpec& spec, Violations& violations) {
  const size_t before = violations.all().size();
  violations.CheckRange("hidden_size", static_cast<double>(spec.hidden_size), 1,
                        kMaxWidth);
  violations.CheckRange("vocabulary_size",
                        static_cast<double>(spec.vocabulary_size), 1,
                        kMaxVocabulary);
  violations.CheckRange("max_context_token_count",
                        static_cast<double>(spec.max_context), 1, kMaxContext);
  CheckLayerKinds(spec, violations);
  CheckTables(spec, violations);
  CheckDrafting(spec, violations);
  CheckGraphFormats(spec, violations);
  violations.CheckRange("other_weight_bytes",
                        static_cast<double>(spec.other_weight_bytes), 0,
                        kMaxParameters);
  // These follow indexes and multiply sizes.
  if (violations.all().size() != before) return;
  CheckSources(spec, violations);
  CheckTotal(spec, violations);
}

}  // namespace mansard::model
