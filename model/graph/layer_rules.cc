// Rules of recurrent mixers and feed-forwards.
#include "absl/strings/str_cat.h"
#include "model/graph/graph_rules.h"

namespace mansard::model {
namespace {

void CheckProduct(absl::string_view field, int64_t size, absl::string_view of,
                  int64_t count, Violations& violations) {
  if (static_cast<double>(count) * static_cast<double>(size) > kMaxWidth) {
    violations.Add(
        field, absl::StrCat("is ", size, "; times ", of, ", ", count,
                            ", it may be up to ", static_cast<int>(kMaxWidth)));
  }
}

// `value` is 1 or more where the mixer has that part, else 0.
void CheckRank(absl::string_view field, int value, bool has_part,
               absl::string_view where, Violations& violations) {
  if (has_part) {
    violations.CheckRange(field, value, 1, kMaxWidth);
  } else if (value != 0) {
    violations.Add(field,
                   absl::StrCat("is ", value, "; must be 0 but for ", where));
  }
}

void CheckRecurrentHeads(const RecurrentMixer& m, Violations& violations) {
  const bool heads_ok =
      violations.CheckRange("head_count", m.heads, 1, kMaxWidth);
  const bool key_heads_ok =
      violations.CheckRange("key_head_count", m.key_heads, 1, kMaxHeads);
  if (heads_ok && key_heads_ok && m.heads % m.key_heads != 0) {
    violations.Add(
        "key_head_count",
        absl::StrCat("is ", m.key_heads, "; must divide the heads, ", m.heads));
  } else if (heads_ok && key_heads_ok && m.key_heads != m.heads &&
             m.rule == StateRule::kKeyGatedDelta) {
    violations.Add("key_head_count",
                   absl::StrCat("is ", m.key_heads,
                                "; with one decay a key element it is as the "
                                "heads, ",
                                m.heads));
  } else if (m.rule == StateRule::kMamba && key_heads_ok && m.key_heads != 1) {
    violations.Add("key_head_count",
                   absl::StrCat("is ", m.key_heads, "; must be 1 for Mamba"));
  }
  if (violations.CheckRange("key_size", m.key_size, 1, kMaxHeads) &&
      key_heads_ok) {
    CheckProduct("key_size", m.key_size, "the key heads", m.key_heads,
                 violations);
  }
  if (!violations.CheckRange("value_size", m.value_size, 1, kMaxHeads)) return;
  if (m.rule == StateRule::kMamba && m.value_size != 1) {
    violations.Add("value_size",
                   absl::StrCat("is ", m.value_size, "; must be 1 for Mamba"));
  } else if (heads_ok) {
    CheckProduct("value_size", m.value_size, "the heads", m.heads, violations);
  }
}

// Adds to "dense" or "experts".
struct CheckFeedForward {
  Violations& violations;

  void operator()(const NoFeedForward& /*feed_forward*/) const {}

  void operator()(const DenseFeedForward& feed_forward) const {
    violations.CheckRange("dense.intermediate_size",
                          static_cast<double>(feed_forward.intermediate_size),
                          1, kMaxWidth);
  }

  void operator()(const MixtureOfExperts& experts) const {
    Violations::Scope scope(violations, "experts");
    const bool count_ok = violations.CheckRange(
        "expert_count", experts.expert_count, 1, kMaxHeads);
    if (violations.CheckRange(
            "expert_intermediate_size",
            static_cast<double>(experts.expert_intermediate_size), 1,
            kMaxWidth) &&
        count_ok) {
      CheckProduct("expert_intermediate_size", experts.expert_intermediate_size,
                   "the experts", experts.expert_count, violations);
    }
    violations.CheckRange("shared_intermediate_size",
                          static_cast<double>(experts.shared_intermediate_size),
                          0, kMaxWidth);
    if (violations.CheckRange("experts_per_token_count",
                              experts.experts_per_token, 1, kMaxHeads) &&
        count_ok && experts.experts_per_token > experts.expert_count) {
      violations.Add(
          "experts_per_token_count",
          absl::StrCat("is ", experts.experts_per_token, "; there are ",
                       experts.expert_count, " experts"));
    }
    violations.CheckRange(
        "latent_size", static_cast<double>(experts.latent_size), 0, kMaxWidth);
    Needs("latent_norm", experts.latent_norm, experts.latent_size != 0,
          "a latent size");
    const bool shared = experts.shared_intermediate_size != 0;
    Needs("shared_expert_gate", experts.shared_expert_gate, shared,
          "shared experts");
    Needs("separate_norms", experts.separate_norms, shared, "shared experts");
  }

 private:
  void Needs(absl::string_view field, bool flag, bool met,
             absl::string_view what) const {
    if (flag && !met) {
      violations.Add(field,
                     absl::StrCat("is true; must be false without ", what));
    }
  }
};

}  // namespace

void CheckRecurrentRules(const RecurrentMixer& mixer, Violations& violations) {
  Violations::Scope scope(violations, "recurrent");
  CheckRecurrentHeads(mixer, violations);
  violations.CheckRange("convolution_token_count", mixer.conv_kernel, 0,
                        kMaxHeads);
  if (mixer.conv_bias && mixer.conv_kernel == 0) {
    violations.Add("convolution_bias",
                   "is true; must be false without a convolution");
  }
  CheckRank("gate_rank", mixer.gate_rank, mixer.gate == OutputGate::kLowRank,
            "a low-rank gate", violations);
  CheckRank("decay_rank", mixer.decay_rank,
            mixer.rule == StateRule::kKeyGatedDelta ||
                mixer.rule == StateRule::kMamba,
            "a decay a key element, and Mamba", violations);
  if (mixer.inner_norms && mixer.rule != StateRule::kMamba) {
    violations.Add("inner_norms", "is true; must be false but for Mamba");
  }
}

void CheckFeedForwardRules(const FeedForward& feed_forward,
                           Violations& violations) {
  std::visit(CheckFeedForward{violations}, feed_forward);
}

}  // namespace mansard::model
