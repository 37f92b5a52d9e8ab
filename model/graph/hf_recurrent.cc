#include "model/graph/hf_recurrent.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mansard::model {
namespace {

constexpr int64_t kMaxKernel = 64;
constexpr int64_t kDefaultKernel = 4;
constexpr int64_t kDefaultExpand = 2;

// Whether the file leaves the value to the class: "auto".
bool IsAuto(HfFile& file, absl::string_view names) {
  return file.Has(names) && file.Describe(names) == "\"auto\"";
}

// What heads x head size has to be.
struct InnerWidth {
  int64_t size = 0;    // 0: nothing says it.
  std::string source;  // For messages.
};

InnerWidth ReadInnerWidth(HfFile& file, const Mamba2Keys& keys,
                          int64_t hidden_size) {
  if (!keys.width.empty() && !file.IsNull(keys.width)) {
    file.Ignore(keys.expand);
    return {file.Required(keys.width, kMaxHfSize), std::string(keys.width)};
  }
  if (keys.expand.empty()) return {};
  return {
      hidden_size * file.IntegerOr(keys.expand, kDefaultExpand, kMaxHfHeads),
      absl::StrCat(keys.expand, " x hidden size")};
}

// Mamba (1): what the file writes holds against what it follows from. 0 with a
// violation where it cannot be read.
int64_t ReadInnerWidth(HfFile& file, const MambaKeys& keys,
                       int64_t hidden_size) {
  const bool written = !keys.width.empty() && !file.IsNull(keys.width);
  const int64_t expand =
      written && file.IsNull(keys.expand)
          ? 0
          : file.IntegerOr(keys.expand, kDefaultExpand, kMaxHfHeads);
  const int64_t width = expand * hidden_size;
  if (written) {
    const int64_t stated = file.Required(keys.width, kMaxHfSize);
    if (width != 0 && stated != 0 && stated != width) {
      file.Note(absl::StrCat(keys.width, " is ", stated, ", but ", keys.expand,
                             " x hidden size is ", width,
                             ": the written one holds, as in the class"));
    }
    return stated;
  }
  if (width <= kMaxHfSize) return width;
  file.Complain(keys.expand,
                absl::StrCat("is ", expand, "; times the hidden size, ",
                             hidden_size, ", it may be up to ", kMaxHfSize));
  return 0;
}

// The quotient, for a count or size that the file leaves to the class; 0 with a
// violation where it is none.
int64_t Divide(HfFile& file, absl::string_view key, const InnerWidth& width,
               int64_t by) {
  if (by == 0 || width.size == 0) return 0;
  if (width.size % by == 0) return width.size / by;
  file.Complain(key, absl::StrCat("is ", by, "; must divide ", width.source,
                                  ", ", width.size));
  return 0;
}

// Heads and head size, whose product is the inner width.
void ReadHeads(HfFile& file, const Mamba2Keys& keys, const InnerWidth& width,
               RecurrentMixer& mixer) {
  const bool auto_size =
      !width.source.empty() &&
      (IsAuto(file, keys.head_size) ||
       (keys.default_head_size == 0 && file.IsNull(keys.head_size)));
  int64_t size =
      auto_size
          ? 0
          : file.IntegerOr(keys.head_size, keys.default_head_size, kMaxHfHeads);
  const int64_t heads =
      keys.heads.empty()
          ? Divide(file, keys.head_size, width, size)
          : file.IntegerOr(keys.heads, keys.default_heads, kMaxHfHeads);
  if (auto_size) size = Divide(file, keys.heads, width, heads);
  mixer.heads = static_cast<int>(heads);
  mixer.value_size = static_cast<int>(size);
  if (heads * size > kMaxHfSize) {
    file.Complain(keys.head_size,
                  absl::StrCat("is ", size, "; times ", heads,
                               " heads it may be up to ", kMaxHfSize));
    return;
  }
  if (heads == 0 || size == 0 || width.size == 0 ||
      heads * size == width.size) {
    return;
  }
  file.Complain(keys.head_size, absl::StrCat("is ", size, "; times ", heads,
                                             " heads it must be ", width.source,
                                             ", ", width.size));
}

// The recurrent state's format by its PyTorch name.
std::optional<Format> ParseStateType(absl::string_view name) {
  absl::ConsumePrefix(&name, "torch.");
  if (name == "float32" || name == "float") return Format::kFp32;
  if (name == "bfloat16") return Format::kBf16;
  if (name == "float16" || name == "half") return Format::kFp16;
  return std::nullopt;
}

}  // namespace

RecurrentMixer ReadMamba2(HfFile& file, const Mamba2Keys& keys,
                          int64_t hidden_size) {
  const InnerWidth width = ReadInnerWidth(file, keys, hidden_size);
  RecurrentMixer mixer;
  mixer.rule = StateRule::kMamba2;
  ReadHeads(file, keys, width, mixer);
  mixer.key_heads = static_cast<int>(
      file.IntegerOr(keys.groups, keys.default_groups, kMaxHfHeads));
  if (mixer.key_heads != 0 && mixer.heads % mixer.key_heads != 0) {
    file.Complain(keys.groups, absl::StrCat("is ", mixer.key_heads,
                                            "; must divide the number of "
                                            "heads, ",
                                            mixer.heads));
  }
  mixer.key_size = static_cast<int>(
      file.IntegerOr(keys.state_size, keys.default_state_size, kMaxHfHeads));
  mixer.conv_kernel = static_cast<int>(
      file.IntegerOr(keys.conv_kernel, kDefaultKernel, kMaxKernel));
  mixer.conv_bias = file.Is(keys.conv_bias);
  mixer.projection_bias = file.Is(keys.projection_bias);
  if (file.Is(keys.output_norm)) mixer.output_norm = QkNorm::kAllHeads;
  return mixer;
}

void IgnoreMamba2(HfFile& file, const Mamba2Keys& keys) {
  for (const absl::string_view names :
       {keys.heads, keys.head_size, keys.groups, keys.state_size,
        keys.conv_kernel, keys.conv_bias.keys, keys.projection_bias.keys,
        keys.output_norm.keys, keys.width, keys.expand}) {
    file.Ignore(names);
  }
}

RecurrentMixer ReadMamba(HfFile& file, const MambaKeys& keys,
                         int64_t hidden_size) {
  constexpr int64_t kDefaultStateSize = 16;
  constexpr int64_t kHiddenPerRank = 16;
  int64_t rank = (hidden_size + kHiddenPerRank - 1) / kHiddenPerRank;
  if (file.IsNull(keys.time_step_rank)) {
    file.NoteDefault(keys.time_step_rank,
                     absl::StrCat("hidden size / 16 = ", rank));
  } else if (!IsAuto(file, keys.time_step_rank)) {
    rank = file.Required(keys.time_step_rank, kMaxHfHeads);
  }
  RecurrentMixer mixer;
  mixer.rule = StateRule::kMamba;
  mixer.heads = static_cast<int>(ReadInnerWidth(file, keys, hidden_size));
  mixer.key_heads = 1;
  mixer.key_size = static_cast<int>(
      file.IntegerOr(keys.state_size, kDefaultStateSize, kMaxHfHeads));
  mixer.value_size = 1;
  mixer.conv_kernel = static_cast<int>(
      file.IntegerOr(keys.conv_kernel, kDefaultKernel, kMaxKernel));
  mixer.conv_bias = file.Is(keys.conv_bias);
  mixer.projection_bias = file.Is(keys.projection_bias);
  mixer.decay_rank = static_cast<int>(rank);
  mixer.inner_norms = keys.inner_norms;
  return mixer;
}

RecurrentMixer ReadGatedDelta(HfFile& file) {
  // configuration_qwen3_next.py, configuration_qwen3_5.py.
  const int64_t heads =
      file.IntegerOr("linear_num_value_heads", 32, kMaxHfHeads);
  const int64_t key_heads =
      file.IntegerOr("linear_num_key_heads", 16, kMaxHfHeads);
  if (heads != 0 && key_heads != 0 && heads % key_heads != 0) {
    file.Complain(
        "linear_num_key_heads",
        absl::StrCat("is ", key_heads, "; must divide linear_num_value_heads, ",
                     heads));
  }
  RecurrentMixer mixer;
  mixer.rule = StateRule::kGatedDelta;
  mixer.heads = static_cast<int>(heads);
  mixer.key_heads = static_cast<int>(key_heads);
  mixer.key_size =
      static_cast<int>(file.IntegerOr("linear_key_head_dim", 128, kMaxHfHeads));
  mixer.value_size = static_cast<int>(
      file.IntegerOr("linear_value_head_dim", 128, kMaxHfHeads));
  mixer.conv_kernel = static_cast<int>(
      file.IntegerOr("linear_conv_kernel_dim", kDefaultKernel, kMaxKernel));
  mixer.output_norm = QkNorm::kPerHead;
  return mixer;
}

RecurrentMixer Lightning(const GroupedQueryAttention& attention) {
  // modeling_minimax.py: as many heads for keys and values as for queries.
  RecurrentMixer mixer;
  mixer.rule = StateRule::kDecay;
  mixer.heads = attention.query_heads;
  mixer.key_heads = attention.query_heads;
  mixer.key_size = attention.head_size;
  mixer.value_size = attention.head_size;
  mixer.output_norm = QkNorm::kAllHeads;
  return mixer;
}

RecurrentMixer ReadKimiDelta(HfFile& file) {
  RecurrentMixer mixer;
  mixer.rule = StateRule::kKeyGatedDelta;
  mixer.heads = static_cast<int>(
      file.Required("linear_attn_config.num_heads", kMaxHfHeads));
  mixer.key_heads = mixer.heads;
  mixer.key_size = static_cast<int>(
      file.Required("linear_attn_config.head_dim", kMaxHfHeads));
  mixer.value_size = mixer.key_size;
  mixer.conv_kernel = static_cast<int>(file.IntegerOr(
      "linear_attn_config.short_conv_kernel_size", kDefaultKernel, kMaxKernel));
  mixer.decay_rank = mixer.key_size;
  // Kimi Linear has the low-rank gate and no such key.
  constexpr absl::string_view kFullRank =
      "linear_attn_config.use_full_rank_gate";
  const bool full = !file.IsNull(kFullRank) && file.BooleanOr(kFullRank, false);
  if (full) {
    file.Note(absl::StrCat(kFullRank,
                           ": the output gate is one projection to the width "
                           "of all heads; decays stay low-rank, of rank "
                           "head_dim"));
  }
  mixer.gate = full ? OutputGate::kFull : OutputGate::kLowRank;
  mixer.gate_rank = full ? 0 : mixer.key_size;
  mixer.output_norm = QkNorm::kPerHead;
  return mixer;
}

void ReadStateFormat(HfFile& file, ModelGraphSpec& spec) {
  constexpr absl::string_view kKeys = "mamba_ssm_cache_dtype|mamba_ssm_dtype";
  Format& state = spec.native_precision.state;
  if (file.IsNull(kKeys) || IsAuto(file, kKeys)) {
    file.Note(
        absl::StrCat("the file does not say how the recurrent state is "
                     "stored: ",
                     TraitsOf(state).name));
    return;
  }
  const std::optional<std::string> name = file.OptionalString(kKeys);
  if (!name.has_value()) return;
  const std::optional<Format> format = ParseStateType(*name);
  if (format.has_value()) {
    state = *format;
    return;
  }
  file.Complain(kKeys, absl::StrCat("is \"", Printable(*name),
                                    "\"; allowed: float32, bfloat16, float16, "
                                    "auto"));
}

}  // namespace mansard::model
