// The parameters of every formula, as a table: name on the wire and place in
// the structs of kernel_stack.h. Only family_io.cc includes it.
#pragma once

#include <optional>
#include <type_traits>

#include "model/hardware/kernel_stack.h"
#include "model/io/sourced_io.h"

namespace mansard::model::family_internal {

// One parameter of a formula: its name on the wire and its place in the
// domain's struct. `get` is empty where the family has no such parameter.
template <class Family>
struct Parameter {
  const char* name;
  const char* group;  // "": required.
  std::optional<double> (*get)(const Family&);
  void (*set)(Family&, double);
};

template <auto member>
struct Field;
template <class Family, class Value, Value Family::*member>
struct Field<member> {
  static std::optional<double> Get(const Family& family) {
    return sourced_internal::ToBase(family.*member);
  }
  static void Set(Family& family, double value) {
    family.*member = sourced_internal::FromBase<Value>(value);
  }
};

template <int head_size>
struct Head {
  static std::optional<double> Get(const PrefillAttentionFamily& family) {
    for (const auto& [listed, fraction] : family.peak_fractions) {
      if (listed == head_size) return fraction;
    }
    return std::nullopt;
  }
  // Parameters are set in the table's order, so heads end up ascending.
  static void Set(PrefillAttentionFamily& family, double value) {
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
    if (family.lines.empty() || family.lines.back().protocol != protocol) {
      family.lines.push_back({{}, {}, {}, protocol});
    }
    Line& line = family.lines.back();
    using Value = std::remove_reference_t<decltype(line.*member)>;
    line.*member = Value::Of(value);
  }
};

template <auto member, class Family>
constexpr Parameter<Family> Required(const char* name) {
  return {name, "", &Field<member>::Get, &Field<member>::Set};
}
template <int head_size>
constexpr Parameter<PrefillAttentionFamily> HeadOf(const char* name) {
  return {name, name, &Head<head_size>::Get, &Head<head_size>::Set};
}
template <Protocol protocol, auto member>
constexpr Parameter<CollectiveFamily> Of(const char* name, const char* group) {
  return {name, group, &OfLine<protocol, member>::Get,
          &OfLine<protocol, member>::Set};
}

template <class Family>
struct Formula;

template <>
struct Formula<GemmFamily> {
  using F = GemmFamily;
  static constexpr const char* kName = "roofline-gemm";
  static constexpr Parameter<F> kParameters[] = {
      Required<&F::launch, F>("launch_seconds"),
      Required<&F::wave, F>("wave_seconds"),
      Required<&F::peak_fraction, F>("peak_fraction_ratio"),
      Required<&F::hbm_fraction, F>("hbm_fraction_ratio"),
      Required<&F::l2_feed, F>("l2_feed_bytes_per_second"),
      Required<&F::tile_rows, F>("tile_rows"),
      Required<&F::tile_columns, F>("tile_columns"),
  };
};

template <>
struct Formula<TiledGemmFamily> {
  using F = TiledGemmFamily;
  static constexpr const char* kName = "tiled-gemm";
  static constexpr Parameter<F> kParameters[] = {
      Required<&F::launch, F>("launch_seconds"),
      Required<&F::wave, F>("wave_seconds"),
      Required<&F::split_cost, F>("split_seconds"),
      Required<&F::block_latency, F>("block_latency_seconds"),
      Required<&F::peak_fraction, F>("peak_fraction_ratio"),
      Required<&F::droop, F>("droop_ratio"),
      Required<&F::droop_time, F>("droop_seconds"),
      Required<&F::hbm_fraction, F>("hbm_fraction_ratio"),
      Required<&F::l2_feed, F>("l2_feed_bytes_per_second"),
      Required<&F::sm_hbm_feed, F>("sm_hbm_feed_bytes_per_second"),
      Required<&F::sm_smem_feed, F>("sm_smem_feed_bytes_per_second"),
      Required<&F::k_block_bytes, F>("k_block_bytes"),
  };
};

template <>
struct Formula<DecodeAttentionFamily> {
  using F = DecodeAttentionFamily;
  static constexpr const char* kName = "roofline-attention-decode";
  static constexpr Parameter<F> kParameters[] = {
      Required<&F::launch, F>("launch_seconds"),
      Required<&F::combine, F>("combine_seconds"),
      Required<&F::peak_fraction, F>("peak_fraction_ratio"),
      Required<&F::hbm_fraction, F>("hbm_fraction_ratio"),
      Required<&F::l2_feed, F>("l2_feed_bytes_per_second"),
  };
};

template <>
struct Formula<PrefillAttentionFamily> {
  using F = PrefillAttentionFamily;
  static constexpr const char* kName = "roofline-attention-prefill";
  static constexpr Parameter<F> kParameters[] = {
      Required<&F::launch, F>("launch_seconds"),
      Required<&F::hbm_fraction, F>("hbm_fraction_ratio"),
      HeadOf<64>("peak_fraction_head_64_ratio"),
      HeadOf<128>("peak_fraction_head_128_ratio"),
      HeadOf<192>("peak_fraction_head_192_ratio"),
      HeadOf<256>("peak_fraction_head_256_ratio"),
  };
};

template <>
struct Formula<ElementwiseFamily> {
  using F = ElementwiseFamily;
  static constexpr const char* kName = "roofline-elementwise";
  static constexpr Parameter<F> kParameters[] = {
      Required<&F::launch, F>("launch_seconds"),
      Required<&F::hbm_fraction, F>("hbm_fraction_ratio"),
      Required<&F::l2_feed, F>("l2_feed_bytes_per_second"),
  };
};

template <>
struct Formula<CollectiveFamily> {
  using F = CollectiveFamily;
  static constexpr const char* kName = "protocol-lines";
  static constexpr Parameter<F> kParameters[] = {
      Of<Protocol::kLl, &Line::alpha>("ll_alpha_seconds", "ll"),
      Of<Protocol::kLl, &Line::step>("ll_step_seconds", "ll"),
      Of<Protocol::kLl, &Line::bus>("ll_bus_bytes_per_second", "ll"),
      Of<Protocol::kLl128, &Line::alpha>("ll128_alpha_seconds", "ll128"),
      Of<Protocol::kLl128, &Line::step>("ll128_step_seconds", "ll128"),
      Of<Protocol::kLl128, &Line::bus>("ll128_bus_bytes_per_second", "ll128"),
      Of<Protocol::kSimple, &Line::alpha>("simple_alpha_seconds", "simple"),
      Of<Protocol::kSimple, &Line::step>("simple_step_seconds", "simple"),
      Of<Protocol::kSimple, &Line::bus>("simple_bus_bytes_per_second",
                                        "simple"),
  };
};

}  // namespace mansard::model::family_internal
