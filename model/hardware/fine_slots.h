// The tables of FineFamilies by name: what op kind each serves, and what its
// cases are called.
#pragma once

#include <type_traits>

#include "model/hardware/fine_families.h"

namespace mansard::model {

enum class SlotKey {
  kFormat,  // Of cache, weights or result, as FineFamilies says.
  kTier,
  kUse,  // An op kind for each case.
};

template <class Table>
struct FineSlot {
  const char* op_kind;  // Of a binding; of kUse: none, the case's name is it.
  SlotKey key;
  Table FineFamilies::*member;
};

template <class Visit>
void VisitFine(const Visit& visit) {
  using F = FineFamilies;
  const auto slot = [&](const char* op_kind, SlotKey key, auto member) {
    visit(FineSlot<std::remove_reference_t<decltype(F{}.*member)>>{op_kind, key,
                                                                   member});
  };
  slot("attention_decode", SlotKey::kFormat, &F::split_decode);
  slot("latent_decode", SlotKey::kFormat, &F::latent_decode);
  slot("attention_prefill", SlotKey::kFormat, &F::tiled_prefill);
  slot("latent_prefill", SlotKey::kFormat, &F::latent_prefill);
  slot("narrow_prefill", SlotKey::kFormat, &F::narrow_prefill);
  slot("plain_gemm", SlotKey::kFormat, &F::plain_gemm);
  slot("experts", SlotKey::kFormat, &F::experts);
  slot("widened_experts", SlotKey::kFormat, &F::widened_experts);
  slot("expert_elementwise", SlotKey::kFormat, &F::expert_elementwise);
  slot("quantize", SlotKey::kFormat, &F::quantize);
  slot("", SlotKey::kUse, &F::elementwise);
  slot("direct_all_reduce", SlotKey::kTier, &F::direct_all_reduce);
  slot("all_reduce", SlotKey::kTier, &F::all_reduce);
  slot("all_gather", SlotKey::kTier, &F::all_gather);
  slot("reduce_scatter", SlotKey::kTier, &F::reduce_scatter);
  slot("all_to_all", SlotKey::kTier, &F::all_to_all);
  slot("broadcast", SlotKey::kTier, &F::broadcast);
  slot("send_receive", SlotKey::kTier, &F::send_receive);
  slot("expert_dispatch", SlotKey::kTier, &F::expert_dispatch);
  slot("expert_combine", SlotKey::kTier, &F::expert_combine);
  slot("expert_dispatch_low_latency", SlotKey::kTier,
       &F::expert_dispatch_low_latency);
  slot("expert_combine_low_latency", SlotKey::kTier,
       &F::expert_combine_low_latency);
}

}  // namespace mansard::model
