// A pass of which only sums are known, as engines report them.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/workload/forward_pass.h"

namespace mansard::model {

// Counts are of all requests of the role together.
struct PassSums {
  int64_t prefill_requests = 0;
  int64_t prefill_tokens = 0;  // New ones.
  int64_t prefill_prior_tokens = 0;
  // Of the new tokens of one request. Populations' variance; 0: not known, or
  // all alike.
  double prefill_token_variance = 0;
  int64_t decode_requests = 0;
  int64_t decode_prior_tokens = 0;
  double decode_prior_token_variance = 0;  // Of one request's.
  int64_t decode_tokens_per_request = 1;
};

// A pass with these sums, to the token. Requests of a role are alike but for
// what the sums do not divide by; with a variance half of them are one standard
// deviation below and half above the mean (an odd one goes below, and the upper
// half as far up as keeps mean and variance), as far as whole tokens allow and
// the fewest are 1 new or 0 cached. A prompt's cached tokens are spread evenly,
// whatever its new ones. At most five groups a role.
//
// Rules: those of ForwardPass::Create for the groups; some requests; a prompt
// has a new token at least; without requests of a role there are no tokens of
// it; variances are finite, 0 or more, and need two requests. Violations are at
// "prefill_request_count" and so on, as the sums are called in requests.
std::optional<ForwardPass> PassOfSums(const PassSums& sums, int64_t max_context,
                                      Violations& violations);

}  // namespace mansard::model
