// "expert-exchange": the tokens of one rank on their way to the ranks of their
// experts, or the experts' outputs back. Of n ranks in m nodes, g = n / m in
// one, each has T tokens of b bytes that go to k experts; the busiest has
// `imbalance` times the mean.
//
//   D(x)    = x (1 - (1 - 1/x)^k)   places out of x that hold some of k
//   per_rank (throughput kernels)    else (low latency)
//   copies  = imbalance T D(n)       imbalance T k
//   inner   = copies b (g - 1) / g   copies b (g - 1) / n
//   outer   = T D(m) b (m - 1) / m   copies b (n - g) / n
//
//   fixed   = alpha + b / token_feed
//             + (m > 1: network_alpha + network_step log2 m)
//   feed    = (T token + copies row + copies b / sm_feed) / multiprocessors
//   time    = fixed + (feed^4 + (inner / bus)^4
//                      + (outer / (network (m - 1)^-crowding))^4)^(1/4)
//
// Throughput kernels send one copy to each node and pass it on inside;
// low-latency ones write every copy where it belongs. The latter give every
// expert a multiprocessor of its own, as long as there are any.
// Source: Mansard design, performance model §1.9, with the work of the
// multiprocessors made explicit. Valid: 1 to 8 nodes of 4 and 8 ranks, 1 to
// 131072 tokens, 1 to 8 experts of 8 to 384, 4 to 24 multiprocessors.
#pragma once

#include "model/base/units.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

struct ExchangeProblem {
  int ranks = 2;
  int nodes = 1;  // Divides them.
  double tokens = 0;
  double experts_per_token = 1;
  Bytes token;  // What one holds on the wire.
  double imbalance = 1;
  double experts = 0;                 // Of all ranks; 0: many.
  double multiprocessors = 0;         // That move tokens; 0: the family's.
  double device_multiprocessors = 1;  // That there are.
};

struct ExchangeTimes {
  // Overlap.
  Seconds feed;
  Seconds bus;
  Seconds network;

  Seconds fixed;
  Seconds time;  // All put together.
  Bytes bus_bytes;
  Bytes network_bytes;
};

// Preconditions: a family that KernelStack::Create accepts; numbers of the
// problem positive but where 0 has a meaning.
ExchangeTimes TimeExchange(const ExpertExchangeFamily& family,
                           const ExchangeProblem& problem);

}  // namespace mansard::model
