#include "model/workload/forward_pass.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

bool IsIn(int64_t value, int64_t minimum, int64_t maximum) {
  return value >= minimum && value <= maximum;
}

// Whether CheckGroup adds nothing. Nearly all groups are right, and passes are
// made by the million: no path is put together for them.
bool IsRight(const RequestGroup& group, int64_t max_context) {
  return IsIn(group.request_count, 1, ForwardPass::kMaxRequests) &&
         IsIn(group.new_tokens, 1, ForwardPass::kMaxNewTokens) &&
         IsIn(group.prior_tokens, 0, max_context - group.new_tokens) &&
         IsIn(group.encoder_tokens, 0, ForwardPass::kMaxNewTokens);
}

void CheckGroup(const RequestGroup& group, int64_t max_context,
                Violations& violations) {
  violations.CheckRange("request_count",
                        static_cast<double>(group.request_count), 1,
                        ForwardPass::kMaxRequests);
  const bool new_ok = violations.CheckRange(
      "new_token_count", static_cast<double>(group.new_tokens), 1,
      ForwardPass::kMaxNewTokens);
  // The context rule below is the upper limit.
  if (group.prior_tokens < 0) {
    violations.Add("prior_token_count", absl::StrCat("is ", group.prior_tokens,
                                                     "; must not be negative"));
  } else if (new_ok && group.prior_tokens > max_context - group.new_tokens) {
    violations.Add(
        "prior_token_count",
        absl::StrCat(
            "is ", group.prior_tokens, ", which with ", group.new_tokens,
            " new tokens exceeds the model's ",
            "longest context; allowed: 0 to ",
            max_context > group.new_tokens ? max_context - group.new_tokens : 0,
            " (max_context_token_count ", max_context, ")"));
  }
  violations.CheckRange("encoder_token_count",
                        static_cast<double>(group.encoder_tokens), 0,
                        ForwardPass::kMaxNewTokens);
}

}  // namespace

absl::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kPrefill:
      return "prefill";
    case Phase::kDecode:
      return "decode";
    case Phase::kMixed:
      return "mixed";
  }
  return "";
}

std::optional<ForwardPass> ForwardPass::Create(RequestGroups groups,
                                               int64_t max_context,
                                               Violations& violations) {
  const size_t before = violations.all().size();
  if (groups.empty() || groups.size() > kMaxGroups) {
    violations.Add("groups",
                   absl::StrCat("has ", groups.size(),
                                " entries; allowed: 1 to ", kMaxGroups));
    return std::nullopt;
  }
  double tokens = 0;  // Cannot overflow.
  double encoder_tokens = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!IsRight(groups[i], max_context)) {
      const Violations::Scope scope(violations, Indexed("groups", i));
      CheckGroup(groups[i], max_context, violations);
    }
    tokens += static_cast<double>(groups[i].request_count) *
              static_cast<double>(groups[i].new_tokens);
    encoder_tokens += static_cast<double>(groups[i].request_count) *
                      static_cast<double>(groups[i].encoder_tokens);
  }
  if (violations.all().size() != before) return std::nullopt;
  if (tokens > static_cast<double>(kMaxTotalTokens)) {
    violations.Add(
        "groups",
        absl::StrCat("compute ", static_cast<int64_t>(tokens),
                     " tokens in one pass; allowed: 1 to ", kMaxTotalTokens));
    return std::nullopt;
  }
  if (encoder_tokens > static_cast<double>(kMaxTotalTokens)) {
    violations.Add("groups",
                   absl::StrCat("have ", static_cast<int64_t>(encoder_tokens),
                                " encoder positions in one pass; allowed: 0 "
                                "to ",
                                kMaxTotalTokens));
    return std::nullopt;
  }
  return ForwardPass(std::move(groups));
}

void ForwardPass::RefuseEncoder(Violations& violations) const {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].encoder_tokens == 0) continue;
    violations.Add(
        absl::StrCat(Indexed("groups", i), ".encoder_token_count"),
        absl::StrCat("is ", groups_[i].encoder_tokens,
                     "; the model has no cross-attention, so it must be 0"));
  }
}

double ExpertRouting::DistinctExperts(int64_t tokens, int per_token,
                                      int experts) const {
  const double count = experts;
  const double rows = static_cast<double>(tokens) * per_token;
  switch (kind) {
    case Kind::kIndependent:
      return count *
             (1 - std::pow(1 - per_token / count, static_cast<double>(tokens)));
    case Kind::kSpread:
      return std::min(count, rows);
    case Kind::kHistogram: {
      const double touched = static_cast<double>(
          std::count_if(shares.begin(), shares.end(),
                        [](double share) { return share > 0; }));
      return std::min(rows, std::max<double>(touched, per_token));
    }
  }
  return count;
}

std::optional<ForwardPass> ForwardPass::WithRouting(
    ExpertRouting routing, int experts, Violations& violations) const {
  const size_t before = violations.all().size();
  const bool given = routing.kind == ExpertRouting::Kind::kHistogram;
  if (given && routing.shares.size() != static_cast<size_t>(experts)) {
    violations.Add("expert_shares", absl::StrCat("has ", routing.shares.size(),
                                                 " entries; the model has ",
                                                 experts, " experts a layer"));
  }
  double sum = 0;
  for (size_t i = 0; i < routing.shares.size(); ++i) {
    sum += routing.shares[i];
    if (!(routing.shares[i] >= 0) || std::isinf(routing.shares[i])) {
      violations.Add(Indexed("expert_shares", i),
                     absl::StrCat("is ", routing.shares[i],
                                  "; must be 0 or more, and finite"));
    }
  }
  if (given && sum == 0) {
    violations.Add("expert_shares", "are all 0; one at least must be more");
  }
  if (violations.all().size() != before) return std::nullopt;
  ForwardPass pass = *this;
  pass.routing_ = std::move(routing);
  return pass;
}

std::optional<ForwardPass> ForwardPass::WithDrafting(
    const Drafting& drafting, int modules, Violations& violations) const {
  const size_t before = violations.all().size();
  const int drafts = drafting.draft_tokens;
  if (violations.CheckRange("draft_token_count", drafts, 0, kMaxDraftTokens) &&
      drafts > 0) {
    if (modules == 0) {
      violations.Add("draft_token_count",
                     absl::StrCat("is ", drafts,
                                  "; the model has no modules for "
                                  "multi-token prediction, so it must be 0"));
    }
    if (phase_ == Phase::kPrefill) {
      violations.Add("draft_token_count",
                     absl::StrCat("is ", drafts,
                                  "; no group of the pass decodes, so it must "
                                  "be 0"));
    }
  }
  if (drafting.acceptance_rate.has_value()) {
    const double rate = *drafting.acceptance_rate;
    if (!(rate >= 0 && rate <= 1)) {
      violations.Add("acceptance_rate",
                     absl::StrCat("is ", rate, "; allowed: 0 to 1"));
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].role != Role::kDecode) continue;
      if (groups_[i].new_tokens == 1 + drafts) continue;
      violations.Add(
          "acceptance_rate",
          absl::StrCat("is given, but ", Indexed("groups", i),
                       ".new_token_count is ", groups_[i].new_tokens,
                       "; must be 1 + draft_token_count, ", 1 + drafts,
                       ", so that the pass verifies what it counts as gained"));
    }
  }
  if (violations.all().size() != before) return std::nullopt;
  ForwardPass pass = *this;
  pass.drafting_ = drafting;
  return pass;
}

ForwardPass ForwardPass::DraftRun(int draft, int modules) const {
  const int64_t earlier_runs = draft / modules;
  RequestGroups groups;
  for (const RequestGroup& group : groups_) {
    if (group.role != Role::kDecode) continue;
    RequestGroup run = group;
    if (earlier_runs > 0) {
      run.new_tokens = 1;
      run.prior_tokens = group.context() + earlier_runs - 1;
    }
    groups.push_back(run);
  }
  ForwardPass pass(std::move(groups));
  pass.routing_ = routing_;
  return pass;
}

ForwardPass ForwardPass::LargestPart(int parts) const {
  RequestGroups groups = groups_;
  for (RequestGroup& group : groups) {
    group.request_count = (group.request_count + parts - 1) / parts;
  }
  ForwardPass pass(std::move(groups));
  pass.drafting_ = drafting_;
  return pass;
}

ForwardPass ForwardPass::ContextPart(int ranks) const {
  RequestGroups groups = groups_;
  for (RequestGroup& group : groups) {
    switch (group.role) {
      case Role::kPrefill: {
        const int64_t mine = (group.new_tokens + ranks - 1) / ranks;
        group.prior_tokens += (group.new_tokens - mine) / 2;
        group.new_tokens = mine;
        break;
      }
      case Role::kDecode: {
        const int64_t mine = (group.context() + ranks - 1) / ranks;
        group.prior_tokens = std::max(mine - group.new_tokens, int64_t{0});
        break;
      }
    }
  }
  ForwardPass pass(std::move(groups));
  pass.drafting_ = drafting_;
  return pass;
}

int ForwardPass::PartsNeeded(int parts) const {
  int64_t needed = 1;
  for (const RequestGroup& group : groups_) {
    const int64_t part = (group.request_count + parts - 1) / parts;
    needed = std::max(needed, (group.request_count + part - 1) / part);
  }
  return static_cast<int>(needed);
}

std::optional<double> ForwardPass::ExpectedTokensPerDecode() const {
  if (!drafting_.acceptance_rate.has_value()) return std::nullopt;
  double expected = 1;
  double accepted = 1;
  for (int i = 0; i < drafting_.draft_tokens; ++i) {
    accepted *= *drafting_.acceptance_rate;
    expected += accepted;
  }
  return expected;
}

ForwardPass::ForwardPass(RequestGroups groups) : groups_(std::move(groups)) {
  bool prefills = false;
  bool decodes = false;
  for (const RequestGroup& group : groups_) {
    total_new_tokens_ += group.total_new_tokens();
    request_count_ += group.request_count;
    encoder_tokens_ += group.request_count * group.encoder_tokens;
    switch (group.role) {
      case Role::kPrefill:
        prefills = true;
        prefill_tokens_ += group.total_new_tokens();
        logit_positions_ += group.request_count;
        break;
      case Role::kDecode:
        decodes = true;
        logit_positions_ += group.total_new_tokens();
        break;
    }
  }
  phase_ = prefills && decodes ? Phase::kMixed
           : prefills          ? Phase::kPrefill
                               : Phase::kDecode;
}

}  // namespace mansard::model
