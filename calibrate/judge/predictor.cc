#include "calibrate/judge/predictor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "model/base/status_macros.h"
#include "model/price/work_on_device.h"

namespace mansard::calibrate {
namespace {

using model::Op;
using model::OpKind;
using model::OpTime;
using model::Seconds;

// Whether some family of the stack moves bytes on the tier.
bool HasLines(model::LinkTier tier, OpKind kind,
              const model::KernelStackSpec& stack) {
  const size_t key = static_cast<size_t>(tier);
  if (stack.collectives[key].has_value()) return true;
  const model::FineFamilies& fine = stack.fine;
  if (kind == OpKind::kExpertDispatch) {
    return fine.expert_dispatch.For(key) != nullptr;
  }
  if (kind == OpKind::kExpertCombine) {
    return fine.expert_combine.For(key) != nullptr;
  }
  return false;
}

// What Price takes for granted.
bool IsServed(const Op& op, const model::HardwareView& view) {
  if (const auto* shape = std::get_if<model::CollectiveShape>(&op.shape)) {
    return shape->ranks > 1 && view.fabric.FindLink(shape->tier) != nullptr &&
           HasLines(shape->tier, op.kind, view.stack.spec());
  }
  if (const auto* shape = std::get_if<model::ExchangeShape>(&op.shape)) {
    return shape->ranks > 1 && view.fabric.FindLink(shape->tier) != nullptr &&
           HasLines(shape->tier, op.kind, view.stack.spec());
  }
  const std::optional<model::Format> format = model::TensorFormat(op);
  if (!format.has_value()) return true;
  const bool by_gemm =
      op.kind == OpKind::kGemm || op.kind == OpKind::kGroupedGemm ||
      op.kind == OpKind::kStateScan || op.kind == OpKind::kIndexScores;
  return view.device.HasTensor(*format) &&
         (!by_gemm || view.stack.GemmFor(*format) != nullptr);
}

Seconds LinkTime(model::Bytes wire, model::LinkTier tier, int ranks,
                 const model::Fabric& fabric) {
  return wire / fabric.FindLink(tier)->BandwidthAmong(ranks);
}

Seconds RooflineOf(const Op& op, Seconds tensor_at_peak,
                   const model::HardwareView& view) {
  if (const auto* shape = std::get_if<model::CollectiveShape>(&op.shape)) {
    return LinkTime(model::RingWireBytes(op, *shape), shape->tier, shape->ranks,
                    view.fabric);
  }
  if (const auto* shape = std::get_if<model::ExchangeShape>(&op.shape)) {
    return LinkTime(op.work.message, shape->tier, shape->ranks, view.fabric);
  }
  const model::Bytes moved = op.work.weights + op.work.kv_read +
                             op.work.kv_write + op.work.activations();
  return Max(tensor_at_peak, moved / view.device.HbmBandwidth());
}

Prediction SumOf(const model::OpList& ops, const std::vector<OpTime>& times,
                 const model::HardwareView& view) {
  Prediction sum;
  std::array<Seconds, model::kBoundCount> bounds{};
  for (size_t i = 0; i < ops.size(); ++i) {
    const double repeat = ops[i].repeat;
    const OpTime& time = times[i];
    sum.estimate += repeat * time.estimate;
    sum.p10 += repeat * time.p10;
    sum.p90 += repeat * time.p90;
    sum.floor += repeat * time.floor;
    sum.roofline += repeat * RooflineOf(ops[i], time.tensor_at_peak, view);
    sum.tier = std::min(sum.tier, time.tier);
    sum.extrapolated = sum.extrapolated || time.extrapolated;
    for (int r = 0; r < model::kResourceCount; ++r) {
      const auto resource = static_cast<model::Resource>(r);
      bounds[static_cast<size_t>(model::BoundOf(resource))] +=
          repeat * time.attributed[resource];
    }
  }
  sum.bound = static_cast<model::Bound>(
      std::max_element(bounds.begin(), bounds.end()) - bounds.begin());
  sum.stack = &view.stack;
  return sum;
}

}  // namespace

Seconds PlainRoofline(const Op& op, const model::HardwareView& view) {
  return RooflineOf(op, model::TensorTimeAtPeak(op, view.device), view);
}

absl::StatusOr<Predictor> Predictor::Create(const model::ShippedData& data,
                                            const PlaceOptions& options) {
  RETURN_IF_ERROR(CheckOptions(data, options));
  return Predictor(data, options);
}

const Placement& Predictor::PlaceFor(const MeasuredCase& measured) {
  auto key =
      std::make_tuple(measured.device, measured.framework, measured.version);
  const auto found = places_.find(key);
  if (found != places_.end()) return found->second;
  return places_
      .emplace(std::move(key), PlaceOf(measured.device, measured.framework,
                                       measured.version, *data_, options_))
      .first->second;
}

CaseAnswer Predictor::Predict(const MeasuredCase& measured) {
  const Placement& place = PlaceFor(measured);
  if (place.profile == nullptr) return Unanswered::kDevice;
  if (place.stack == nullptr) return Unanswered::kStack;
  const std::optional<model::OpList> ops =
      measured.ops(place.profile->device(), *place.stack);
  if (!ops.has_value() || ops->empty()) return Unanswered::kWork;
  const model::Fabric* fabric = place.profile->FindFabric(measured.fabric);
  const model::HardwareView view{
      place.profile->device(),
      fabric != nullptr ? *fabric : place.profile->fabrics().front(),
      *place.stack, measured.warm_cache};
  for (const Op& op : *ops) {
    if (!IsServed(op, view)) return Unanswered::kWork;
  }
  model::PriceAll(*ops, view, times_);
  Prediction sum = SumOf(*ops, times_, view);
  if (place.stands_in) sum.tier = std::min(sum.tier, model::Tier::kTransferred);
  return sum;
}

}  // namespace mansard::calibrate
