// What one rank of a layer of experts has to do, for the ways in which measured
// tables spread tokens.
#pragma once

#include <cstdint>

namespace mansard::calibrate {

struct ExpertLayer {
  int64_t tokens = 0;  // Of all ranks.
  int experts = 0;     // Of all ranks; a multiple of ranks.
  int per_token = 1;   // Experts; at most `experts`.
  int ranks = 1;       // That share the experts.
};

struct ExpertLoad {
  double rows = 0;     // Token-expert pairs whose expert the rank holds.
  double experts = 0;  // Of those that it holds, with a row.
  double tokens = 0;   // With such an expert.
};

// Tokens pick experts a stride of ceil(experts / per_token) apart, each token
// the next; fewer tokens than the stride spread over it. The first rank.
ExpertLoad EvenLoad(const ExpertLayer& layer);

// Every token picks at random: the mean.
ExpertLoad RandomLoad(const ExpertLayer& layer);

// Experts draw weights from a power law of density x^-exponent, x from 1 to
// 0.8 tokens (0.01 to 2 where there are no more pairs than experts), and rows
// in proportion, none more than there are tokens. The mean of the busiest rank
// over a few draws, which are the same on every machine.
ExpertLoad PowerLawLoad(const ExpertLayer& layer, double exponent);

}  // namespace mansard::calibrate
