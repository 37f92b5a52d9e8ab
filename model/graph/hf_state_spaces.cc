// The first publications of Mamba and Mamba 2: `d_model`, `n_layer`, `ssm_cfg`.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_hybrids.h"
#include "model/graph/hf_layers.h"
#include "model/graph/hf_recurrent.h"

namespace mansard::model {
namespace {

// Rounds the vocabulary up as the class does, whatever the tokenizer has.
void PadVocabulary(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKey = "pad_vocab_size_multiple";
  const int64_t multiple = file.IntegerOr(kKey, 8, kMaxHfHeads);
  if (multiple == 0 || spec.vocabulary_size % multiple == 0) return;
  spec.vocabulary_size += multiple - spec.vocabulary_size % multiple;
  file.Note(absl::StrCat("vocab_size is rounded up to a multiple of ", kKey,
                         ": ", spec.vocabulary_size));
}

// Parts that the class may have and that are not read here.
void CheckOtherParts(HfFile& file) {
  for (const absl::string_view key : {"attn_layer_idx", "d_intermediate"}) {
    if (file.IsOff(key)) {
      file.Ignore(key);
    } else {
      file.Complain(key, absl::StrCat("is ", file.Describe(key),
                                      "; only layers that are one Mamba mixer "
                                      "each are read"));
    }
  }
  file.Ignore("attn_cfg");
}

}  // namespace

void ReadStateSpacesLayers(HfFile& file, ModelGraphSpec& spec) {
  const int64_t layer_count = ReadLayerCount(file);
  PadVocabulary(file, spec);
  CheckOtherParts(file);
  const std::string layer =
      file.OptionalString("ssm_cfg.layer").value_or("Mamba1");
  LayerKind kind = BareLayer(file);
  if (layer == "Mamba2") {
    kind.recurrent = ReadMamba2(file, kStateSpacesMamba2Keys, spec.hidden_size);
  } else if (layer == "Mamba1") {
    kind.recurrent = ReadMamba(file, kStateSpacesMambaKeys, spec.hidden_size);
  } else {
    file.Complain("ssm_cfg.layer", absl::StrCat("is \"", Printable(layer),
                                                "\"; allowed: Mamba1, Mamba2"));
    return;
  }
  ReadStateFormat(file, spec);
  for (int64_t i = 0; i < layer_count; ++i) AddLayer(kind, spec);
}

}  // namespace mansard::model
