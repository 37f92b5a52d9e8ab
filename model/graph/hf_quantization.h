// How a checkpoint is quantised, as its config.json and ModelOpt's side file
// say.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/graph_spec.h"
#include "model/graph/hf_file.h"
#include "model/graph/hf_schemes.h"
#include "model/graph/module_names.h"

namespace mansard::model {

// Read before the layers, for the graph's native precision; applied to them
// after, module by module.
class HfQuantization {
 public:
  // `quantization_config`, `quantization` or `compression_config`; where the
  // file has none, `side`, an hf_quant_config.json (which is noted where both
  // are there: the config.json holds). Over `native`: what the scheme does not
  // change keeps its type. Violations for methods, bits and algorithms that no
  // Format stands for.
  static HfQuantization Read(HfFile& file, const JsonObject* side,
                             Precision native);

  // Of what most linear layers are in.
  const Precision& precision() const { return precision_; }

  // Gives each layer kind, head and embedding their formats. Layers that differ
  // in them alone become kinds of their own. What a kind has already stays.
  // Modules are asked for by the names that checkpoints give them; noted are
  // classes of which a scheme changes a part, which count as their larger part,
  // and rules that fit no known module.
  void Apply(HfFile& file, ModelGraphSpec& spec);

 private:
  HfQuantization(Precision native, std::string key);

  // In a layer of this number.
  std::vector<LinearFormats> FormatsOf(const LayerKind& kind, int64_t layer);
  std::optional<ModuleFormats> Table(LinearClass linear);
  ModuleFormats ClassFormats(const LayerKind& kind, LinearClass linear,
                             int64_t layer);
  ModuleFormats Default(LinearClass linear) const;
  std::optional<ModuleFormats> Find(const std::string& module);
  // Some rule has the first part of the spelling's names.
  bool MentionsStem(const ModuleSpelling& spelling);
  int KindWith(int kind, std::vector<LinearFormats> formats,
               ModelGraphSpec& spec);
  void NoteUnused(HfFile& file);

  Precision precision_;
  std::string key_;  // Empty: no scheme.
  HfScheme scheme_;
  std::string prefix_;
  std::map<std::string, bool> stems_;  // As MentionsStem has found.
  std::vector<std::string> partial_;   // Notes.
};

}  // namespace mansard::model
