#include "model/graph/hf_decoder.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "model/base/suggest.h"

namespace mansard::model {
namespace {

// In the order in which they are looked for.
constexpr absl::string_view kDecoderKeys[] = {"text_config", "thinker_config",
                                              "llm_config", "language_config",
                                              "text_model_config"};

// The first publications of Mamba and Mamba 2 name neither class nor type.
constexpr absl::string_view kStateSpacesKey = "ssm_cfg";
constexpr absl::string_view kStateSpacesClass = "MambaLMHeadModel";

absl::Status Unsupported(absl::string_view architecture) {
  const std::vector<std::string> supported = AllArchitectures();
  const std::string name = Printable(architecture, kMaxHfNameBytes);
  const std::vector<std::string> closest = ClosestNames(name, supported);
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(
      "architecture \"", name, "\" is not supported",
      closest.empty() ? "" : absl::StrCat("; the closest is ", closest.front()),
      "; ", supported.size(), " are supported"));
  status.SetPayload(kUnsupportedArchitecture, absl::Cord(name));
  return status;
}

// What one object says of its class.
struct Names {
  std::string architecture;  // Empty: nothing.
  std::string model_type;
};

// Nothing, with a violation, where they cannot be read.
std::optional<Names> ReadNames(const JsonObject& object,
                               Violations& violations) {
  Names names;
  if (!object.IsNull("architectures")) {
    const auto list = object.Strings("architectures", violations);
    if (!list.has_value()) return std::nullopt;
    if (list->size() > 1) {
      violations.Add(absl::StrCat(object.path(), "architectures"),
                     absl::StrCat("has ", list->size(),
                                  " entries; must name one architecture"));
      return std::nullopt;
    }
    if (!list->empty()) names.architecture = list->front();
  }
  if (!object.IsNull("model_type")) {
    const auto type = object.String("model_type", violations);
    if (!type.has_value()) return std::nullopt;
    names.model_type = *type;
  }
  return names;
}

// Fills family and architecture; false where no row knows the names.
bool SetFamily(const Names& names, HfDecoder& decoder) {
  decoder.family = FamilyOfArchitecture(names.architecture);
  if (decoder.family != nullptr) {
    decoder.architecture = names.architecture;
    return true;
  }
  decoder.family = FamilyOfModelType(names.model_type);
  if (decoder.family == nullptr) return false;
  const absl::string_view all = decoder.family->architectures;
  decoder.architecture = std::string(all.substr(0, all.find('|')));
  return true;
}

void NoteHowFound(const Names& names, const std::string& path,
                  HfDecoder& decoder) {
  const bool by_type = names.architecture != decoder.architecture;
  if (!decoder.around.empty()) {
    decoder.assumptions.push_back(absl::StrCat(
        decoder.object.path().substr(0, decoder.object.path().size() - 1),
        " is the decoder: ", decoder.architecture, ", as ", path,
        by_type ? "model_type" : "architectures", " says"));
  } else if (by_type) {
    decoder.assumptions.push_back(
        absl::StrCat("architectures is absent: ", decoder.architecture,
                     ", as model_type says"));
  } else if (!names.model_type.empty() &&
             !HasName(decoder.family->model_types, names.model_type)) {
    decoder.assumptions.push_back(
        absl::StrCat("model_type is \"", Printable(names.model_type),
                     "\": architectures decides, ", decoder.architecture));
  }
}

}  // namespace

absl::StatusOr<std::optional<HfDecoder>> FindDecoder(JsonObject file,
                                                     Violations& violations) {
  HfDecoder decoder = {std::move(file), {}, nullptr, "", {}};
  const size_t before = violations.all().size();
  for (size_t i = 0; i < std::size(kDecoderKeys);) {
    std::optional<JsonObject> inner =
        decoder.object.Object(kDecoderKeys[i], violations);
    if (!inner.has_value()) {
      ++i;
      continue;
    }
    decoder.around.insert(decoder.around.begin(), std::move(decoder.object));
    decoder.object = *std::move(inner);
    i = 0;
  }
  std::vector<std::pair<Names, std::string>> all;
  const auto read = [&](const JsonObject& object) {
    std::optional<Names> names = ReadNames(object, violations);
    if (names.has_value()) all.emplace_back(*std::move(names), object.path());
  };
  read(decoder.object);
  for (const JsonObject& object : decoder.around) read(object);
  if (violations.all().size() != before) return std::nullopt;

  const Names own = all.front().first;
  if (decoder.around.empty() && !own.architecture.empty() &&
      FamilyOfArchitecture(own.architecture) == nullptr) {
    return Unsupported(own.architecture);
  }
  for (const auto& [names, path] : all) {
    if (!SetFamily(names, decoder)) continue;
    NoteHowFound(names, path, decoder);
    return decoder;
  }
  // The outermost name is the one that people know.
  for (auto names = all.rbegin(); names != all.rend(); ++names) {
    if (!names->first.architecture.empty()) {
      return Unsupported(names->first.architecture);
    }
  }
  for (auto names = all.rbegin(); names != all.rend(); ++names) {
    if (!names->first.model_type.empty()) {
      return Unsupported(names->first.model_type);
    }
  }
  if (decoder.object.IsObject(kStateSpacesKey)) {
    decoder.family = FamilyOfArchitecture(kStateSpacesClass);
    decoder.architecture = std::string(kStateSpacesClass);
    decoder.assumptions.push_back(
        absl::StrCat("architectures is absent: ", kStateSpacesClass, ", as ",
                     kStateSpacesKey, " is there"));
    return decoder;
  }
  violations.Add("architectures", "is missing, and so is model_type");
  return std::nullopt;
}

}  // namespace mansard::model
