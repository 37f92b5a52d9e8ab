#include "model/graph/hf_feed_forward.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/graph/hf_names.h"

namespace mansard::model {
namespace {

int64_t ReadIntermediate(HfFile& file, int64_t hidden_size) {
  const HfFamily& family = file.family();
  const std::string key = absl::StrCat(
      family.intermediate_key, family.intermediate_key.empty() ? "" : "|",
      kIntermediateKey);
  if (!file.IsNull(key)) return file.Required(key, kMaxHfSize);
  if (file.nested() && family.sizes.intermediate > 0) {
    return file.IntegerOr(key, family.sizes.intermediate, kMaxHfSize);
  }
  if (family.intermediate_multiple == 0) return file.Required(key, kMaxHfSize);
  const std::optional<int64_t> ratio =
      file.Optional("expansion_ratio", 1, kMaxHfHeads);
  const int64_t size =
      hidden_size * ratio.value_or(family.intermediate_multiple);
  if (!ratio.has_value()) {
    file.NoteDefault(
        kIntermediateKey,
        absl::StrCat(family.intermediate_multiple, " x hidden_size = ", size));
  }
  return size;
}

int64_t ReadShared(HfFile& file, const HfExperts& row, int64_t width) {
  switch (row.shared) {
    case SharedExperts::kNone:
      return 0;
    case SharedExperts::kOne:
      file.Note(absl::StrCat("one shared expert of width ", width,
                             ", as the class always has"));
      return width;
    case SharedExperts::kByWidth:
    case SharedExperts::kCounted:
      break;
  }
  const int64_t factor = row.shared == SharedExperts::kCounted ? width : 1;
  if (!file.Has(row.shared_keys)) {
    if (row.default_shared > 0) {
      file.NoteDefault(row.shared_keys, absl::StrCat(row.default_shared));
    }
    return row.default_shared * factor;
  }
  return file.Optional(row.shared_keys, 0, kMaxHfSize).value_or(0) * factor;
}

int64_t ReadOr(HfFile& file, absl::string_view keys, int64_t absent,
               int64_t maximum) {
  return absent > 0 ? file.IntegerOr(keys, absent, maximum)
                    : file.Required(keys, maximum);
}

std::vector<bool> AfterFirst(HfFile& file, int64_t layer_count) {
  const HfExperts& row = file.family().experts;
  std::vector<bool> layers;
  if (file.IsList("moe_layer_freq")) {  // MiMo-V2: 1 where there are experts.
    const auto listed = file.OptionalIntegers("moe_layer_freq", 0, 1);
    file.Ignore("first_k_dense_replace");
    layers.resize(static_cast<size_t>(layer_count));
    if (!listed.has_value() ||
        !file.CheckLength("moe_layer_freq", listed->size(), layer_count)) {
      return layers;
    }
    for (size_t i = 0; i < layers.size(); ++i) layers[i] = (*listed)[i] == 1;
    return layers;
  }
  int64_t first = row.default_first_dense;
  if (!file.Has("first_k_dense_replace")) {
    file.NoteDefault("first_k_dense_replace", absl::StrCat(first));
  } else {
    first = file.Optional("first_k_dense_replace", 0, kMaxHfTokens).value_or(0);
  }
  const int64_t step =
      file.Optional("moe_layer_freq", 1, kMaxHfTokens).value_or(1);
  for (int64_t i = 0; i < layer_count; ++i) {
    layers.push_back(i >= first && i % step == 0);
  }
  return layers;
}

std::vector<bool> SparseStep(HfFile& file, int64_t layer_count) {
  const int64_t step = file.IntegerOr("decoder_sparse_step", 1, kMaxHfTokens);
  std::vector<bool> layers;
  for (int64_t i = 0; i < layer_count; ++i) {
    layers.push_back(step > 0 && (i + 1) % step == 0);
  }
  const auto dense =
      file.OptionalIntegers("mlp_only_layers", 0, kMaxHfLayers - 1);
  for (const int64_t i : dense.value_or(std::vector<int64_t>())) {
    if (i < layer_count) layers[static_cast<size_t>(i)] = false;
  }
  return layers;
}

std::vector<bool> Interleaved(HfFile& file, int64_t layer_count) {
  std::vector<bool> layers(static_cast<size_t>(layer_count));
  const auto listed = file.OptionalIntegers("moe_layers", 0, kMaxHfLayers - 1);
  if (listed.has_value()) {
    file.Ignore("interleave_moe_layer_step");
    for (const int64_t i : *listed) {
      if (i < layer_count) layers[static_cast<size_t>(i)] = true;
    }
    return layers;
  }
  const int64_t step =
      file.IntegerOr("interleave_moe_layer_step", 1, kMaxHfTokens);
  for (int64_t i = step - 1; step > 0 && i < layer_count; i += step) {
    layers[static_cast<size_t>(i)] = true;
  }
  return layers;
}

std::vector<bool> StartToEnd(HfFile& file, int64_t layer_count) {
  const int64_t start =
      file.Optional("moe_layer_start_index", 0, kMaxHfLayers).value_or(1);
  const int64_t step =
      file.Optional("moe_layer_interval", 1, kMaxHfLayers).value_or(1);
  int64_t end =
      file.Optional("moe_layer_end_index", -1, kMaxHfLayers).value_or(-1);
  if (end < 0) end = layer_count - 1;
  std::vector<bool> layers;
  for (int64_t i = 0; i < layer_count; ++i) {
    layers.push_back((i + 1) % step == 0 && i >= start && i <= end);
  }
  return layers;
}

// By mlp_layer_types, where it is there.
std::optional<std::vector<bool>> ByList(HfFile& file, int64_t layer_count) {
  constexpr absl::string_view kKey = "mlp_layer_types";
  const auto types = file.OptionalStrings(kKey);
  if (!types.has_value()) return std::nullopt;
  std::vector<bool> layers(static_cast<size_t>(layer_count));
  if (!file.CheckLength(kKey, types->size(), layer_count)) return layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i] = (*types)[i] == "sparse";
    if (!layers[i] && (*types)[i] != "dense") {
      file.ComplainAt(kKey, i,
                      absl::StrCat("is \"", Printable((*types)[i]),
                                   "\"; allowed: dense, sparse"));
      break;
    }
  }
  return layers;
}

}  // namespace

DenseFeedForward ReadDense(HfFile& file, int64_t hidden_size) {
  DenseFeedForward dense;
  dense.intermediate_size = ReadIntermediate(file, hidden_size);
  if (file.family().half_intermediate) {
    dense.intermediate_size /= 2;
    file.Note(absl::StrCat("intermediate_size counts gate and up projection: ",
                           "each is half as wide, as the class has it"));
  }
  dense.gated = file.family().gated;
  dense.bias = file.Is(file.family().mlp_bias);
  return dense;
}

MixtureOfExperts ReadExperts(HfFile& file) {
  const HfExperts& row = file.family().experts;
  MixtureOfExperts experts;
  const bool off =
      row.default_count == 0 && file.Has(row.count) && file.IsOff(row.count);
  if (row.count.empty() || off) {
    file.Ignore(row.count);
    return experts;
  }
  experts.expert_count =
      static_cast<int>(ReadOr(file, row.count, row.default_count, kMaxHfHeads));
  experts.experts_per_token = static_cast<int>(
      ReadOr(file, row.per_token, row.default_per_token, kMaxHfHeads));
  experts.expert_intermediate_size =
      ReadOr(file, row.width, row.default_width, kMaxHfSize);
  experts.shared_intermediate_size =
      ReadShared(file, row, experts.expert_intermediate_size);
  if (experts.shared_intermediate_size > kMaxHfSize) {
    file.Complain(row.shared_keys,
                  absl::StrCat("makes shared experts of width ",
                               experts.shared_intermediate_size,
                               "; allowed: up to ", kMaxHfSize));
  }
  experts.gated = file.family().gated;
  experts.shared_gated = experts.gated;
  experts.shared_expert_gate =
      row.shared_gate && experts.shared_intermediate_size > 0;
  experts.router_bias = row.router_bias;
  experts.expert_bias =
      row.expert_bias ||
      (!file.family().mlp_bias.keys.empty() && file.Is(file.family().mlp_bias));
  if (experts.experts_per_token > experts.expert_count &&
      experts.expert_count > 0) {
    file.Complain(row.per_token,
                  absl::StrCat("is ", experts.experts_per_token, "; there are ",
                               experts.expert_count, " experts"));
  }
  return experts;
}

std::vector<bool> ReadExpertLayers(HfFile& file, int64_t layer_count) {
  if (file.family().experts.layers == ExpertLayers::kAfterFirst) {
    auto listed = ByList(file, layer_count);
    if (listed.has_value()) {
      file.Ignore("first_k_dense_replace|moe_layer_freq");
      return *std::move(listed);
    }
  }
  switch (file.family().experts.layers) {
    case ExpertLayers::kAll:
      return std::vector<bool>(static_cast<size_t>(layer_count), true);
    case ExpertLayers::kAfterFirst:
      return AfterFirst(file, layer_count);
    case ExpertLayers::kSparseStep:
      return SparseStep(file, layer_count);
    case ExpertLayers::kInterleaved:
      return Interleaved(file, layer_count);
    case ExpertLayers::kStartToEnd:
      return StartToEnd(file, layer_count);
  }
  return {};
}

}  // namespace mansard::model
