// The recurrent mixer of a config.json: linear attention and state-space
// models.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"

namespace mansard::model {

// How a class spells Mamba 2, and its defaults. Several names of one key have
// "|" between them.
struct Mamba2Keys {
  absl::string_view heads = "";  // Empty: the inner width / head size.
  int64_t default_heads = 0;
  absl::string_view head_size;    // "auto": the inner width / heads.
  int64_t default_head_size = 0;  // 0: "auto".
  absl::string_view groups;
  int64_t default_groups = 0;
  absl::string_view state_size;
  int64_t default_state_size = 0;
  absl::string_view conv_kernel;
  HfSwitch conv_bias = kNever;
  HfSwitch projection_bias = kNever;
  HfSwitch output_norm = kAlways;
  // heads x head size has to be it: a width, or a multiple of the hidden size.
  // Empty: no such key.
  absl::string_view width = "";
  absl::string_view expand = "";
};

extern const Mamba2Keys kMamba2Keys;         // Mamba2ForCausalLM.
extern const Mamba2Keys kNemotronMambaKeys;  // Nemotron-H.
extern const Mamba2Keys kHybridMambaKeys;    // Granite 4, Bamba.
extern const Mamba2Keys kFalconMambaKeys;    // Falcon-H1.
extern const Mamba2Keys kStateSpacesMamba2Keys;

// `hidden_size` 0 in all of these: not known.
RecurrentMixer ReadMamba2(HfFile& file, const Mamba2Keys& keys,
                          int64_t hidden_size);

// Lists the keys as ones that change no cost, for files without such a layer.
void IgnoreMamba2(HfFile& file, const Mamba2Keys& keys);

// How a class spells Mamba (1). The time step's rank may be "auto": hidden size
// / 16, rounded up.
struct MambaKeys {
  absl::string_view state_size;
  absl::string_view conv_kernel;
  absl::string_view expand;
  absl::string_view time_step_rank;
  HfSwitch conv_bias = kNever;
  HfSwitch projection_bias = kNever;
  bool inner_norms = false;
  // The inner width, before expand x hidden size. Empty: no such key.
  absl::string_view width = "";
};

extern const MambaKeys kMambaKeys;   // MambaForCausalLM.
extern const MambaKeys kFalconKeys;  // FalconMambaForCausalLM.
extern const MambaKeys kJambaMambaKeys;
extern const MambaKeys kStateSpacesMambaKeys;

RecurrentMixer ReadMamba(HfFile& file, const MambaKeys& keys,
                         int64_t hidden_size);

// Gated DeltaNet (Qwen3-Next): the `linear_*` keys.
RecurrentMixer ReadGatedDelta(HfFile& file);

// Lightning attention (MiniMax-Text-01): the heads of the attention.
RecurrentMixer Lightning(const GroupedQueryAttention& attention);

// Kimi Delta Attention: `linear_attn_config`.
RecurrentMixer ReadKimiDelta(HfFile& file);

// How the file says that the state is stored, into native_precision.state; the
// type that stands there already, with a note, where it says nothing.
void ReadStateFormat(HfFile& file, ModelGraphSpec& spec);

}  // namespace mansard::model
