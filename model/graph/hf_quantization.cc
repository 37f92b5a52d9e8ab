#include "model/graph/hf_quantization.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/graph/module_names.h"

namespace mansard::model {
namespace {

// Layers times rules with "*" or "re:", each asked for some modules.
constexpr size_t kMaxMatches = 200'000;
// Of modules or notes that a message lists.
constexpr size_t kMaxListed = 3;

absl::string_view SourceKey(HfFile& file) {
  absl::string_view found;
  for (absl::string_view key :
       {"quantization_config", "compression_config", "quantization"}) {
    if (file.IsOff(key)) {
      file.Ignore(key);
    } else if (found.empty()) {
      found = key;
    } else {
      file.Complain(
          key, absl::StrCat("stands beside ", found, "; one of them must go"));
    }
  }
  return found;
}

}  // namespace

HfQuantization::HfQuantization(Precision native, std::string key)
    : precision_(native), key_(std::move(key)) {
  scheme_.wide = {native.weights, native.activations};
  scheme_.main = scheme_.wide;
  scheme_.kv_cache = native.kv_cache;
}

HfQuantization HfQuantization::Read(HfFile& file, const JsonObject* side,
                                    Precision native) {
  const absl::string_view key = SourceKey(file);
  if (key.empty() && side == nullptr) return HfQuantization(native, "");
  HfQuantization read(native,
                      key.empty() ? "hf_quant_config.json" : std::string(key));
  std::optional<JsonObject> object;
  SchemeOwner owner = SchemeOwner::kConfig;
  if (key.empty()) {
    owner = SchemeOwner::kModelOpt;
    object = side->Object("quantization", file.violations());
    if (!object.has_value()) {
      file.violations().Add("hf_quant_config.json",
                            "has no object \"quantization\"");
      return read;
    }
  } else {
    if (side != nullptr) {
      file.Note(absl::StrCat("hf_quant_config.json is not used: ", key,
                             " of the config.json holds"));
    }
    if (key == "quantization") owner = SchemeOwner::kMlx;
    object = file.OptionalObject(key);
    if (!object.has_value()) {
      file.Complain(
          key, absl::StrCat("is ", file.Describe(key), "; must be an object"));
      return read;
    }
  }
  ReadScheme(*object, owner, read.scheme_, file.violations());
  read.precision_.weights = read.scheme_.main.weights;
  read.precision_.activations = read.scheme_.main.activations;
  read.precision_.kv_cache = read.scheme_.kv_cache;
  for (const std::string& note : read.scheme_.notes) file.Note(note);
  return read;
}

std::optional<ModuleFormats> HfQuantization::Find(const std::string& module) {
  // Both are asked, so that both learn which of their rules are used.
  const std::optional<ModuleFormats> named = scheme_.named.Find(module);
  const std::optional<ModuleFormats> out = scheme_.left_out.Find(module);
  return out.has_value() ? out : named;
}

bool HfQuantization::MentionsStem(const ModuleSpelling& spelling) {
  std::string stem = spelling[0].substr(0, spelling[0].find('.'));
  const auto known = stems_.find(stem);
  if (known != stems_.end()) return known->second;
  const bool mentioned =
      scheme_.left_out.Mention(stem) || scheme_.named.Mention(stem);
  stems_.emplace(std::move(stem), mentioned);
  return mentioned;
}

ModuleFormats HfQuantization::Default(LinearClass linear) const {
  const bool covered = scheme_.all_classes || FollowsNativePrecision(linear);
  return covered && !scheme_.named_only ? scheme_.main : scheme_.wide;
}

ModuleFormats HfQuantization::ClassFormats(const LayerKind& kind,
                                           LinearClass linear, int64_t layer) {
  const ModuleFormats otherwise = Default(linear);
  std::vector<ModuleSpelling> spellings =
      ModuleSpellings(kind, linear, scheme_.all_classes);
  const auto unlikely = std::stable_partition(
      spellings.begin(), spellings.end(),
      [this](const ModuleSpelling& s) { return MentionsStem(s); });
  // A rule like "*proj" fits any spelling.
  spellings.erase(std::max(unlikely, spellings.begin() + 1), spellings.end());
  std::vector<ModuleFormats> best;
  size_t most_named = 0;
  for (const ModuleSpelling& spelling : spellings) {
    std::vector<ModuleFormats> formats;
    size_t named = 0;
    for (const std::string& module : spelling) {
      const auto found = Find(absl::StrCat(prefix_, layer, ".", module));
      if (found.has_value()) ++named;
      formats.push_back(found.value_or(otherwise));
    }
    if (named > most_named) {
      most_named = named;
      best = formats;
    }
  }
  if (best.empty()) return otherwise;
  ModuleFormats larger = best[0];
  const auto count = [&best](const ModuleFormats& formats) {
    return std::count(best.begin(), best.end(), formats);
  };
  for (const ModuleFormats& formats : best) {
    if (count(formats) > count(larger)) larger = formats;
  }
  if (count(larger) != static_cast<std::ptrdiff_t>(best.size())) {
    partial_.push_back(absl::StrCat(LinearClassName(linear), " of layer ",
                                    layer, " as ",
                                    TraitsOf(larger.weights).name));
  }
  return larger;
}

std::vector<LinearFormats> HfQuantization::FormatsOf(const LayerKind& kind,
                                                     int64_t layer) {
  std::vector<LinearFormats> all;
  for (LinearClass linear : AllLinearClasses()) {
    if (!HasLinear(kind, linear)) continue;
    const auto given = std::find_if(
        kind.formats.begin(), kind.formats.end(),
        [linear](const LinearFormats& own) { return own.linear == linear; });
    if (given != kind.formats.end()) {
      all.push_back(*given);
      continue;
    }
    const ModuleFormats formats = ClassFormats(kind, linear, layer);
    const ModuleFormats followed =
        FollowsNativePrecision(linear) ? scheme_.main : scheme_.wide;
    if (formats == followed) continue;
    all.push_back({linear, formats.weights, formats.activations});
  }
  return all;
}

std::optional<ModuleFormats> HfQuantization::Table(LinearClass linear) {
  std::optional<ModuleFormats> found;
  for (const std::string& name : TableNames(linear)) {
    const std::optional<ModuleFormats> formats = Find(name);
    if (!found.has_value()) found = formats;
  }
  const ModuleFormats formats = found.value_or(Default(linear));
  if (formats == scheme_.wide) return std::nullopt;
  return formats;
}

int HfQuantization::KindWith(int kind, std::vector<LinearFormats> formats,
                             ModelGraphSpec& spec) {
  LayerKind wanted = spec.layer_kinds[static_cast<size_t>(kind)];
  wanted.formats = std::move(formats);
  const std::string name = wanted.name;
  std::vector<LayerKind>& kinds = spec.layer_kinds;
  for (size_t i = 0; i < kinds.size(); ++i) {
    wanted.name = kinds[i].name;
    if (wanted == kinds[i]) return static_cast<int>(i);
  }
  for (int number = 2;; ++number) {
    wanted.name = absl::StrCat(name, "-f", number);
    const bool taken = std::any_of(kinds.begin(), kinds.end(),
                                   [&wanted](const LayerKind& other) {
                                     return other.name == wanted.name;
                                   });
    if (!taken) break;
  }
  kinds.push_back(std::move(wanted));
  return static_cast<int>(kinds.size()) - 1;
}

void HfQuantization::NoteUnused(HfFile& file) {
  std::vector<std::string> unused;
  for (const ModuleRules* rules : {&scheme_.left_out, &scheme_.named}) {
    for (const std::string& name : rules->Unused()) {
      if (!IsOutsideLinears(name)) unused.push_back(Printable(name));
    }
  }
  if (unused.empty()) return;
  const size_t count = unused.size();
  unused.resize(std::min(count, kMaxListed));
  file.Note(absl::StrCat(
      key_, " names ", count,
      count == 1 ? " module that is" : " modules that are",
      " no known linear layer of the decoder: ", absl::StrJoin(unused, ", "),
      count > kMaxListed ? ", ..." : ""));
}

void HfQuantization::Apply(HfFile& file, ModelGraphSpec& spec) {
  if (key_.empty()) return;
  const size_t patterns =
      scheme_.left_out.pattern_count() + scheme_.named.pattern_count();
  const size_t layers =
      spec.layer_kind_indexes.size() + spec.mtp.layer_kind_indexes.size();
  if (patterns * layers > kMaxMatches) {
    file.violations().Add(
        key_, absl::StrCat(
                  "has ", patterns, " rules with \"*\" or \"re:\" for ", layers,
                  " layers; allowed: up to ", kMaxMatches, " by product"));
    return;
  }
  const std::vector<std::string> prefixes = LayerPrefixes();
  prefix_ = prefixes[prefixes.size() - 2];
  for (const std::string& prefix : prefixes) {
    if (!scheme_.left_out.Mention(prefix) && !scheme_.named.Mention(prefix)) {
      continue;
    }
    prefix_ = prefix;
    break;
  }
  // Of each kind the formats of its first layer take its place.
  std::vector<bool> placed(spec.layer_kinds.size());
  const std::vector<LayerKind> plain = spec.layer_kinds;
  const bool alike =
      scheme_.left_out.SeesNoNumbers() && scheme_.named.SeesNoNumbers();
  const auto place = [&](int& index, int64_t layer) {
    const auto kind = static_cast<size_t>(index);
    if (alike && placed[kind]) return;
    std::vector<LinearFormats> formats = FormatsOf(plain[kind], layer);
    if (!placed[kind]) {
      placed[kind] = true;
      spec.layer_kinds[kind].formats = std::move(formats);
      return;
    }
    index = KindWith(index, std::move(formats), spec);
  };
  int64_t layer = 0;
  for (int& index : spec.layer_kind_indexes) place(index, layer++);
  for (int& index : spec.mtp.layer_kind_indexes) place(index, layer++);
  for (LinearClass linear : {LinearClass::kHead, LinearClass::kEmbedding}) {
    const auto formats =
        Table(spec.tied_embeddings ? LinearClass::kEmbedding : linear);
    if (!formats.has_value()) continue;
    spec.formats.push_back({linear, formats->weights, formats->activations});
  }
  if (spec.tied_embeddings) Table(LinearClass::kHead);  // Its rules are used.
  if (!partial_.empty()) {
    const size_t count = partial_.size();
    partial_.resize(std::min(count, kMaxListed));
    file.Note(absl::StrCat(key_, " tells apart the modules of one class: ",
                           absl::StrJoin(partial_, ", "),
                           count > kMaxListed ? ", ..." : "",
                           ", as most of its modules are"));
  }
  NoteUnused(file);
}

}  // namespace mansard::model
