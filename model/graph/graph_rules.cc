#include "model/graph/graph_rules.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/base/id.h"

namespace mansard::model {
namespace {

constexpr double kMaxSize = 1 << 24;
constexpr double kMaxVocabulary = 1 << 28;
constexpr size_t kMaxLayers = 4096;
constexpr double kMaxHeads = 65536;  // Also head sizes and experts.
constexpr double kMaxContext = 1e9;

// Counts of wider projections would not fit into 64 bits.
void CheckWidth(absl::string_view field, int heads, int head_size,
                Violations& violations) {
  if (1.0 * heads * head_size > kMaxSize) {
    violations.Add(field,
                   absl::StrCat("is ", head_size, "; times the query heads, ",
                                heads, ", it may be up to ", 1 << 24));
  }
}

// Adds to "attention".
struct CheckAttention {
  Violations& violations;

  void operator()(const GroupedQueryAttention& attention) const {
    Violations::Scope scope(violations, "attention");
    const bool heads_ok = violations.CheckRange(
        "query_head_count", attention.query_heads, 1, kMaxHeads);
    violations.CheckRange("sliding_window_token_count",
                          static_cast<double>(attention.sliding_window), 0,
                          kMaxContext);
    violations.CheckRange("chunk_token_count",
                          static_cast<double>(attention.chunk), 0, kMaxContext);
    if (attention.sliding_window != 0 && attention.chunk != 0) {
      violations.Add("chunk_token_count",
                     absl::StrCat("is ", attention.chunk,
                                  "; must be 0 beside a sliding window"));
    }
    Violations::Scope grouped(violations, "grouped_query");
    if (violations.CheckRange("head_size", attention.head_size, 1, kMaxHeads) &&
        heads_ok) {
      CheckWidth("head_size", attention.query_heads, attention.head_size,
                 violations);
    }
    if (violations.CheckRange("kv_head_count", attention.kv_heads, 1,
                              kMaxHeads) &&
        heads_ok && attention.query_heads % attention.kv_heads != 0) {
      violations.Add("kv_head_count",
                     absl::StrCat("is ", attention.kv_heads,
                                  "; must divide the query heads, ",
                                  attention.query_heads));
    }
  }

  void operator()(const LatentAttention& attention) const {
    Violations::Scope scope(violations, "attention");
    const bool heads_ok = violations.CheckRange(
        "query_head_count", attention.query_heads, 1, kMaxHeads);
    Violations::Scope latent(violations, "multi_head_latent");
    violations.CheckRange("kv_lora_rank", attention.kv_lora_rank, 1, kMaxSize);
    violations.CheckRange("query_lora_rank", attention.query_lora_rank, 0,
                          kMaxSize);
    const struct {
      const char* field;
      int size;
      int least;
    } kSizes[] = {{"nope_head_size", attention.nope_head_size, 1},
                  {"rope_head_size", attention.rope_head_size, 0},
                  {"value_head_size", attention.value_head_size, 1}};
    for (const auto& [field, size, least] : kSizes) {
      if (violations.CheckRange(field, size, least, kMaxHeads) && heads_ok) {
        CheckWidth(field, attention.query_heads, size, violations);
      }
    }
  }
};

struct CheckFeedForward {
  Violations& violations;

  void operator()(const DenseFeedForward& feed_forward) const {
    violations.CheckRange("dense.intermediate_size",
                          static_cast<double>(feed_forward.intermediate_size),
                          1, kMaxSize);
  }

  void operator()(const MixtureOfExperts& experts) const {
    Violations::Scope scope(violations, "experts");
    const bool count_ok = violations.CheckRange(
        "expert_count", experts.expert_count, 1, kMaxHeads);
    if (violations.CheckRange(
            "expert_intermediate_size",
            static_cast<double>(experts.expert_intermediate_size), 1,
            kMaxSize) &&
        count_ok &&
        1.0 * experts.expert_count *
                static_cast<double>(experts.expert_intermediate_size) >
            kMaxSize) {
      violations.Add("expert_intermediate_size",
                     absl::StrCat("is ", experts.expert_intermediate_size,
                                  "; times the experts, ", experts.expert_count,
                                  ", it may be up to ", 1 << 24));
    }
    violations.CheckRange("shared_intermediate_size",
                          static_cast<double>(experts.shared_intermediate_size),
                          0, kMaxSize);
    if (violations.CheckRange("experts_per_token_count",
                              experts.experts_per_token, 1, kMaxHeads) &&
        count_ok && experts.experts_per_token > experts.expert_count) {
      violations.Add(
          "experts_per_token_count",
          absl::StrCat("is ", experts.experts_per_token, "; there are ",
                       experts.expert_count, " experts"));
    }
  }
};

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
    std::visit(CheckAttention{violations}, kind.attention);
    std::visit(CheckFeedForward{violations}, kind.feed_forward);
  }
  if (spec.layer_kind_indexes.empty() ||
      spec.layer_kind_indexes.size() > kMaxLayers) {
    violations.Add("layer_kind_indexes",
                   absl::StrCat("names ", spec.layer_kind_indexes.size(),
                                " layers; allowed: 1 to ", kMaxLayers));
  }
  for (size_t i = 0; i < spec.layer_kind_indexes.size(); ++i) {
    const int index = spec.layer_kind_indexes[i];
    if (index < 0 || static_cast<size_t>(index) >= spec.layer_kinds.size()) {
      violations.Add(Indexed("layer_kind_indexes", i),
                     absl::StrCat("is ", index, "; there are ",
                                  spec.layer_kinds.size(), " layer kinds"));
    }
  }
}

}  // namespace

void CheckAttentionRules(const Attention& attention, Violations& violations) {
  std::visit(CheckAttention{violations}, attention);
}

void CheckFeedForwardRules(const FeedForward& feed_forward,
                           Violations& violations) {
  std::visit(CheckFeedForward{violations}, feed_forward);
}

void CheckGraph(const ModelGraphSpec& spec, Violations& violations) {
  violations.CheckRange("hidden_size", static_cast<double>(spec.hidden_size), 1,
                        kMaxSize);
  violations.CheckRange("vocabulary_size",
                        static_cast<double>(spec.vocabulary_size), 1,
                        kMaxVocabulary);
  violations.CheckRange("max_context_token_count",
                        static_cast<double>(spec.max_context), 1, kMaxContext);
  CheckLayerKinds(spec, violations);
}

}  // namespace mansard::model
