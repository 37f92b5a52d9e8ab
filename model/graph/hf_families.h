// What tells the supported model classes of Hugging Face transformers apart:
// one row a class, in hf_families_*.cc. A row says which parts the class has
// and what its defaults are; hf_attention, hf_feed_forward, hf_windows and
// hf_layers read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/graph/graph_spec.h"
#include "model/graph/hf_traits.h"

namespace mansard::model {

class HfFile;

// Reads layer_kinds, layer_kind_indexes and mtp into a spec whose other sizes
// are read already; for classes whose layers the rows cannot say.
using HfLayerReader = void(HfFile& file, ModelGraphSpec& spec);

// Defaults are those of the class, for keys that a file leaves out. In the
// order in which a row is read, not the densest.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct HfFamily {
  absl::string_view architectures;  // Names with "|" between them.
  absl::string_view model_types;    // The same.

  HfSizes sizes = {};
  int64_t max_context = 0;  // 0: the file has to say it.
  int64_t kv_heads = 0;     // 0: one a query head.
  int64_t head_size = 0;    // 0: hidden size / query heads.
  bool tied = false;

  NormPlacement norms = NormPlacement::kBefore;
  bool norm_bias = false;       // LayerNorm with bias.
  bool embedding_norm = false;  // A norm behind the embedding (BLOOM).
  ParallelRule parallel = ParallelRule::kNone;

  AttentionRule attention = AttentionRule::kGrouped;
  KvHeadsRule kv_rule = KvHeadsRule::kWritten;
  HfSwitch qkv_bias = kNever;
  HfSwitch output_bias = kNever;
  QkNorm qk_norm = QkNorm::kNone;
  HfSwitch has_qk_norm = kAlways;  // Where qk_norm is not kNone.
  int rotary_percent = 100;        // Of a head; 0: no rotation anywhere.
  HfSwitch unrotated = kNever;     // No rotation after all (ALiBi).
  bool sinks = false;
  HfLatent latent = {};
  bool indexer = false;  // DeepSeek-V3.2.

  WindowRule window = WindowRule::kNone;
  int64_t default_window = 0;  // 0: no window where the key is absent.
  int64_t window_pattern = 0;  // kPattern: every n-th has none; 0: all have it.
  bool full_layers_unrotated = false;  // Layers without window (Cohere 2).
  int64_t nope_interval = 0;  // Every n-th layer is not rotated (SmolLM 3),
                              // where `no_rope_layers` says nothing; 0: none.

  bool gated = true;
  HfSwitch mlp_bias = kNever;
  // Read before the usual names: where dense layers have a width of their own
  // beside the experts' one (Llama 4).
  absl::string_view intermediate_key = "";
  int64_t intermediate_multiple = 0;  // Of the hidden size, where absent.
  bool half_intermediate = false;     // Gate and up projection share the width.
  HfExperts experts = {};

  HfSwitch head_bias = kNever;
  int position_offset = -1;  // A learned position table has this many rows more
                             // than the context; -1: no table.
  MtpRule mtp = MtpRule::kNone;
  // Keys of this class alone that change no cost.
  absl::string_view harmless_keys = "";
  HfLayerReader* layers = nullptr;  // Null: ReadLayers of hf_layers.h.
};

// The rows.
absl::Span<const HfFamily> DenseFamilies();
absl::Span<const HfFamily> OlderFamilies();
absl::Span<const HfFamily> ExpertFamilies();
absl::Span<const HfFamily> RecurrentFamilies();

// By one of its `architectures`, or by one of its `model_types`; null where no
// row has it.
const HfFamily* FamilyOfArchitecture(absl::string_view architecture);
const HfFamily* FamilyOfModelType(absl::string_view model_type);
// Every architecture of every row, in the rows' order.
std::vector<std::string> AllArchitectures();
// Whether `names`, with "|" between them, has `name`.
bool HasName(absl::string_view names, absl::string_view name);

}  // namespace mansard::model
