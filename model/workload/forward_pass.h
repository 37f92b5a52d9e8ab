// The work of one step: groups of like requests.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"

namespace mansard::model {

enum class Role {
  kPrefill,  // Logits for the last token of each request.
  kDecode,   // Logits for every new token.
};

struct RequestGroup {
  Role role = Role::kDecode;
  int64_t request_count = 0;
  int64_t new_tokens = 0;    // Per request, computed in this pass.
  int64_t prior_tokens = 0;  // Per request, cached already.
  // Per request, positions of an encoder that cross-attention sees.
  int64_t encoder_tokens = 0;

  int64_t context() const { return prior_tokens + new_tokens; }
  int64_t total_new_tokens() const { return request_count * new_tokens; }
  // The first pass of a prompt makes the encoder's keys and values; later ones
  // find them cached.
  bool computes_encoder() const {
    return role == Role::kPrefill && prior_tokens == 0 && encoder_tokens > 0;
  }

  bool operator==(const RequestGroup&) const = default;
};

// Two, of prompts and of decodes, are what most passes have: they need no
// memory of their own.
using RequestGroups = absl::InlinedVector<RequestGroup, 2>;

// How the tokens of a pass spread over the experts of a layer.
struct ExpertRouting {
  enum class Kind {
    kIndependent,  // Each token picks its experts at random, uniformly.
    kSpread,       // As evenly as can be.
    kHistogram,    // As `shares` says.
  };
  Kind kind = Kind::kIndependent;
  // kHistogram: the share of routed rows by expert, in any unit.
  std::vector<double> shares;

  // Distinct experts that `tokens` tokens touch, `per_token` each, of
  // `experts`. Independent: E (1 - (1 - k/E)^T), which is exact for draws
  // without replacement; spread: min(E, T k); histogram: those with a share,
  // k at least and T k at most.
  double DistinctExperts(int64_t tokens, int per_token, int experts) const;
};

// Tokens that the graph's own modules draft in this pass, after it, for the
// next one to verify.
struct Drafting {
  int draft_tokens = 0;  // For each decoding request; 0: none.
  // The share of drafts that are accepted where all before them were. Only
  // from the caller.
  std::optional<double> acceptance_rate = {};

  bool operator==(const Drafting&) const = default;
};

enum class Phase { kPrefill, kDecode, kMixed };
absl::string_view PhaseName(Phase phase);

class ForwardPass {
 public:
  static constexpr int64_t kMaxGroups = 1024;
  static constexpr int64_t kMaxRequests = 1'000'000;         // A group.
  static constexpr int64_t kMaxNewTokens = 10'000'000;       // A request.
  static constexpr int64_t kMaxTotalTokens = 1'000'000'000;  // A pass.
  static constexpr int kMaxDraftTokens = 64;                 // A request.

  // Rules: 1 to kMaxGroups groups, counts within the limits above, prior >= 0,
  // context at most `max_context`; encoder positions as new tokens are, or
  // none. Violations are below "groups[i]".
  static std::optional<ForwardPass> Create(RequestGroups groups,
                                           int64_t max_context,
                                           Violations& violations);
  // The same pass with another routing. Rules: shares are finite and not
  // negative, one at least is positive, and there are as many as `experts`
  // (0: the graph has none, and no shares are taken). Violations are at
  // "expert_shares".
  std::optional<ForwardPass> WithRouting(ExpertRouting routing, int experts,
                                         Violations& violations) const;

  // The same pass with drafts. Rules: 0 to kMaxDraftTokens of them; with any,
  // the graph has modules (`modules` is how many) and the pass decodes. The
  // rate lies in 0 to 1, and every group that decodes verifies as many drafts
  // as the pass makes (new tokens = 1 + drafts): the benefit is never counted
  // without its cost. Without a rate a pass may verify and draft different
  // numbers. Violations are at "draft_token_count" and "acceptance_rate".
  std::optional<ForwardPass> WithDrafting(const Drafting& drafting, int modules,
                                          Violations& violations) const;
  // Adds a violation at "groups[i].encoder_token_count" for each group with
  // encoder positions: of a graph without cross-attention.
  void RefuseEncoder(Violations& violations) const;
  // What a module computes for one draft, the number `draft` from 0, of the
  // requests that decode. A module's first run is over all new tokens, so that
  // its own cache is complete; modules are used in turn, and each further run
  // is over the last draft alone. Prompts are left out. Precondition: the pass
  // drafts, `modules` > 0.
  ForwardPass DraftRun(int draft, int modules) const;
  // What one of `parts` ranks or micro-batches computes that share the requests
  // of each group as evenly as can be: the largest part. Routing is left out.
  ForwardPass LargestPart(int parts) const;
  // What one of `ranks` computes that share each request's positions: of a
  // prompt its part of the new tokens, with as many positions before them as
  // make the mean of all parts' causal pairs; of a decode all new tokens, and
  // the rank's part of the context. Routing is left out.
  ForwardPass ContextPart(int ranks) const;
  // Micro-batches that are not empty where each group has LargestPart(parts).
  int PartsNeeded(int parts) const;
  // Tokens that one decoding request gains by the pass: its own and the drafts
  // expected to be accepted, 1 + a + a^2 + ... + a^n. Empty without a rate.
  std::optional<double> ExpectedTokensPerDecode() const;

  const RequestGroups& groups() const { return groups_; }
  const ExpertRouting& routing() const { return routing_; }
  const Drafting& drafting() const { return drafting_; }
  Phase phase() const { return phase_; }
  int64_t total_new_tokens() const { return total_new_tokens_; }
  int64_t request_count() const { return request_count_; }
  int64_t prefill_tokens() const { return prefill_tokens_; }
  // Positions that need logits: 1 a prefill request, every new decode token.
  int64_t logit_positions() const { return logit_positions_; }
  // Encoder positions of all requests; 0: layers that attend to them are
  // skipped.
  int64_t encoder_tokens() const { return encoder_tokens_; }

 private:
  explicit ForwardPass(RequestGroups groups);
  RequestGroups groups_;
  ExpertRouting routing_;
  Drafting drafting_;
  Phase phase_;
  int64_t total_new_tokens_ = 0;
  int64_t request_count_ = 0;
  int64_t prefill_tokens_ = 0;
  int64_t logit_positions_ = 0;
  int64_t encoder_tokens_ = 0;
};

}  // namespace mansard::model
