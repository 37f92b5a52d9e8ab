// Classes whose layers are one part each, or a mixer alone.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_attention.h"
#include "model/graph/hf_feed_forward.h"
#include "model/graph/hf_hybrid_parts.h"
#include "model/graph/hf_hybrids.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_patterns.h"
#include "model/graph/hf_recurrent.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kExpertKeys =
    "n_routed_experts|n_shared_experts|num_experts_per_tok|"
    "moe_intermediate_size|moe_shared_expert_intermediate_size|"
    "moe_latent_size";

bool HasBlock(const std::vector<Block>& blocks, Block block) {
  for (const Block b : blocks) {
    if (b == block) return true;
  }
  return false;
}

MixtureOfExperts ReadBlockExperts(HfFile& file) {
  MixtureOfExperts experts = ReadExperts(file);
  experts.latent_size =
      file.Optional("moe_latent_size", 1, kMaxHfSize).value_or(0);
  const std::optional<int64_t> shared =
      file.Optional("n_shared_experts", 0, kMaxHfHeads);
  if (shared == 0) experts.shared_intermediate_size = 0;
  if (shared.value_or(1) > 1) {
    file.Note(absl::StrCat("n_shared_experts is ", *shared,
                           ": moe_shared_expert_intermediate_size is the width "
                           "of all of them together"));
  }
  return experts;
}

// Each block as a layer, by the enum's order. Reads what some layer needs.
class BlockKinds {
 public:
  BlockKinds(HfFile& file, const ModelGraphSpec& spec,
             const std::vector<Block>& used)
      : kinds_(4, BareLayer(file)) {
    if (HasBlock(used, Block::kRecurrent)) {
      Of(Block::kRecurrent).recurrent =
          ReadMamba2(file, kNemotronMambaKeys, spec.hidden_size);
    } else {
      IgnoreMamba2(file, kNemotronMambaKeys);
    }
    if (HasBlock(used, Block::kAttention)) {
      Of(Block::kAttention).attention = ReadAttention(file, spec.hidden_size);
    } else {
      IgnoreAttention(file);
    }
    if (HasBlock(used, Block::kDense)) {
      Of(Block::kDense).feed_forward = ReadDense(file, spec.hidden_size);
    } else {
      file.Ignore("intermediate_size");
    }
    if (HasBlock(used, Block::kExperts)) {
      Of(Block::kExperts).feed_forward = ReadBlockExperts(file);
    } else {
      file.Ignore(kExpertKeys);
    }
  }

  LayerKind& Of(Block block) { return kinds_[static_cast<size_t>(block)]; }

 private:
  std::vector<LayerKind> kinds_;
};

// Modules for the tokens after the next, and the blocks of one.
int64_t ReadMtpBlocks(HfFile& file, std::vector<Block>& blocks) {
  constexpr absl::string_view kLetters = "mtp_hybrid_override_pattern";
  constexpr absl::string_view kWords = "mtp_layers_block_type";
  const int64_t modules =
      file.Optional("num_nextn_predict_layers", 0, kMaxHfLayers).value_or(0);
  if (modules == 0) {
    file.Ignore(kLetters);
    file.Ignore(kWords);
    return 0;
  }
  if (file.IsOff(kLetters) && file.IsOff(kWords)) {
    file.NoteDefault(kWords, "attention, moe");
    blocks = {Block::kAttention, Block::kExperts};
  } else {
    blocks = ReadBlocks(file, kLetters, kWords);
  }
  return modules;
}

void AddMixerLayers(HfFile& file, const RecurrentMixer& mixer,
                    int64_t layer_count, ModelGraphSpec& spec) {
  LayerKind layer = BareLayer(file);
  layer.recurrent = mixer;
  for (int64_t i = 0; i < layer_count; ++i) AddLayer(layer, spec);
  ReadStateFormat(file, spec);
}

// Where a class of Mamba 2 writes the inner width beside what it follows from.
void CheckInnerWidth(HfFile& file, const RecurrentMixer& mixer) {
  constexpr absl::string_view kKey = "intermediate_size";
  const std::optional<int64_t> width = file.Optional(kKey, 1, kMaxHfSize);
  if (width.has_value() && *width != mixer.value_width()) {
    file.Complain(kKey,
                  absl::StrCat("is ", *width, ", but expand x hidden size is ",
                               mixer.value_width()));
  }
}

}  // namespace

void ReadBlockLayers(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kLetters = "hybrid_override_pattern";
  constexpr absl::string_view kWords = "layers_block_type";
  const std::vector<Block> blocks = ReadBlocks(file, kLetters, kWords);
  if (!blocks.empty() && !file.IsNull("num_hidden_layers") &&
      !file.CheckLength(file.IsOff(kLetters) ? kWords : kLetters, blocks.size(),
                        ReadLayerCount(file))) {
    return;
  }
  std::vector<Block> mtp_blocks;
  const int64_t modules = ReadMtpBlocks(file, mtp_blocks);
  std::vector<Block> used = blocks;
  used.insert(used.end(), mtp_blocks.begin(), mtp_blocks.end());
  BlockKinds kinds(file, spec, used);
  for (const Block block : blocks) AddLayer(kinds.Of(block), spec);
  ReadStateFormat(file, spec);
  std::vector<LayerKind> mtp_layers;
  for (const Block block : mtp_blocks) mtp_layers.push_back(kinds.Of(block));
  if (modules > 0 && !mtp_layers.empty()) AddMtp(modules, mtp_layers, spec);
}

void ReadMambaLayers(HfFile& file, ModelGraphSpec& spec) {
  const RecurrentMixer mixer = ReadMamba(file, kMambaKeys, spec.hidden_size);
  AddMixerLayers(file, mixer, ReadLayerCount(file), spec);
}

void ReadFalconMambaLayers(HfFile& file, ModelGraphSpec& spec) {
  const RecurrentMixer mixer = ReadMamba(file, kFalconKeys, spec.hidden_size);
  file.Note("norms of the time step, B and C have no weights: not counted");
  AddMixerLayers(file, mixer, ReadLayerCount(file), spec);
}

void ReadMamba2Layers(HfFile& file, ModelGraphSpec& spec) {
  const RecurrentMixer mixer = ReadMamba2(file, kMamba2Keys, spec.hidden_size);
  CheckInnerWidth(file, mixer);
  AddMixerLayers(file, mixer, ReadLayerCount(file), spec);
}

}  // namespace mansard::model
