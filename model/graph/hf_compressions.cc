#include "model/graph/hf_compressions.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kWindowWord = "sliding_attention";

std::optional<Compression> CompressionOfRatio(int64_t ratio) {
  if (ratio == 0) return Compression::kWindow;
  if (ratio == kSparseRatio) return Compression::kSparse;
  if (ratio == kHeavyRatio) return Compression::kHeavy;
  return std::nullopt;
}

std::optional<Compression> CompressionOfWord(absl::string_view word) {
  if (word == kWindowWord) return Compression::kWindow;
  if (word == kSparseWord) return Compression::kSparse;
  if (word == kHeavyWord) return Compression::kHeavy;
  return std::nullopt;
}

Compressions ReadRatios(HfFile& file, int64_t layer_count, int64_t modules) {
  constexpr absl::string_view kKey = "compress_ratios";
  const auto ratios = file.OptionalIntegers(kKey, 0, kMaxRatio);
  if (!ratios.has_value() || layer_count == 0) return {};
  const auto count = static_cast<int64_t>(ratios->size());
  if (count != layer_count && count != layer_count + modules) {
    file.Complain(
        kKey,
        absl::StrCat("has ", count, " entries; num_hidden_layers is ",
                     layer_count, ", num_nextn_predict_layers ", modules));
    return {};
  }
  Compressions result;
  for (size_t i = 0; i < ratios->size(); ++i) {
    const std::optional<Compression> kind = CompressionOfRatio((*ratios)[i]);
    if (!kind.has_value()) {
      file.Complain(kKey, absl::StrCat("has ", (*ratios)[i], " for layer ", i,
                                       "; allowed: 0 (window alone), ",
                                       kSparseRatio, ", ", kHeavyRatio));
      return {};
    }
    if (static_cast<int64_t>(i) < layer_count) {
      result.layers.push_back(*kind);
    } else {
      result.mtp = *kind;
    }
  }
  return result;
}

Compressions ReadLayerWords(HfFile& file, int64_t layer_count) {
  constexpr absl::string_view kKey = "layer_types";
  const auto words = file.OptionalStrings(kKey);
  if (!words.has_value() || layer_count == 0 ||
      !file.CheckLength(kKey, words->size(), layer_count)) {
    return {};
  }
  Compressions result;
  for (size_t i = 0; i < words->size(); ++i) {
    const std::optional<Compression> kind = CompressionOfWord((*words)[i]);
    if (!kind.has_value()) {
      file.Complain(
          kKey, absl::StrCat("has \"", Printable((*words)[i]), "\" for layer ",
                             i, "; allowed: ", kWindowWord, ", ", kSparseWord,
                             ", ", kHeavyWord));
      return {};
    }
    result.layers.push_back(*kind);
  }
  return result;
}

}  // namespace

Compressions ReadCompressions(HfFile& file, int64_t layer_count,
                              int64_t modules) {
  if (!file.IsNull("layer_types")) {
    file.Ignore("compress_ratios");
    return ReadLayerWords(file, layer_count);
  }
  if (!file.IsNull("compress_ratios")) {
    return ReadRatios(file, layer_count, modules);
  }
  file.NoteDefault("layer_types",
                   "two heavily compressed layers, then heavily compressed "
                   "and compressed sparse ones in turn");
  Compressions result;
  for (int64_t i = 0; i < layer_count; ++i) {
    result.layers.push_back(i < 2 || i % 2 == 0 ? Compression::kHeavy
                                                : Compression::kSparse);
  }
  return result;
}

std::vector<bool> ReadHashLayers(HfFile& file, int64_t layer_count) {
  constexpr absl::string_view kKey = "mlp_layer_types";
  std::vector<bool> hashed(static_cast<size_t>(layer_count));
  const auto words = file.OptionalStrings(kKey);
  if (words.has_value()) {
    file.Ignore("num_hash_layers");
    if (!file.CheckLength(kKey, words->size(), layer_count)) return hashed;
    for (size_t i = 0; i < hashed.size(); ++i) {
      hashed[i] = (*words)[i] == "hash_moe";
      if (!hashed[i] && (*words)[i] != "moe") {
        file.Complain(
            kKey, absl::StrCat("has \"", Printable((*words)[i]),
                               "\" for layer ", i, "; allowed: hash_moe, moe"));
        break;
      }
    }
    return hashed;
  }
  constexpr absl::string_view kCountKey = "num_hash_layers";
  int64_t count = 3;
  if (file.IsNull(kCountKey)) {
    file.NoteDefault(kCountKey, absl::StrCat(count));
  } else {
    count = file.Optional(kCountKey, 0, kMaxHfLayers).value_or(0);
  }
  for (size_t i = 0; i < hashed.size(); ++i) {
    hashed[i] = static_cast<int64_t>(i) < count;
  }
  return hashed;
}

}  // namespace mansard::model
