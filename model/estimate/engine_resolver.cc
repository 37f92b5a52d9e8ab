#include "model/estimate/engine_resolver.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/lower/lower.h"

namespace mansard::model {
namespace {

// Counts at which ops that are priced alike show whether they always are.
constexpr int64_t kSamples[] = {487, 1013};
constexpr double kAgreement = 1e-3;

// Preconditions: a legal pass of any context.
ForwardPass PassOf(RequestGroups groups) {
  Violations none;
  return *ForwardPass::Create(std::move(groups),
                              std::numeric_limits<int64_t>::max() / 4, none);
}

// `tokens` on each of the ranks.
ForwardPass Decode(int64_t tokens, int64_t ranks) {
  return PassOf({{Role::kDecode, ranks, tokens, 1}});
}

// `tokens` on all of them.
ForwardPass DecodeOfAll(int64_t tokens, int64_t /*ranks*/) {
  return PassOf({{Role::kDecode, tokens, 1, 1}});
}

ForwardPass FreshPrompt(int64_t positions, int64_t ranks) {
  return PassOf({{Role::kPrefill, ranks, positions, 0}});
}

ForwardPass CachedPrompt(int64_t positions, int64_t ranks) {
  return PassOf({{Role::kPrefill, ranks, 1, positions - 1}});
}

}  // namespace

std::optional<Engine> Engine::Resolve(const Target& target,
                                      const EngineLimits& limits,
                                      Violations& violations) {
  const size_t before = violations.all().size();
  violations.CheckRange("limits.tokens", static_cast<double>(limits.tokens), 1,
                        EngineLimits::kMax);
  violations.CheckRange("limits.positions",
                        static_cast<double>(limits.positions), 1,
                        EngineLimits::kMax);
  if (violations.all().size() != before) return std::nullopt;
  Engine engine(target, limits);
  Resolver(engine).Run();
  return engine;
}

void Engine::Resolver::Lower(const ForwardPass& pass) {
  const Target& target = engine_.target_;
  model::Lower(target.graph(), pass, target.layout(), target.formats(),
               target.fusion(), ops_);
}

std::vector<Engine::Resolver::Member> Engine::Resolver::MembersOf(
    OpDependence dependence, PassMaker make) {
  Lower(make(kSamples[0], ranks()));
  const OpList first = ops_;
  Lower(make(kSamples[1], ranks()));
  std::vector<Member> members;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (DependenceOf(ops_[i], engine_.target_) != dependence) continue;
    const auto alike =
        std::find_if(members.begin(), members.end(), [&](const Member& member) {
          return IsPricedAs(ops_[member.index], ops_[i]) &&
                 IsPricedAs(first[member.index], first[i]);
        });
    if (alike != members.end()) {
      alike->repeat += ops_[i].repeat;
    } else {
      members.push_back({i, static_cast<double>(ops_[i].repeat)});
    }
  }
  return members;
}

void Engine::Resolver::MakeCurve(CurveIndex index, OpDependence dependence,
                                 PassMaker make, int64_t last) {
  const std::vector<Member> members = MembersOf(dependence, make);
  if (members.empty()) return;
  Curve& curve = engine_.curves_[index];
  for (const Member& member : members) curve.launches += member.repeat;
  curve.times = TimeCurve(last, [&](int64_t count) {
    Lower(make(count, ranks()));
    Seconds sum;
    for (const Member& member : members) {
      sum += member.repeat * engine_.pricer_.Estimate(ops_[member.index]);
    }
    return sum;
  });
}

void Engine::Resolver::Sample(const ForwardPass& pass, OpDependence dependence,
                              std::vector<CallOp>& calls) {
  Lower(pass);
  const size_t before = calls.size();
  for (const Op& op : ops_) {
    if (DependenceOf(op, engine_.target_) != dependence) continue;
    const auto alike = std::find_if(
        calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end(),
        [&](const CallOp& call) { return IsPricedAs(call.sample, op); });
    if (alike != calls.end()) {
      alike->repeat += op.repeat;
    } else {
      calls.push_back({op, dependence, static_cast<double>(op.repeat)});
    }
  }
}

void Engine::Resolver::SampleCalls() {
  const ForwardPass decode = PassOf({{Role::kDecode, ranks(), 1, 5000}});
  const ForwardPass prompt = PassOf({{Role::kPrefill, ranks(), 600, 5000}});
  Sample(decode, OpDependence::kGroup, engine_.decode_ops_);
  Sample(prompt, OpDependence::kGroup, engine_.prompt_ops_);
  Sample(prompt, OpDependence::kPass, engine_.pass_ops_);
  Sample(prompt, OpDependence::kLatents, engine_.pass_ops_);
}

void Engine::Resolver::Run() {
  if (engine_.SourceOfKind(Decode(1, ranks())) != StepSource::kEngine) return;
  const int64_t tokens = engine_.limits_.tokens;
  const int64_t positions = engine_.limits_.positions;
  MakeCurve(kTokens, OpDependence::kTokens, Decode, tokens);
  MakeCurve(kExpertTokens, OpDependence::kExpertTokens, DecodeOfAll,
            tokens * ranks());
  MakeCurve(kDecodeTokens, OpDependence::kDecodeTokens, Decode, tokens);
  MakeCurve(kLogits, OpDependence::kLogits, Decode, tokens);
  MakeCurve(kFreshPrompts, OpDependence::kPromptPositions, FreshPrompt,
            positions);
  MakeCurve(kCachedPrompts, OpDependence::kPromptPositions, CachedPrompt,
            positions);
  SampleCalls();
  Check();
}

void Engine::Resolver::Check() {
  StepTimer timer;
  const RequestGroup decodes[] = {{Role::kDecode, 1, 1, 0},
                                  {Role::kDecode, 37, 1, 1999},
                                  {Role::kDecode, 261, 3, 40000}};
  const RequestGroup prompts[] = {{Role::kPrefill, 1, 911, 0},
                                  {Role::kPrefill, 3, 129, 4000},
                                  {Role::kPrefill, 2, 3000, 100}};
  const auto check = [&](RequestGroups groups) {
    const ForwardPass pass = PassOf(std::move(groups));
    const StepAnswer answer = engine_.StepTime(pass, timer);
    const double lowered = timer.Estimate(engine_.target_, pass).value();
    if (!(std::abs(answer.time.value() - lowered) <= kAgreement * lowered)) {
      engine_.agrees_ = false;
    }
  };
  for (size_t i = 0; i < 3; ++i) {
    check({decodes[i]});
    check({prompts[i]});
    check({prompts[i], decodes[i]});
    check({decodes[i], prompts[2 - i]});
  }
}

}  // namespace mansard::model
