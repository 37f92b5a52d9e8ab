#include "model/workload/pass_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

struct RoleFields {
  absl::string_view requests;
  absl::string_view tokens;
  absl::string_view variance;
};
constexpr RoleFields kPrefillFields = {
    "prefill_request_count", "prefill_token_count", "prefill_token_variance"};
constexpr RoleFields kDecodeFields = {"decode_request_count",
                                      "decode_prior_token_count",
                                      "decode_prior_token_variance"};

constexpr double kMostTokens = 1e12;

void CheckVariance(absl::string_view field, double variance, int64_t requests,
                   Violations& violations) {
  if (!(variance >= 0) || std::isinf(variance)) {
    violations.Add(field, absl::StrCat("is ", variance,
                                       "; must be 0 or more, and finite"));
  } else if (variance > 0 && requests < 2) {
    violations.Add(field, absl::StrCat("is ", variance, " of ", requests,
                                       " requests; needs 2 at least"));
  }
}

void CheckRole(const RoleFields& fields, int64_t requests, int64_t tokens,
               double variance, int64_t least_tokens, Violations& violations) {
  violations.CheckRange(fields.requests, static_cast<double>(requests), 0,
                        ForwardPass::kMaxRequests);
  if (requests <= 0) {
    if (tokens != 0) {
      violations.Add(fields.tokens,
                     absl::StrCat("is ", tokens, ", but ", fields.requests,
                                  " is ", requests, "; must be 0"));
    }
  } else {
    violations.CheckRange(fields.tokens, static_cast<double>(tokens),
                          static_cast<double>(least_tokens), kMostTokens);
  }
  CheckVariance(fields.variance, variance, requests, violations);
}

void Check(const PassSums& sums, Violations& violations) {
  CheckRole(kPrefillFields, sums.prefill_requests, sums.prefill_tokens,
            sums.prefill_token_variance, sums.prefill_requests, violations);
  CheckRole(kDecodeFields, sums.decode_requests, sums.decode_prior_tokens,
            sums.decode_prior_token_variance, 0, violations);
  violations.CheckRange("prefill_prior_token_count",
                        static_cast<double>(sums.prefill_prior_tokens), 0,
                        sums.prefill_requests > 0 ? kMostTokens : 0);
  violations.CheckRange("decode_tokens_per_request_count",
                        static_cast<double>(sums.decode_tokens_per_request), 1,
                        ForwardPass::kMaxNewTokens);
  if (sums.prefill_requests == 0 && sums.decode_requests == 0) {
    violations.Add("prefill_request_count",
                   "and decode_request_count are 0; a pass has a request at "
                   "least");
  }
}

// Requests that are alike in one number.
struct Run {
  int64_t requests = 0;
  int64_t each = 0;
};
using Runs = absl::InlinedVector<Run, 4>;

// The longer ones first: those that the sum does not divide by have one more.
void AddEven(int64_t requests, int64_t sum, Runs& runs) {
  const int64_t more = sum % requests;
  if (more > 0) runs.push_back({more, sum / requests + 1});
  if (more < requests) runs.push_back({requests - more, sum / requests});
}

Runs Even(int64_t requests, int64_t sum) {
  Runs runs;
  AddEven(requests, sum, runs);
  return runs;
}

// Two halves around the mean, each even.
Runs Spread(int64_t requests, int64_t sum, double variance, int64_t least) {
  if (variance == 0) return Even(requests, sum);
  const int64_t above = requests / 2;
  const int64_t below = requests - above;
  const double mean = static_cast<double>(sum) / static_cast<double>(requests);
  const double down = std::sqrt(variance * static_cast<double>(above) /
                                static_cast<double>(below));
  const double low = std::max(static_cast<double>(least), mean - down);
  const auto of_lower =
      std::clamp<int64_t>(std::llround(low * static_cast<double>(below)),
                          least * below, sum - least * above);
  Runs runs;
  AddEven(above, sum - of_lower, runs);
  AddEven(below, of_lower, runs);
  return runs;
}

// Both numbers for every request, in the order of each.
void Join(Role role, const Runs& fresh, const Runs& prior,
          RequestGroups& groups) {
  size_t next = 0;
  int64_t left = prior.empty() ? 0 : prior[0].requests;
  for (const Run& run : fresh) {
    int64_t requests = run.requests;
    while (requests > 0) {
      if (left == 0) left = prior[++next].requests;
      const int64_t both = std::min(requests, left);
      groups.push_back({role, both, run.each, prior[next].each});
      requests -= both;
      left -= both;
    }
  }
}

}  // namespace

std::optional<ForwardPass> PassOfSums(const PassSums& sums, int64_t max_context,
                                      Violations& violations) {
  const size_t before = violations.all().size();
  Check(sums, violations);
  if (violations.all().size() != before) return std::nullopt;
  RequestGroups groups;
  if (sums.prefill_requests > 0) {
    Join(Role::kPrefill,
         Spread(sums.prefill_requests, sums.prefill_tokens,
                sums.prefill_token_variance, 1),
         Even(sums.prefill_requests, sums.prefill_prior_tokens), groups);
  }
  if (sums.decode_requests > 0) {
    Join(Role::kDecode,
         {{sums.decode_requests, sums.decode_tokens_per_request}},
         Spread(sums.decode_requests, sums.decode_prior_tokens,
                sums.decode_prior_token_variance, 0),
         groups);
  }
  // A group is no field of the sums: what makes it is.
  for (const RequestGroup& group : groups) {
    if (group.context() <= max_context) continue;
    violations.Add(
        (group.role == Role::kPrefill ? kPrefillFields : kDecodeFields).tokens,
        absl::StrCat("makes requests of ", group.context(),
                     " tokens, which exceeds the model's longest context; "
                     "allowed: at most ",
                     max_context, " each"));
  }
  if (violations.all().size() != before) return std::nullopt;
  return ForwardPass::Create(std::move(groups), max_context, violations);
}

}  // namespace mansard::model
