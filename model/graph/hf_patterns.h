// Which layers of a hybrid have attention, which a recurrent mixer, and which
// neither, in the ways that config.json files spell it. Every list here has one
// entry a layer, or none with a violation where the file cannot be read.
// `layer_count` 0: not known; no list, no violation.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// Whether the layer has attention; else it has the recurrent mixer.
using AttentionLayers = std::vector<bool>;

// A list of words: "full_attention" and "attention", or "linear_attention" and
// "mamba". Call where one of `names` is there and not null.
AttentionLayers ReadMixerWords(HfFile& file, absl::string_view names,
                               int64_t layer_count);

// A list of 1 (attention) and 0. As above.
AttentionLayers ReadMixerFlags(HfFile& file, absl::string_view names,
                               int64_t layer_count);

// `layer_types`, else attention in every n-th layer, the last of each n
// (Qwen3-Next: `full_attention_interval`).
AttentionLayers ReadMixerInterval(HfFile& file, absl::string_view interval_key,
                                  int64_t default_interval,
                                  int64_t layer_count);

// Every period-th layer, from the offset-th on, counted from 0 (Jamba). The
// offset is smaller than the period.
struct PeriodKeys {
  absl::string_view period;
  absl::string_view offset;
  int64_t default_period;
  int64_t default_offset;
};
std::vector<bool> ReadPeriod(HfFile& file, const PeriodKeys& keys,
                             int64_t layer_count);

// A list of the layers that have attention, counted from 0, each once (Bamba);
// without the key, none.
AttentionLayers ReadAttentionIndices(HfFile& file, absl::string_view names,
                                     int64_t layer_count);

// Two lists that share out the layers, counted from 1 (Kimi Linear).
AttentionLayers ReadMixerPartition(HfFile& file,
                                   absl::string_view attention_key,
                                   absl::string_view recurrent_key,
                                   int64_t layer_count);

// A layer that is one part alone (Nemotron-H).
enum class Block { kRecurrent, kAttention, kDense, kExperts };

// One letter a layer, M (recurrent), * (attention), - (dense) or E (experts),
// or a list of words that says the same: "mamba", "linear_attention",
// "attention", "full_attention", "mlp", "moe". With both, they have to agree;
// with neither, one is missing.
std::vector<Block> ReadBlocks(HfFile& file, absl::string_view letters_key,
                              absl::string_view words_key);

}  // namespace mansard::model
