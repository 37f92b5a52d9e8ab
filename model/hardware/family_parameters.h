// The parameters of every formula, as a table: name with its unit, range, and
// place in the structs of kernel_families.h. What reads, checks and fits
// families goes by it.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "model/hardware/kernel_families.h"

namespace mansard::model {

enum class Range {
  kTime,      // 0 or more.
  kPositive,  // Rates, sizes.
  kFraction,  // Above 0, at most 1.
  kShare,     // 0 to 1.
  kCount,     // 0 or more.
};

// The group of parameters that stand for their default where they are not
// given.
inline constexpr char kMayBeAbsent[] = "-";

// One parameter of a formula: its name on the wire and its place in the
// domain's struct. `get` is empty where the family has no such parameter.
template <class Family>
struct Parameter {
  const char* name;
  // "": required. Others: groups whole or absent, one at least; kMayBeAbsent.
  const char* group;
  Range range;
  std::optional<double> (*get)(const Family&);
  void (*set)(Family&, double);
};

namespace family_internal {

template <class Value>
double ToNumber(const Value& value) {
  if constexpr (std::is_same_v<Value, double>) {
    return value;
  } else {
    return value.value();
  }
}
template <class Value>
Value FromNumber(double value) {
  if constexpr (std::is_same_v<Value, double>) {
    return value;
  } else {
    return Value::Of(value);
  }
}

template <auto member>
struct Field;
template <class Family, class Value, Value Family::*member>
struct Field<member> {
  static std::optional<double> Get(const Family& family) {
    return ToNumber(family.*member);
  }
  static void Set(Family& family, double value) {
    family.*member = FromNumber<Value>(value);
  }
};

template <class Family, int head_size>
struct Head {
  static std::optional<double> Get(const Family& family) {
    for (const auto& [listed, fraction] : family.peak_fractions) {
      if (listed == head_size) return fraction;
    }
    return std::nullopt;
  }
  // Parameters are set in the table's order, so heads end up ascending.
  static void Set(Family& family, double value) {
    for (auto& [listed, fraction] : family.peak_fractions) {
      if (listed == head_size) {
        fraction = value;
        return;
      }
    }
    family.peak_fractions.emplace_back(head_size, value);
  }
};

using Protocol = CollectiveFamily::Protocol;
using Line = CollectiveFamily::Line;

template <Protocol protocol, auto member>
struct OfLine {
  static std::optional<double> Get(const CollectiveFamily& family) {
    for (const Line& line : family.lines) {
      if (line.protocol == protocol) return (line.*member).value();
    }
    return std::nullopt;
  }
  static void Set(CollectiveFamily& family, double value) {
    using Value = std::remove_reference_t<decltype(Line{}.*member)>;
    for (Line& line : family.lines) {
      if (line.protocol == protocol) {
        line.*member = Value::Of(value);
        return;
      }
    }
    family.lines.push_back({{}, {}, {}, protocol});
    family.lines.back().*member = Value::Of(value);
  }
};

// 0 where it is not given.
template <auto member>
struct OrZero;
template <class Family, class Value, Value Family::*member>
struct OrZero<member> {
  static std::optional<double> Get(const Family& family) {
    const double value = ToNumber(family.*member);
    if (value == 0) return std::nullopt;
    return value;
  }
};

// One of an array of bytes.
template <auto member, size_t index>
struct Entry;
template <class Family, class Value, size_t index, Value Family::*member>
struct Entry<member, index> {
  static std::optional<double> Get(const Family& family) {
    return (family.*member)[index].value();
  }
  static void Set(Family& family, double value) {
    (family.*member)[index] = Bytes::Of(value);
  }
};

template <auto member, class Family>
constexpr Parameter<Family> Required(const char* name, Range range) {
  return {name, "", range, &Field<member>::Get, &Field<member>::Set};
}
template <auto member, class Family>
constexpr Parameter<Family> Optional(const char* name, Range range) {
  return {name, kMayBeAbsent, range, &OrZero<member>::Get, &Field<member>::Set};
}
template <auto member, size_t index, class Family>
constexpr Parameter<Family> EntryOf(const char* name) {
  return {name, "", Range::kCount, &Entry<member, index>::Get,
          &Entry<member, index>::Set};
}
template <int head_size, class Family>
constexpr Parameter<Family> HeadOf(const char* name) {
  return {name, name, Range::kFraction, &Head<Family, head_size>::Get,
          &Head<Family, head_size>::Set};
}
template <Protocol protocol, auto member>
constexpr Parameter<CollectiveFamily> Of(const char* name, const char* group,
                                         Range range) {
  return {name, group, range, &OfLine<protocol, member>::Get,
          &OfLine<protocol, member>::Set};
}

}  // namespace family_internal

template <class Family>
struct Formula;

template <>
struct Formula<GemmFamily> {
  using F = GemmFamily;
  static constexpr const char* kName = "roofline-gemm";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::wave, F>("wave_seconds", Range::kTime),
      family_internal::Required<&F::peak_fraction, F>("peak_fraction_ratio",
                                                      Range::kFraction),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::l2_feed, F>("l2_feed_bytes_per_second",
                                                Range::kPositive),
      family_internal::Required<&F::tile_rows, F>("tile_rows",
                                                  Range::kPositive),
      family_internal::Required<&F::tile_columns, F>("tile_columns",
                                                     Range::kPositive),
      family_internal::Optional<&F::copied_weights, F>("copied_weights_ratio",
                                                       Range::kShare),
      family_internal::Optional<&F::whole_rows, F>("whole_rows", Range::kCount),
  };
};

template <>
struct Formula<TiledGemmFamily> {
  using F = TiledGemmFamily;
  static constexpr const char* kName = "tiled-gemm";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::wave, F>("wave_seconds", Range::kTime),
      family_internal::Required<&F::split_cost, F>("split_seconds",
                                                   Range::kTime),
      family_internal::Required<&F::block_latency, F>("block_latency_seconds",
                                                      Range::kTime),
      family_internal::Required<&F::peak_fraction, F>("peak_fraction_ratio",
                                                      Range::kFraction),
      family_internal::Required<&F::droop, F>("droop_ratio", Range::kShare),
      family_internal::Required<&F::droop_time, F>("droop_seconds",
                                                   Range::kPositive),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::l2_feed, F>("l2_feed_bytes_per_second",
                                                Range::kPositive),
      family_internal::Required<&F::sm_hbm_feed, F>(
          "sm_hbm_feed_bytes_per_second", Range::kPositive),
      family_internal::Required<&F::sm_smem_feed, F>(
          "sm_smem_feed_bytes_per_second", Range::kPositive),
      family_internal::Required<&F::k_block_bytes, F>("k_block_bytes",
                                                      Range::kPositive),
  };
};

template <>
struct Formula<DecodeAttentionFamily> {
  using F = DecodeAttentionFamily;
  static constexpr const char* kName = "roofline-attention-decode";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::combine, F>("combine_seconds",
                                                Range::kTime),
      family_internal::Required<&F::peak_fraction, F>("peak_fraction_ratio",
                                                      Range::kFraction),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::l2_feed, F>("l2_feed_bytes_per_second",
                                                Range::kPositive),
  };
};

template <>
struct Formula<PrefillAttentionFamily> {
  using F = PrefillAttentionFamily;
  static constexpr const char* kName = "roofline-attention-prefill";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::HeadOf<64, F>("peak_fraction_head_64_ratio"),
      family_internal::HeadOf<128, F>("peak_fraction_head_128_ratio"),
      family_internal::HeadOf<192, F>("peak_fraction_head_192_ratio"),
      family_internal::HeadOf<256, F>("peak_fraction_head_256_ratio"),
  };
};

template <>
struct Formula<ElementwiseFamily> {
  using F = ElementwiseFamily;
  static constexpr const char* kName = "roofline-elementwise";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::l2_feed, F>("l2_feed_bytes_per_second",
                                                Range::kPositive),
  };
};

template <>
struct Formula<CollectiveFamily> {
  using F = CollectiveFamily;
  using Line = CollectiveFamily::Line;
  using Protocol = CollectiveFamily::Protocol;
  static constexpr const char* kName = "protocol-lines";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Of<Protocol::kLl, &Line::alpha>("ll_alpha_seconds", "ll",
                                                       Range::kTime),
      family_internal::Of<Protocol::kLl, &Line::step>("ll_step_seconds", "ll",
                                                      Range::kTime),
      family_internal::Of<Protocol::kLl, &Line::bus>("ll_bus_bytes_per_second",
                                                     "ll", Range::kPositive),
      family_internal::Of<Protocol::kLl128, &Line::alpha>(
          "ll128_alpha_seconds", "ll128", Range::kTime),
      family_internal::Of<Protocol::kLl128, &Line::step>("ll128_step_seconds",
                                                         "ll128", Range::kTime),
      family_internal::Of<Protocol::kLl128, &Line::bus>(
          "ll128_bus_bytes_per_second", "ll128", Range::kPositive),
      family_internal::Of<Protocol::kSimple, &Line::alpha>(
          "simple_alpha_seconds", "simple", Range::kTime),
      family_internal::Of<Protocol::kSimple, &Line::step>(
          "simple_step_seconds", "simple", Range::kTime),
      family_internal::Of<Protocol::kSimple, &Line::bus>(
          "simple_bus_bytes_per_second", "simple", Range::kPositive),
      family_internal::Of<Protocol::kTree, &Line::alpha>("tree_alpha_seconds",
                                                         "tree", Range::kTime),
      family_internal::Of<Protocol::kTree, &Line::step>("tree_step_seconds",
                                                        "tree", Range::kTime),
      family_internal::Of<Protocol::kTree, &Line::bus>(
          "tree_bus_bytes_per_second", "tree", Range::kPositive),
      family_internal::Of<Protocol::kInSwitch, &Line::alpha>(
          "in_switch_alpha_seconds", "in_switch", Range::kTime),
      family_internal::Of<Protocol::kInSwitch, &Line::step>(
          "in_switch_step_seconds", "in_switch", Range::kTime),
      family_internal::Of<Protocol::kInSwitch, &Line::bus>(
          "in_switch_bus_bytes_per_second", "in_switch", Range::kPositive),
      family_internal::Optional<&F::own_share, F>("own_share_ratio",
                                                  Range::kCount),
      family_internal::Optional<&F::crowding, F>("crowding_exponent",
                                                 Range::kShare),
      family_internal::Optional<&F::in_switch_ranks, F>("in_switch_ranks",
                                                        Range::kCount),
  };
};

template <>
struct Formula<SplitDecodeFamily> {
  using F = SplitDecodeFamily;
  static constexpr const char* kName = "split-kv";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::start, F>("start_seconds", Range::kTime),
      family_internal::Required<&F::head_share, F>("head_share_ratio",
                                                   Range::kShare),
      family_internal::Required<&F::window_start, F>("window_start_seconds",
                                                     Range::kTime),
      family_internal::Required<&F::block_latency, F>("block_latency_seconds",
                                                      Range::kTime),
      family_internal::Required<&F::combine, F>("combine_seconds",
                                                Range::kTime),
      family_internal::Required<&F::combine_part, F>("combine_part_seconds",
                                                     Range::kTime),
      family_internal::Required<&F::query, F>("query_seconds", Range::kTime),
      family_internal::Required<&F::peak_fraction, F>("peak_fraction_ratio",
                                                      Range::kFraction),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::l2_feed, F>("l2_feed_bytes_per_second",
                                                Range::kPositive),
      family_internal::Required<&F::part_feed, F>("part_feed_bytes_per_second",
                                                  Range::kPositive),
      family_internal::Required<&F::wide_feed, F>("wide_feed_ratio",
                                                  Range::kPositive),
      family_internal::Required<&F::occupancy, F>("occupancy",
                                                  Range::kPositive),
      family_internal::Required<&F::block_tokens, F>("block_tokens",
                                                     Range::kPositive),
      family_internal::Required<&F::head_rows, F>("head_rows",
                                                  Range::kPositive),
      family_internal::Required<&F::group_limit, F>("group_limit",
                                                    Range::kCount),
      family_internal::Required<&F::window_group_limit, F>("window_group_limit",
                                                           Range::kCount),
      family_internal::Required<&F::alone_launch, F>("alone_launch_ratio",
                                                     Range::kPositive),
      family_internal::Required<&F::alone_start, F>("alone_start_ratio",
                                                    Range::kPositive),
      family_internal::Required<&F::warm_share, F>("warm_share_ratio",
                                                   Range::kShare),
  };
};

template <>
struct Formula<TiledPrefillFamily> {
  using F = TiledPrefillFamily;
  static constexpr const char* kName = "tiled-prefill";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::start, F>("start_seconds", Range::kTime),
      family_internal::HeadOf<64, F>("peak_fraction_head_64_ratio"),
      family_internal::HeadOf<128, F>("peak_fraction_head_128_ratio"),
      family_internal::HeadOf<192, F>("peak_fraction_head_192_ratio"),
      family_internal::HeadOf<256, F>("peak_fraction_head_256_ratio"),
      family_internal::HeadOf<512, F>("peak_fraction_head_512_ratio"),
      family_internal::Required<&F::solo, F>("solo_ratio", Range::kShare),
      family_internal::Required<&F::window_blocks, F>("window_blocks",
                                                      Range::kCount),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::append_passes, F>("append_passes",
                                                      Range::kCount),
      family_internal::Required<&F::append_token, F>("append_token_seconds",
                                                     Range::kTime),
      family_internal::Required<&F::append_elements, F>("append_elements",
                                                        Range::kPositive),
      family_internal::Required<&F::droop, F>("droop_ratio", Range::kShare),
      family_internal::Required<&F::droop_time, F>("droop_seconds",
                                                   Range::kPositive),
      family_internal::Required<&F::packs_heads, F>("packs_heads",
                                                    Range::kShare),
      family_internal::Required<&F::splits_positions, F>("splits_positions",
                                                         Range::kShare),
      family_internal::Required<&F::decodes_as_prompts, F>("decodes_as_prompts",
                                                           Range::kShare),
  };
};

template <>
struct Formula<ExpertGemmFamily> {
  using F = ExpertGemmFamily;
  static constexpr const char* kName = "expert-gemm";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::launch, F>("launch_seconds", Range::kTime),
      family_internal::Required<&F::sort, F>("sort_seconds", Range::kTime),
      family_internal::Required<&F::wave, F>("wave_seconds", Range::kTime),
      family_internal::Required<&F::block_latency, F>("block_latency_seconds",
                                                      Range::kTime),
      family_internal::Required<&F::peak_fraction, F>("peak_fraction_ratio",
                                                      Range::kFraction),
      family_internal::Required<&F::hbm_fraction, F>("hbm_fraction_ratio",
                                                     Range::kFraction),
      family_internal::Required<&F::l2_feed, F>("l2_feed_bytes_per_second",
                                                Range::kPositive),
      family_internal::Required<&F::sm_hbm_feed, F>(
          "sm_hbm_feed_bytes_per_second", Range::kPositive),
      family_internal::Required<&F::sm_smem_feed, F>(
          "sm_smem_feed_bytes_per_second", Range::kPositive),
      family_internal::Required<&F::k_block_bytes, F>("k_block_bytes",
                                                      Range::kPositive),
      family_internal::Required<&F::warm_share, F>("warm_share_ratio",
                                                   Range::kShare),
  };
};

template <>
struct Formula<DirectAllReduceFamily> {
  using F = DirectAllReduceFamily;
  static constexpr const char* kName = "direct-all-reduce";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::one_shot_alpha, F>("one_shot_alpha_seconds",
                                                       Range::kTime),
      family_internal::Required<&F::one_shot_step, F>("one_shot_step_seconds",
                                                      Range::kTime),
      family_internal::Required<&F::one_shot_bus, F>(
          "one_shot_bus_bytes_per_second", Range::kPositive),
      family_internal::Required<&F::two_shot_alpha, F>("two_shot_alpha_seconds",
                                                       Range::kTime),
      family_internal::Required<&F::two_shot_step, F>("two_shot_step_seconds",
                                                      Range::kTime),
      family_internal::Required<&F::two_shot_bus, F>(
          "two_shot_bus_bytes_per_second", Range::kPositive),
      family_internal::Optional<&F::two_shot_in_switch, F>("two_shot_in_switch",
                                                           Range::kShare),
      family_internal::EntryOf<&F::one_shot_limit, 0, F>(
          "one_shot_limit_2_bytes"),
      family_internal::EntryOf<&F::one_shot_limit, 1, F>(
          "one_shot_limit_4_bytes"),
      family_internal::EntryOf<&F::one_shot_limit, 2, F>(
          "one_shot_limit_8_bytes"),
      family_internal::EntryOf<&F::two_shot_start, 0, F>(
          "two_shot_start_2_bytes"),
      family_internal::EntryOf<&F::two_shot_start, 1, F>(
          "two_shot_start_4_bytes"),
      family_internal::EntryOf<&F::two_shot_start, 2, F>(
          "two_shot_start_8_bytes"),
      family_internal::EntryOf<&F::two_shot_limit, 0, F>(
          "two_shot_limit_2_bytes"),
      family_internal::EntryOf<&F::two_shot_limit, 1, F>(
          "two_shot_limit_4_bytes"),
      family_internal::EntryOf<&F::two_shot_limit, 2, F>(
          "two_shot_limit_8_bytes"),
  };
};

template <>
struct Formula<ExpertExchangeFamily> {
  using F = ExpertExchangeFamily;
  static constexpr const char* kName = "expert-exchange";
  static constexpr Parameter<F> kParameters[] = {
      family_internal::Required<&F::alpha, F>("alpha_seconds", Range::kTime),
      family_internal::Required<&F::network_alpha, F>("network_alpha_seconds",
                                                      Range::kTime),
      family_internal::Required<&F::network_step, F>("network_step_seconds",
                                                     Range::kTime),
      family_internal::Required<&F::token, F>("token_seconds", Range::kTime),
      family_internal::Required<&F::row, F>("row_seconds", Range::kTime),
      family_internal::Required<&F::sm_feed, F>("sm_feed_bytes_per_second",
                                                Range::kPositive),
      family_internal::Required<&F::token_feed, F>(
          "token_feed_bytes_per_second", Range::kPositive),
      family_internal::Required<&F::bus, F>("bus_bytes_per_second",
                                            Range::kPositive),
      family_internal::Required<&F::network, F>("network_bytes_per_second",
                                                Range::kPositive),
      family_internal::Required<&F::crowding, F>("crowding_exponent",
                                                 Range::kShare),
      family_internal::Required<&F::per_rank, F>("per_rank", Range::kShare),
      family_internal::Required<&F::multiprocessors, F>("multiprocessors",
                                                        Range::kCount),
  };
};

// The sizes of the ops that a formula serves.
template <class Family>
std::vector<SizeName> FormulaSizes() {
  using S = SizeName;
  if constexpr (std::is_same_v<Family, GemmFamily>) {
    return {S::kM, S::kN, S::kK, S::kBatch, S::kRows, S::kExperts};
  } else if constexpr (std::is_same_v<Family, TiledGemmFamily>) {
    return {S::kM, S::kN, S::kK, S::kBatch};
  } else if constexpr (std::is_same_v<Family, ExpertGemmFamily>) {
    return {S::kRows, S::kExperts, S::kN, S::kK};
  } else if constexpr (std::is_same_v<Family, ElementwiseFamily>) {
    return {S::kMovedBytes};
  } else if constexpr (std::is_same_v<Family, CollectiveFamily> ||
                       std::is_same_v<Family, DirectAllReduceFamily>) {
    return {S::kMessageBytes, S::kRanks, S::kNodes};
  } else if constexpr (std::is_same_v<Family, ExpertExchangeFamily>) {
    return {S::kTokens, S::kColumns, S::kExpertsPerToken, S::kRanks, S::kNodes};
  } else {
    static_assert(std::is_same_v<Family, DecodeAttentionFamily> ||
                  std::is_same_v<Family, PrefillAttentionFamily> ||
                  std::is_same_v<Family, SplitDecodeFamily> ||
                  std::is_same_v<Family, TiledPrefillFamily>);
    return {S::kRequests,   S::kNewTokens, S::kContextTokens,
            S::kQueryHeads, S::kKvHeads,   S::kHeadSize};
  }
}

}  // namespace mansard::model
