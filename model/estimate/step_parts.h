// The time of a step by what kind of work takes it: what host and engine costs
// are fitted over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/estimate/estimate.h"
#include "model/ops/op.h"

namespace mansard::model {

enum class StepPart : uint8_t {
  kGemm,              // Dense products, but for the head's.
  kExperts,           // Products of experts, and what lies between them.
  kDecodeAttention,
  kPromptAttention,
  kRecurrent,         // States and convolutions.
  kIndex,             // Scores and choices of sparse attention's indexers.
  kCollective,        // And exchanges of tokens between experts' ranks.
  kElementwise,
  kHead,              // The last product and the sampling.
  kHost,
};
inline constexpr size_t kStepPartCount = 10;
// "decode_attention": stable words.
absl::string_view StepPartName(StepPart part);
StepPart StepPartOf(const Op& op);

struct StepParts {
  std::array<Seconds, kStepPartCount> times{};
  std::array<double, kStepPartCount> kernels{};  // With repeats.

  Seconds& time(StepPart part) { return times[static_cast<size_t>(part)]; }
  Seconds time(StepPart part) const { return times[static_cast<size_t>(part)]; }
  double& count(StepPart part) { return kernels[static_cast<size_t>(part)]; }
  double count(StepPart part) const {
    return kernels[static_cast<size_t>(part)];
  }
  // StepTimer::Estimate of the same pass, but for rounding.
  Seconds Total() const;
  void Add(const StepParts& other, double weight);
};

// Preconditions: no pipeline, no overlap and no transfer of keys and values.
// `ops` keeps its memory from call to call.
StepParts PartsOfStep(const Target& target, const ForwardPass& pass,
                      OpList& ops);

}  // namespace mansard::model
