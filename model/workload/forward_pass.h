// The work of one step: groups of like requests.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

  int64_t context() const { return prior_tokens + new_tokens; }
  int64_t total_new_tokens() const { return request_count * new_tokens; }
};

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

enum class Phase { kPrefill, kDecode, kMixed };
absl::string_view PhaseName(Phase phase);

class ForwardPass {
 public:
  static constexpr int64_t kMaxGroups = 1024;
  static constexpr int64_t kMaxRequests = 1'000'000;         // A group.
  static constexpr int64_t kMaxNewTokens = 10'000'000;       // A request.
  static constexpr int64_t kMaxTotalTokens = 1'000'000'000;  // A pass.

  // Rules: 1 to kMaxGroups groups, counts within the limits above, prior >= 0,
  // context at most `max_context`. Violations are below "groups[i]".
  static std::optional<ForwardPass> Create(std::vector<RequestGroup> groups,
                                           int64_t max_context,
                                           Violations& violations);
  // The same pass with another routing. Rules: shares are finite and not
  // negative, one at least is positive, and there are as many as `experts`
  // (0: the graph has none, and no shares are taken). Violations are at
  // "expert_shares".
  std::optional<ForwardPass> WithRouting(ExpertRouting routing, int experts,
                                         Violations& violations) const;

  const std::vector<RequestGroup>& groups() const { return groups_; }
  const ExpertRouting& routing() const { return routing_; }
  Phase phase() const { return phase_; }
  int64_t total_new_tokens() const { return total_new_tokens_; }
  int64_t request_count() const { return request_count_; }
  int64_t prefill_tokens() const { return prefill_tokens_; }
  // Positions that need logits: 1 a prefill request, every new decode token.
  int64_t logit_positions() const { return logit_positions_; }

 private:
  explicit ForwardPass(std::vector<RequestGroup> groups);
  std::vector<RequestGroup> groups_;
  ExpertRouting routing_;
  Phase phase_;
  int64_t total_new_tokens_ = 0;
  int64_t request_count_ = 0;
  int64_t prefill_tokens_ = 0;
  int64_t logit_positions_ = 0;
};

}  // namespace mansard::model
