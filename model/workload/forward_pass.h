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

  const std::vector<RequestGroup>& groups() const { return groups_; }
  Phase phase() const { return phase_; }
  int64_t total_new_tokens() const { return total_new_tokens_; }
  int64_t request_count() const { return request_count_; }
  int64_t prefill_tokens() const { return prefill_tokens_; }
  // Positions that need logits: 1 a prefill request, every new decode token.
  int64_t logit_positions() const { return logit_positions_; }

 private:
  explicit ForwardPass(std::vector<RequestGroup> groups);
  std::vector<RequestGroup> groups_;
  Phase phase_;
  int64_t total_new_tokens_ = 0;
  int64_t request_count_ = 0;
  int64_t prefill_tokens_ = 0;
  int64_t logit_positions_ = 0;
};

}  // namespace mansard::model
