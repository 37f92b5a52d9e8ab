// A resolved engine: a target whose ops are timed before the passes are known,
// for callers that time very many steps on one target (schedulers, replays).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/estimate/estimate.h"
#include "model/estimate/op_dependence.h"
#include "model/estimate/step_counts.h"
#include "model/estimate/step_time.h"
#include "model/estimate/time_curve.h"
#include "model/price/price.h"

namespace mansard::model {

// Up to where an engine looks times up.
struct EngineLimits {
  int64_t tokens = 16384;  // New ones of a pass, on one rank.
  int64_t positions =
      131072;  // Of all prompts of a pass, cached ones included.

  static constexpr int64_t kMax = 1'000'000;
};

// Where the time of a step is from. All but the first: lowered and priced for
// this pass, as without an engine, which takes longer.
enum class StepSource {
  kEngine,
  kLimits,   // The pass is larger than EngineLimits.
  kRouting,  // Its tokens choose experts other than independently.
  kDrafts,   // It drafts.
  kEncoder,  // It has encoder positions.
  // The target has stages, micro-batches, context ranks, overlap, or sends keys
  // and values.
  kLayout,
  kChecks,  // Times looked up did not agree with times lowered.
};
absl::string_view StepSourceName(StepSource source);

struct StepAnswer {
  Seconds time;
  StepSource source = StepSource::kEngine;
};

struct StepRange {
  Seconds least;
  Seconds most;
};

// Immutable; may be shared between threads.
class Engine {
 public:
  // Rules: limits are 1 to kMax; violations are at "limits.tokens" and
  // "limits.positions". Lowers and prices a few thousand passes. What it
  // has made is compared with StepTimer on passes of all phases: were they not
  // alike, all steps would be timed as kChecks says.
  static std::optional<Engine> Resolve(const Target& target,
                                       const EngineLimits& limits,
                                       Violations& violations);

  // StepTimer::Estimate(target(), pass), which `timer` computes where the
  // source is not kEngine. Where it is: nothing is allocated, and the time is
  // within 0.1 % of it; where all counts of the pass are nodes of their curves,
  // it is the same but for rounding.
  StepAnswer StepTime(const ForwardPass& pass, StepTimer& timer) const;

  // Bounds of StepTime over every pass whose counts lie, one by one, between
  // `least` and `most` of the same phase, and whose groups are those of
  // `most_groups` with at most as many requests, and at least as many as those
  // of `least_groups` (null: none): for searches that leave out whole ranges of
  // passes. Curves are looked at from end to end; ops of groups take no less
  // time for more requests. Bounds hold but for rounding. Empty where some such
  // pass is not timed as kEngine says. Allocates nothing.
  std::optional<StepRange> RangeOf(const StepCounts& least,
                                   const ForwardPass* least_groups,
                                   const StepCounts& most,
                                   const ForwardPass& most_groups) const;

  // How StepTime would time it.
  StepSource SourceOf(const ForwardPass& pass) const;

  const Target& target() const { return target_; }
  const EngineLimits& limits() const { return limits_; }
  // Of its curves.
  size_t nodes() const;
  // Besides the target.
  size_t memory_bytes() const;

 private:
  class Resolver;
  // One op for all that are priced alike.
  struct CallOp {
    Op sample;
    OpDependence dependence = OpDependence::kGroup;
    double repeat = 1;
  };
  // What of the list of ops takes time and is counted as launches.
  struct Sum {
    Seconds time;
    double launches = 0;

    void Add(double repeat, Seconds each) {
      time += repeat * each;
      launches += repeat;
    }
  };
  struct Curve {
    TimeCurve times;
    double launches = 0;
  };
  enum CurveIndex {
    kTokens,
    kExpertTokens,
    kDecodeTokens,
    kLogits,
    kFreshPrompts,   // By positions, of prompts of which nothing is cached.
    kCachedPrompts,  // And of others: what does not depend on how many are.
    kCurveCount,
  };

  Engine(const Target& target, const EngineLimits& limits)
      : target_(target), limits_(limits), pricer_(target_.view()) {}
  // Of the target and the pass; the counts not looked at.
  StepSource SourceOfKind(const ForwardPass& pass) const;
  bool Holds(const StepCounts& counts) const;
  void AddCurves(const StepCounts& counts, Sum& sum) const;
  void AddGroups(const StepCounts& counts, const ForwardPass& pass,
                 Sum& sum) const;
  void AddPassOps(const StepCounts& counts, const ForwardPass& pass,
                  Sum& sum) const;
  Seconds TimeOf(const StepCounts& counts, const ForwardPass& pass) const;
  // With the host's part.
  Seconds Total(const StepCounts& counts, const Sum& sum) const;

  Target target_;
  EngineLimits limits_;
  OpPricer pricer_;  // Of parts that the target shares and never changes.
  bool agrees_ = true;
  std::array<Curve, kCurveCount> curves_;
  std::vector<CallOp> decode_ops_;
  std::vector<CallOp> prompt_ops_;
  std::vector<CallOp> pass_ops_;
};

}  // namespace mansard::model
