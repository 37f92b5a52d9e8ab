// Served load in closed form: from the times of passes to those of requests.
//
// C requests in flight, B of them in the batch; D a pass that decodes, P what
// one request's prompt adds, P0 the prompt run alone, in n passes; i and o
// tokens in and out, a tokens a pass:
//
//   TPOT  = D / a + (B - 1) / o P        while one request makes o tokens, each
//                                        other one's prompt is computed once
//   rho   = B P / (o TPOT), at most max_prompt_utilization
//   wait  = rho / (1 - rho) P / 2        behind the prompts of others
//   held  = (N - 1) / 2 + min(W (1 + b / 2) / (1 + b), (n - 1) / (2 r))
//                                        passes until the engine looks: at
//                                        every Nth, and once prompts were held
//                                        back for W or there are n; r = B a / o
//                                        requests a pass, b = r W. Nobody is
//                                        held where nothing runs: times min(1,
//                                        B - 1)
//   k     = 1 + r (N - 1) + min(b (2 + b) / (1 + b), n - 1)
//                                        prompts that a request comes with;
//                                        wait is at least ((min(f, k) + k) / 2
//                                        - 1) P with f = floor(budget / i)
//   burst = P0 (min(floor(budget / i), B) + B) / 2     all arrive together, and
//                                        a pass ends for all of its prompts
//   queue = (C / B - 1) o TPOT           for a place in the batch
//   TTFT  = (1 - s) (prompt P + wait wait + queue queue) + s burst burst
//           + decode_passes (1/2 + n + (1 - s) held) D
//                                        [kPrefillFirst: without n, the passes
//                                        of the prompt]
//           + request + i input_token + n layers prompt_layer
//           + C concurrent_request
//
// s is 1 / (requests that each place serves), 0 in a steady state. Source:
// Mansard design, end to end §1.3 and §1.4, whose factors within 2 % of 1
// are 1; held and k are of requests that come at random (Poisson). i is the
// input that is computed, and all of it for the tokeniser. Of a prefill engine
// B = C = 1: P is P0, and queue (C - 1) P0. Of a decode engine there are no
// prompts and no TTFT.
//
// Internal to model/serving.
#pragma once

#include <cstdint>

#include "model/serving/serving_spec.h"
#include "model/serving/slo.h"

namespace mansard::model {

// Times of passes, at one batch.
struct ServedPassTimes {
  Seconds decode;
  Seconds prompt;        // What it adds.
  Seconds prompt_alone;  // With nothing beside it.
};

// What does not depend on the batch.
struct ServedForm {
  ServingConstants constants;
  Scheduling scheduling = Scheduling::kMixed;
  ServingRole role = ServingRole::kAggregated;
  double input_tokens = 1;
  double output_tokens = 1;
  double tokens_per_pass = 1;
  double prompt_passes = 1;
  double prompts_a_pass = 0;  // That fit into one whole.
  double layers = 0;
  double poll_passes = 1;         // N
  double batch_wait_passes = 0;   // W
  double batch_wait_prompts = 0;  // n: so many are not held back.
  double burst_share = 0;
  double first_token_factor = 1;  // A deployment's own, of all of TTFT.

  void SetAdmission(const Admission& admission, int64_t token_budget,
                    int64_t prompt_tokens);
};

// They sum to the time to first token.
struct FirstTokenParts {
  Seconds prompt;
  Seconds wait;
  Seconds queue;
  Seconds burst;
  Seconds decode_passes;
  Seconds constants;

  Seconds Sum() const {
    return prompt + wait + queue + burst + decode_passes + constants;
  }
};

struct ServedTimes {
  FirstTokenParts first_token;
  SloValues values;
  double prompt_utilization = 0;  // rho.
  // From one request's first step in the batch to its last.
  Seconds in_batch;
};

// How long nobody looks at a request, and whom it then comes with.
struct Held {
  double passes = 0;  // That decode.
  double others = 0;  // Requests that came meanwhile.
};
// `falling_batch`: see TimesOf.
Held HeldOf(const ServedForm& form, double batch, double falling_batch);

Seconds TimePerOutputToken(const ServedForm& form, double batch,
                           const ServedPassTimes& passes);

// `concurrency`: at least `batch`, which is 1 or more, or a share of a
// request below that. Non-decreasing in batch, concurrency and each time of
// passes, but for rho's TPOT and the batch whose requests end a wait: they are
// those of `falling`, which is the same for the time, and the other end of a
// range for a bound.
struct FallingTerms {
  Seconds tpot;
  double batch = 1;
};
ServedTimes TimesOf(const ServedForm& form, double batch, double concurrency,
                    const ServedPassTimes& passes, const FallingTerms& falling);

// The time.
ServedTimes TimesOf(const ServedForm& form, double batch, double concurrency,
                    const ServedPassTimes& passes);

struct ServedPassRange {
  ServedPassTimes least;
  ServedPassTimes most;
};
struct ServedTimesRange {
  ServedTimes least;
  ServedTimes most;
};
// Bounds of TimesOf over full batches from `first`, 1 or more, to `last`.
ServedTimesRange TimesOver(const ServedForm& form, double first, double last,
                           const ServedPassRange& passes);

// Requests a second of a batch that is kept full.
double RequestRate(const ServedForm& form, double concurrency,
                   const ServedTimes& times);

}  // namespace mansard::model
