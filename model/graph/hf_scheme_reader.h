// Reads of one quantisation object that its methods share. Internal to
// hf_schemes: numbers of bits and groups are in hf_scheme_reader.cc, groups of
// compressed-tensors, ModelOpt's algorithms and MLX in hf_scheme_groups.cc.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/graph/hf_scheme.h"
#include "model/graph/json_object.h"

namespace mansard::model {

// The text at a key; empty where there is none.
std::string SchemeText(const JsonObject& object, absl::string_view key);
// `group_size`; nothing where it is absent, null or not positive: the whole
// extent.
std::optional<int64_t> SchemeGroupSize(const JsonObject& object);

// Violations are of the object's keys. Its arguments outlive it.
class SchemeReader {
 public:
  SchemeReader(const JsonObject& object, HfScheme& scheme,
               Violations& violations)
      : object_(object), scheme_(scheme), violations_(violations) {}

  const JsonObject& object() const { return object_; }

  void Complain(absl::string_view key, absl::string_view description) {
    violations_.Add(absl::StrCat(object_.path(), key), description);
  }
  void SetBoth(Format format) { scheme_.main = {format, format}; }
  void SetWeights(Format format) { scheme_.main.weights = format; }

  // Names that are left out. `key` may hold null.
  void LeaveOut(absl::string_view key);

  // Integers of 4 or 8 bits in groups of columns. `scale_bits` and
  // `offset_bits`: of a group. The format that takes as much, else the nearest,
  // with a note.
  std::optional<Format> IntegerFormat(const JsonObject& object,
                                      absl::string_view key,
                                      std::optional<int64_t> group,
                                      int scale_bits, int offset_bits);

  // Notes blocks of another size than 128 x 128.
  void CheckBlocks(const JsonObject& object, absl::string_view key);

  // compressed-tensors: formats by group, groups by target.
  void Groups();

  // One algorithm for all, or one for each named module.
  void ModelOpt();

  // GPTQModel: "-:" leaves out, "+:" changes; regular expressions.
  void Dynamic();

  // Bits for all modules, and for some by name.
  void Mlx();

  // `kv_cache_scheme`, or the name of ModelOpt's algorithm.
  void KvCache();

 private:
  void ComplainOfExpression(absl::string_view key, absl::string_view name);

  // A tensor of compressed-tensors or ModelOpt.
  std::optional<Format> TensorFormat(const JsonObject& args, bool weights);

  // One group of `config_groups`.
  std::optional<ModuleFormats> Group(const JsonObject& group);

  std::optional<ModuleFormats> Algorithm(const JsonObject& object);

  std::optional<Format> MlxFormat(const JsonObject& object);

  const JsonObject& object_;
  HfScheme& scheme_;
  Violations& violations_;
};

}  // namespace mansard::model
