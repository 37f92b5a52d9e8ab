// Rules of attention kinds.
#include "absl/strings/str_cat.h"
#include "model/graph/graph_rules.h"

namespace mansard::model {
namespace {

// Adds to "attention", where the query heads stand.
class CheckAttention {
 public:
  explicit CheckAttention(Violations& violations) : violations_(violations) {}

  void operator()(const GroupedQueryAttention& a) const {
    Violations::Scope scope(violations_, "attention");
    const bool heads_ok = QueryHeadsOk(a.query_heads);
    Window(a.sliding_window, 0);
    violations_.CheckRange("chunk_token_count", static_cast<double>(a.chunk), 0,
                           kMaxContext);
    if (a.sliding_window != 0 && a.chunk != 0) {
      violations_.Add(
          "chunk_token_count",
          absl::StrCat("is ", a.chunk, "; must be 0 beside a sliding window"));
    }
    Violations::Scope grouped(violations_, "grouped_query");
    HeadSize("head_size", a.head_size, 1, heads_ok, a.query_heads);
    HeadSize("value_head_size", a.value_head_size, 0, heads_ok, a.query_heads);
    Part("nope_head_size", a.nope_head_size, a.head_size);
    KvHeads(a.kv_heads, heads_ok, a.query_heads);
    if (a.value_from_key && a.value_size() != a.head_size) {
      violations_.Add("value_head_size",
                      absl::StrCat("is ", a.value_head_size,
                                   "; values that are the keys have the head "
                                   "size, ",
                                   a.head_size));
    }
    if (a.value_from_key && a.shared_kv) {
      violations_.Add("value_from_key",
                      "is true; must be false with shared_kv: there are no "
                      "keys and values to project");
    }
  }

  void operator()(const LatentAttention& a) const {
    Violations::Scope scope(violations_, "attention");
    const bool heads_ok = QueryHeadsOk(a.query_heads);
    Violations::Scope latent(violations_, "multi_head_latent");
    violations_.CheckRange("kv_lora_rank", a.kv_lora_rank, 1, kMaxWidth);
    violations_.CheckRange("query_lora_rank", a.query_lora_rank, 0, kMaxWidth);
    HeadSize("nope_head_size", a.nope_head_size, 1, heads_ok, a.query_heads);
    HeadSize("rope_head_size", a.rope_head_size, 0, heads_ok, a.query_heads);
    HeadSize("value_head_size", a.value_head_size, 1, heads_ok, a.query_heads);
    if (!a.indexer.has_value()) return;
    Indexer(*a.indexer);
    if (a.indexer->heads > 0 && a.query_lora_rank == 0) {
      violations_.Add("query_lora_rank",
                      "is 0; an indexer projects its queries from the latent "
                      "query, so that it must be at least 1");
    }
  }

  void operator()(const CompressedAttention& a) const {
    Violations::Scope scope(violations_, "attention");
    const bool heads_ok = QueryHeadsOk(a.query_heads);
    Window(a.sliding_window, 1);
    Violations::Scope compressed(violations_, "compressed");
    HeadSize("head_size", a.head_size, 1, heads_ok, a.query_heads);
    Part("rope_head_size", a.rope_head_size, a.head_size);
    violations_.CheckRange("query_lora_rank", a.query_lora_rank, 1, kMaxWidth);
    const bool groups_ok = violations_.CheckRange(
        "output_group_count", a.output_groups, 1, kMaxHeads);
    if (groups_ok && heads_ok && a.query_heads % a.output_groups != 0) {
      violations_.Add(
          "output_group_count",
          absl::StrCat("is ", a.output_groups,
                       "; must divide the query heads, ", a.query_heads));
    }
    if (violations_.CheckRange("output_lora_rank", a.output_lora_rank, 1,
                               kMaxWidth) &&
        groups_ok) {
      Product("output_lora_rank", a.output_lora_rank, "the output groups",
              a.output_groups);
    }
    violations_.CheckRange("compression_ratio", a.ratio, 0, kMaxHeads);
    if (a.overlap && a.ratio == 0) {
      violations_.Add("overlap", "is true; must be false without compression");
    }
    if (!a.indexer.has_value()) return;
    Indexer(*a.indexer);
    if (a.ratio == 0) {
      violations_.Add("indexer",
                      "must be unset without compression: there are "
                      "no entries to choose among");
    }
  }

  void operator()(const CrossAttention& a) const {
    Violations::Scope scope(violations_, "attention");
    const bool heads_ok = QueryHeadsOk(a.query_heads);
    Violations::Scope cross(violations_, "cross");
    HeadSize("head_size", a.head_size, 1, heads_ok, a.query_heads);
    KvHeads(a.kv_heads, heads_ok, a.query_heads);
  }

 private:
  bool QueryHeadsOk(int heads) const {
    return violations_.CheckRange("query_head_count", heads, 1, kMaxHeads);
  }

  void Window(int64_t window, double least) const {
    violations_.CheckRange("sliding_window_token_count",
                           static_cast<double>(window), least, kMaxContext);
  }

  // Counts of wider projections would not fit into 64 bits.
  void Product(absl::string_view field, int size, absl::string_view of,
               int count) const {
    if (1.0 * count * size > kMaxWidth) {
      violations_.Add(field, absl::StrCat("is ", size, "; times ", of, ", ",
                                          count, ", it may be up to ",
                                          static_cast<int>(kMaxWidth)));
    }
  }

  void HeadSize(absl::string_view field, int size, double least, bool heads_ok,
                int heads) const {
    if (violations_.CheckRange(field, size, least, kMaxHeads) && heads_ok) {
      Product(field, size, "the query heads", heads);
    }
  }

  void Part(absl::string_view field, int part, int head_size) const {
    if (violations_.CheckRange(field, part, 0, kMaxHeads) && head_size >= 1 &&
        part > head_size) {
      violations_.Add(
          field, absl::StrCat("is ", part, "; may be up to the head size, ",
                              head_size));
    }
  }

  void KvHeads(int kv_heads, bool heads_ok, int query_heads) const {
    if (violations_.CheckRange("kv_head_count", kv_heads, 1, kMaxHeads) &&
        heads_ok && query_heads % kv_heads != 0) {
      violations_.Add(
          "kv_head_count",
          absl::StrCat("is ", kv_heads, "; must divide the query heads, ",
                       query_heads));
    }
  }

  void Indexer(const SparseIndexer& indexer) const {
    Violations::Scope scope(violations_, "indexer");
    const bool heads_ok =
        violations_.CheckRange("head_count", indexer.heads, 0, kMaxHeads);
    if (violations_.CheckRange("head_size", indexer.head_size,
                               indexer.heads > 0 ? 1 : 0, kMaxHeads) &&
        heads_ok) {
      Product("head_size", indexer.head_size, "the indexer's heads",
              indexer.heads);
    }
    violations_.CheckRange("selected_entry_count",
                           static_cast<double>(indexer.top_k), 1, kMaxContext);
  }

  Violations& violations_;
};

}  // namespace

void CheckAttentionRules(const Attention& attention, Violations& violations) {
  std::visit(CheckAttention(violations), attention);
}

}  // namespace mansard::model
