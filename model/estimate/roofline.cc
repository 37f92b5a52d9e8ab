#include "model/estimate/roofline.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/price/work_on_device.h"
#include "model/workload/expert_load.h"

namespace mansard::model {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 24;
constexpr int64_t kMaxContext = 1'000'000'000;
constexpr int64_t kMaxBatch = int64_t{1} << 19;

using Predicate = std::function<bool(int64_t)>;

// The smallest value in (low, high] that holds. Precondition: `low` does not,
// `high` does, and so does everything between one of them and `high`.
int64_t Bisect(int64_t low, int64_t high, const Predicate& holds) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

// The smallest value up to `limit` that holds, searched by doubling; empty
// where none of the powers of two does.
std::optional<int64_t> First(int64_t limit, const Predicate& holds) {
  if (holds(1)) return 1;
  int64_t low = 1;
  while (low < limit) {
    const int64_t high = std::min(2 * low, limit);
    if (holds(high)) return Bisect(low, high, holds);
    low = high;
  }
  return std::nullopt;
}

Flops WorkOf(const Op& op) { return op.work.tensor + op.work.vector; }

class Explanation {
 public:
  Explanation(const Target& target, const ForwardPass& pass,
              const Estimate& estimate, RooflineLevel level,
              absl::FunctionRef<bool()> keep_going)
      : target_(target),
        pass_(pass),
        estimate_(estimate),
        level_(level),
        keep_going_(keep_going),
        view_(target.view()) {}

  // Empty where it was stopped.
  std::optional<Roofline> Run() {
    roofline_.ceilings = CeilingsOf(target_, estimate_.ops, level_);
    for (size_t i = 0; i < estimate_.ops.size(); ++i) {
      if (estimate_.ops[i].kind != OpKind::kHost) AddPoint(i);
    }
    for (size_t i = 0; i < estimate_.ops.size(); ++i) AddTokenCrossovers(i);
    if (pass_.phase() == Phase::kDecode) {
      AddContextCrossover();
      if (pass_.groups().size() == 1) AddBatchCrossovers();
    }
    if (stopped_) return std::nullopt;
    return std::move(roofline_);
  }

 private:
  // --- Points ---

  void AddPoint(size_t index) {
    const Op& op = estimate_.ops[index];
    const OpTime& time = estimate_.times[index];
    const Bytes bytes =
        level_ == RooflineLevel::kHbm ? time.traffic.hbm() : time.traffic.l2;
    RooflinePoint point{
        .op = index,
        .intensity = {},
        .achieved = WorkOf(op) / time.estimate,
        .time_ratio = op.repeat * time.estimate / estimate_.phase.estimate};
    if (bytes > Bytes::Zero()) point.intensity = WorkOf(op) / bytes;
    roofline_.points.push_back(point);
  }

  // --- Crossovers ---

  // Searches go on, over nothing: what they find is dropped.
  bool Stopped() {
    if (!stopped_) stopped_ = !keep_going_();
    return stopped_;
  }

  // Precondition: an op of experts.
  int ExpertsPerToken(const Op& op) const {
    const LayerKind& kind =
        target_.graph().spec().layer_kinds[static_cast<size_t>(op.layer_kind)];
    return std::get<MixtureOfExperts>(kind.feed_forward).experts_per_token;
  }

  // The GEMM over `tokens` rows; empty for other ops.
  std::optional<Op> WithTokens(const Op& op, int64_t tokens) const {
    if (const auto* gemm = std::get_if<GemmShape>(&op.shape)) {
      GemmShape shape = *gemm;
      shape.m = tokens;
      return GemmOp(shape, false);
    }
    if (const auto* grouped = std::get_if<GroupedGemmShape>(&op.shape)) {
      GroupedGemmShape shape = *grouped;
      const int per_token = ExpertsPerToken(op);
      const int ranks = target_.layout().expert();
      const ExpertLoad load = BusiestRank(pass_.routing(), tokens, per_token,
                                          shape.experts * ranks, ranks);
      shape.rows = load.rows;
      shape.distinct_experts = load.distinct;
      const bool once = op.part == Part::kExpertUp;
      return GroupedGemmOp(shape, once ? load.copies : shape.rows);
    }
    return std::nullopt;
  }

  bool TensorAhead(const Op& op, bool calibrated) const {
    const OpTime time = Price(op, view_);
    if (calibrated) {
      return time.busy[Resource::kTensor] > time.busy[Resource::kHbm];
    }
    Bytes hbm = op.work.weights;
    if (!StaysInL2(op, view_.device)) hbm += op.work.activations();
    return time.tensor_at_peak > hbm / view_.device.HbmBandwidth();
  }

  void AddTokenCrossovers(size_t index) {
    const Op& op = estimate_.ops[index];
    if (!WithTokens(op, 1).has_value() || Stopped()) return;
    for (bool calibrated : {false, true}) {
      const auto value = First(kMaxTokens, [&](int64_t tokens) {
        return TensorAhead(*WithTokens(op, tokens), calibrated);
      });
      if (!value.has_value()) continue;
      roofline_.crossovers.push_back(
          {index, RooflineAxis::kTokens, *value, "hbm", "tensor", calibrated});
    }
  }

  OpList LowerPass(const ForwardPass& pass) const {
    return Lower(target_.graph(), pass, target_.layout(), target_.formats(),
                 target_.fusion());
  }

  // Decodes of `context` tokens each, at least what is new.
  std::optional<ForwardPass> WithContext(int64_t context) const {
    RequestGroups groups = pass_.groups();
    for (RequestGroup& group : groups) {
      group.prior_tokens = std::max(context - group.new_tokens, int64_t{0});
    }
    return Repeated(std::move(groups));
  }

  std::optional<ForwardPass> WithBatch(int64_t requests) const {
    RequestGroup group = pass_.groups().front();
    group.request_count = requests;
    return Repeated({group});
  }

  // The pass with other groups; empty where they exceed what a pass may be.
  std::optional<ForwardPass> Repeated(RequestGroups groups) const {
    Violations none;
    const std::optional<ForwardPass> pass =
        ForwardPass::Create(std::move(groups), 2 * kMaxContext, none);
    if (!pass.has_value()) return std::nullopt;
    const std::optional<ForwardPass> routed =
        pass->WithRouting(pass_.routing(), target_.graph().ExpertCount(), none);
    if (!routed.has_value()) return std::nullopt;
    return routed->WithDrafting(pass_.drafting(),
                                target_.graph().spec().mtp.modules, none);
  }

  void AddContextCrossover() {
    const auto value = First(kMaxContext, [&](int64_t context) {
      if (Stopped()) return false;
      const std::optional<ForwardPass> pass = WithContext(context);
      if (!pass.has_value()) return false;
      Bytes weights;
      Bytes kv;
      for (const Op& op : LowerPass(*pass)) {
        weights += op.repeat * op.work.weights;
        kv += op.repeat * op.work.kv_read;
      }
      return kv > weights;
    });
    if (value.has_value()) {
      roofline_.crossovers.push_back({std::nullopt, RooflineAxis::kContext,
                                      *value, "weights", "kv_cache", false});
    }
  }

  std::optional<Bound> BoundAt(int64_t batch) {
    if (Stopped()) return std::nullopt;
    const std::optional<ForwardPass> pass = WithBatch(batch);
    if (!pass.has_value()) return std::nullopt;
    return EstimatePass(target_, *pass).phase.bound;
  }

  void AddBatchCrossovers() {
    std::optional<Bound> before = BoundAt(1);
    for (int64_t batch = 2; batch <= kMaxBatch; batch *= 2) {
      const std::optional<Bound> now = BoundAt(batch);
      if (!before.has_value() || !now.has_value()) return;
      if (*now != *before) {
        const int64_t value = Bisect(batch / 2, batch, [&](int64_t candidate) {
          return BoundAt(candidate) == now;
        });
        roofline_.crossovers.push_back({std::nullopt, RooflineAxis::kBatch,
                                        value, std::string(BoundName(*before)),
                                        std::string(BoundName(*now)), true});
      }
      before = now;
    }
  }

  const Target& target_;
  const ForwardPass& pass_;
  const Estimate& estimate_;
  const RooflineLevel level_;
  const absl::FunctionRef<bool()> keep_going_;
  const HardwareView view_;
  bool stopped_ = false;
  Roofline roofline_;
};

}  // namespace

absl::string_view RooflineAxisName(RooflineAxis axis) {
  switch (axis) {
    case RooflineAxis::kTokens:
      return "tokens";
    case RooflineAxis::kContext:
      return "context";
    case RooflineAxis::kBatch:
      return "batch";
  }
  return "";
}

std::optional<Roofline> ExplainRoofline(const Target& target,
                                        const ForwardPass& pass,
                                        const Estimate& estimate,
                                        RooflineLevel level,
                                        absl::FunctionRef<bool()> keep_going) {
  return Explanation(target, pass, estimate, level, keep_going).Run();
}

}  // namespace mansard::model
