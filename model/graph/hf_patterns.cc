#include "model/graph/hf_patterns.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// Longest list of blocks taken; ReadLayerCount's bound.
constexpr size_t kMaxBlocks = kMaxHfLayers;

std::optional<Block> BlockOfLetter(char letter) {
  switch (letter) {
    case 'M':
      return Block::kRecurrent;
    case '*':
      return Block::kAttention;
    case '-':
      return Block::kDense;
    case 'E':
      return Block::kExperts;
    default:
      return std::nullopt;
  }
}

std::optional<Block> BlockOfWord(absl::string_view word) {
  if (word == "mamba" || word == "linear_attention") return Block::kRecurrent;
  if (word == "attention" || word == "full_attention") return Block::kAttention;
  if (word == "mlp") return Block::kDense;
  if (word == "moe") return Block::kExperts;
  return std::nullopt;
}

// Words of mixers alone, for layers that have a feed-forward beside them.
std::optional<bool> AttentionOfWord(absl::string_view word) {
  const std::optional<Block> block = BlockOfWord(word);
  if (block == Block::kAttention) return true;
  if (block == Block::kRecurrent) return false;
  return std::nullopt;
}

std::vector<Block> ReadLetters(HfFile& file, absl::string_view key) {
  const std::optional<std::string> letters = file.OptionalString(key);
  if (!letters.has_value()) return {};
  std::vector<Block> blocks;
  for (size_t i = 0; i < letters->size(); ++i) {
    const std::optional<Block> block = BlockOfLetter((*letters)[i]);
    if (!block.has_value()) {
      file.Complain(
          key, absl::StrCat("has \"", Printable(letters->substr(i, 1)),
                            "\" at position ", i + 1,
                            "; allowed: M (Mamba 2), * (attention), - (dense "
                            "feed-forward), E (experts)"));
      return {};
    }
    blocks.push_back(*block);
  }
  return blocks;
}

std::vector<Block> ReadWords(HfFile& file, absl::string_view key) {
  const std::optional<std::vector<std::string>> words =
      file.OptionalStrings(key);
  if (!words.has_value()) return {};
  std::vector<Block> blocks;
  for (size_t i = 0; i < words->size(); ++i) {
    const std::optional<Block> block = BlockOfWord((*words)[i]);
    if (!block.has_value()) {
      file.Complain(key, absl::StrCat("has \"", Printable((*words)[i]),
                                      "\" for layer ", i,
                                      "; allowed: mamba, linear_attention, "
                                      "attention, full_attention, mlp, moe"));
      return {};
    }
    blocks.push_back(*block);
  }
  return blocks;
}

// Marks the layers, counted from `first`, that the list names. False with a
// violation where it names one twice or marks one that `taken` has.
bool MarkLayers(HfFile& file, absl::string_view key,
                const std::vector<int64_t>& layers, int64_t first,
                std::vector<bool>& taken) {
  for (const int64_t layer : layers) {
    const auto index = static_cast<size_t>(layer - first);
    if (taken[index]) {
      file.Complain(
          key, absl::StrCat("names layer ", layer, ", which is named already"));
      return false;
    }
    taken[index] = true;
  }
  return true;
}

}  // namespace

AttentionLayers ReadMixerWords(HfFile& file, absl::string_view names,
                               int64_t layer_count) {
  const std::optional<std::vector<std::string>> words =
      file.OptionalStrings(names);
  if (!words.has_value() || layer_count == 0 ||
      !file.CheckLength(names, words->size(), layer_count)) {
    return {};
  }
  AttentionLayers layers;
  for (size_t i = 0; i < words->size(); ++i) {
    const std::optional<bool> attention = AttentionOfWord((*words)[i]);
    if (!attention.has_value()) {
      file.Complain(names, absl::StrCat("has \"", Printable((*words)[i]),
                                        "\" for layer ", i,
                                        "; allowed: full_attention, attention, "
                                        "linear_attention, mamba"));
      return {};
    }
    layers.push_back(*attention);
  }
  return layers;
}

AttentionLayers ReadMixerFlags(HfFile& file, absl::string_view names,
                               int64_t layer_count) {
  const std::optional<std::vector<int64_t>> flags =
      file.OptionalIntegers(names, 0, 1);
  if (!flags.has_value() || layer_count == 0 ||
      !file.CheckLength(names, flags->size(), layer_count)) {
    return {};
  }
  AttentionLayers layers;
  for (const int64_t flag : *flags) layers.push_back(flag == 1);
  return layers;
}

AttentionLayers ReadMixerInterval(HfFile& file, absl::string_view interval_key,
                                  int64_t default_interval,
                                  int64_t layer_count) {
  if (!file.IsNull("layer_types")) {
    // Said twice in files written out by the library; the list decides.
    file.Ignore(interval_key);
    return ReadMixerWords(file, "layer_types", layer_count);
  }
  const int64_t interval =
      file.IntegerOr(interval_key, default_interval, kMaxHfLayers);
  AttentionLayers layers;
  if (interval == 0) return layers;
  for (int64_t i = 0; i < layer_count; ++i) {
    layers.push_back((i + 1) % interval == 0);
  }
  return layers;
}

std::vector<bool> ReadPeriod(HfFile& file, const PeriodKeys& keys,
                             int64_t layer_count) {
  const int64_t period =
      file.IntegerOr(keys.period, keys.default_period, kMaxHfLayers);
  int64_t offset = keys.default_offset;
  if (file.IsNull(keys.offset)) {
    file.NoteDefault(keys.offset, absl::StrCat(offset));
  } else {
    offset = file.Optional(keys.offset, 0, kMaxHfLayers).value_or(0);
  }
  std::vector<bool> layers;
  if (period == 0) return layers;
  if (offset >= period) {
    file.Complain(keys.offset,
                  absl::StrCat("is ", offset, "; must be less than ",
                               keys.period, ", ", period));
    return layers;
  }
  for (int64_t i = 0; i < layer_count; ++i) {
    layers.push_back(i % period == offset);
  }
  return layers;
}

AttentionLayers ReadAttentionIndices(HfFile& file, absl::string_view names,
                                     int64_t layer_count) {
  if (layer_count == 0) return {};
  AttentionLayers layers(static_cast<size_t>(layer_count));
  if (file.IsNull(names)) {
    file.NoteDefault(names, "no layer has attention");
    return layers;
  }
  const std::optional<std::vector<int64_t>> attention =
      file.OptionalIntegers(names, 0, layer_count - 1);
  if (!attention.has_value() ||
      !MarkLayers(file, names, *attention, 0, layers)) {
    return {};
  }
  return layers;
}

AttentionLayers ReadMixerPartition(HfFile& file,
                                   absl::string_view attention_key,
                                   absl::string_view recurrent_key,
                                   int64_t layer_count) {
  if (layer_count == 0) return {};
  const std::optional<std::vector<int64_t>> attention =
      file.OptionalIntegers(attention_key, 1, layer_count);
  const std::optional<std::vector<int64_t>> recurrent =
      file.OptionalIntegers(recurrent_key, 1, layer_count);
  if (!attention.has_value() && file.IsNull(attention_key)) {
    file.Complain(attention_key, "is missing");
  }
  if (!recurrent.has_value() && file.IsNull(recurrent_key)) {
    file.Complain(recurrent_key, "is missing");
  }
  if (!attention.has_value() || !recurrent.has_value()) return {};
  AttentionLayers layers(static_cast<size_t>(layer_count));
  if (!MarkLayers(file, attention_key, *attention, 1, layers)) return {};
  std::vector<bool> taken = layers;
  if (!MarkLayers(file, recurrent_key, *recurrent, 1, taken)) return {};
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) continue;
    file.Complain(recurrent_key,
                  absl::StrCat("leaves out layer ", i + 1, ", which ",
                               attention_key, " does not name either"));
    return {};
  }
  return layers;
}

std::vector<Block> ReadBlocks(HfFile& file, absl::string_view letters_key,
                              absl::string_view words_key) {
  const bool has_letters = !file.IsOff(letters_key);
  const bool has_words = !file.IsOff(words_key);
  if (!has_letters && !has_words) {
    file.Complain(letters_key,
                  absl::StrCat("is missing, and so is ", words_key));
    return {};
  }
  std::vector<Block> letters, words;
  if (has_letters) letters = ReadLetters(file, letters_key);
  if (has_words) words = ReadWords(file, words_key);
  if (has_letters && has_words && !letters.empty() && !words.empty() &&
      letters != words) {
    file.Complain(letters_key,
                  absl::StrCat("says other layers than ", words_key));
    return {};
  }
  std::vector<Block> blocks = has_letters ? letters : words;
  if (blocks.size() > kMaxBlocks) {
    file.Complain(has_letters ? letters_key : words_key,
                  absl::StrCat("has ", blocks.size(),
                               " layers; allowed: up to ", kMaxBlocks));
    return {};
  }
  return blocks;
}

}  // namespace mansard::model
