#include "server/convert/estimate.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "model/estimate/advice.h"
#include "model/ops/op.h"
#include "model/price/communication_way.h"
#include "model/price/resource.h"

namespace mansard::server {
namespace {

std::string Text(absl::string_view view) { return std::string(view); }

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void ToProto(const model::Work& work, v1::Work& proto) {
  proto.set_flops(work.tensor.value());
  proto.set_vector_flops(work.vector.value());
  proto.set_special_function_count(work.special.value());
  proto.set_weight_read_bytes(work.weights.value());
  proto.set_kv_read_bytes(work.kv_read.value());
  proto.set_kv_write_bytes(work.kv_write.value());
  proto.set_activation_read_bytes(work.activations_in.value());
  proto.set_activation_write_bytes(work.activations_out.value());
  proto.set_communication_bytes(work.message.value());
}

void AddResourceTimes(const model::OpTime& time, v1::OpEstimate& proto) {
  for (int i = 0; i < model::kResourceCount; ++i) {
    const auto resource = static_cast<model::Resource>(i);
    const double busy = time.busy[resource].value();
    const double attributed = time.attributed[resource].value();
    if (busy <= 0 && attributed <= 0) continue;
    v1::OpEstimate::ResourceTime& row = *proto.add_resource_times();
    row.set_resource(Text(model::ResourceName(resource)));
    row.set_busy_seconds(busy);
    row.set_attributed_seconds(attributed);
  }
}

void ToProto(const model::WaterfallTier& tier, model::WaterfallRow row,
             model::Seconds step, v1::WaterfallTier& proto) {
  proto.set_tier(Text(model::WaterfallRowName(row)));
  proto.set_moved_bytes(tier.moved.value());
  proto.set_weight_bytes(tier.weights.value());
  proto.set_kv_cache_bytes(tier.kv.value());
  proto.set_activation_bytes(tier.activations.value());
  proto.set_peak_bytes_per_second(tier.peak.value());
  proto.set_busy_seconds(tier.busy.value());
  proto.set_exposed_seconds(tier.exposed.value());
  proto.set_flops(tier.flops.value());
  proto.set_achieved_bytes_per_second(Ratio(tier.moved.value(), step.value()));
  proto.set_share_ratio(Ratio(tier.exposed.value(), step.value()));
  proto.set_busy_bytes_per_second(tier.busy_rate().value());
  proto.set_effective_feed(tier.effective_feed());
}

void AddBoundShares(const model::PhaseEstimate& phase,
                    v1::PhaseEstimate& proto) {
  for (int i = 0; i < model::kBoundCount; ++i) {
    v1::PhaseEstimate::BoundShare& share = *proto.add_bound_shares();
    share.set_bound(BoundToProto(static_cast<model::Bound>(i)));
    share.set_time_ratio(
        Ratio(phase.bound_times[static_cast<size_t>(i)].value(),
              phase.estimate.value()));
  }
}

void AddTierShares(const model::Estimate& estimate, v1::PhaseEstimate& proto) {
  const auto shares = model::TierShares(estimate.ops, estimate.times);
  for (size_t i = shares.size(); i-- > 0;) {
    if (shares[i] == 0) continue;
    v1::PhaseEstimate::TierShare& share = *proto.add_tier_shares();
    share.set_tier(TierToProto(static_cast<model::Tier>(i)));
    share.set_time_ratio(shares[i]);
  }
}

// `time`: of the step or op that `proto` is.
template <class Proto>
void AddWaterfall(const model::Waterfall& waterfall, model::Seconds time,
                  Proto& proto) {
  for (int i = 0; i < model::kWaterfallRowCount; ++i) {
    ToProto(waterfall[static_cast<size_t>(i)],
            static_cast<model::WaterfallRow>(i), time, *proto.add_waterfall());
  }
}

void ToProto(const model::PipelineEstimate& pipeline,
             v1::PhaseEstimate::Pipeline& proto) {
  proto.set_micro_batch_count(pipeline.micro_batches);
  for (model::Seconds time : pipeline.stage_times) {
    proto.add_stage_seconds(time.value());
  }
  proto.set_slowest_stage_index(pipeline.slowest_stage);
  proto.set_bubble_ratio(pipeline.bubble);
  proto.set_steady_step_seconds(pipeline.steady_step.value());
  proto.set_steady_output_tokens_per_second(
      pipeline.steady_output_tokens_per_second);
}

}  // namespace

v1::Tier TierToProto(model::Tier tier) {
  switch (tier) {
    case model::Tier::kSpec:
      return v1::TIER_SPEC;
    case model::Tier::kTransferred:
      return v1::TIER_TRANSFERRED;
    case model::Tier::kCalibrated:
      return v1::TIER_CALIBRATED;
  }
  return v1::TIER_UNSPECIFIED;
}

v1::Bound BoundToProto(model::Bound bound) {
  switch (bound) {
    case model::Bound::kCompute:
      return v1::BOUND_COMPUTE;
    case model::Bound::kMemory:
      return v1::BOUND_MEMORY;
    case model::Bound::kCommunication:
      return v1::BOUND_COMMUNICATION;
    case model::Bound::kOverhead:
      return v1::BOUND_OVERHEAD;
  }
  return v1::BOUND_UNSPECIFIED;
}

void ToProto(const model::Op& op, const model::OpTime& time, std::string name,
             const model::Device& device, v1::OpEstimate& proto) {
  proto.set_op(std::move(name));
  proto.set_op_kind(Text(model::OpKindName(op.kind)));
  proto.set_shape(model::ShapeText(op));
  proto.set_repeat_count(op.repeat);
  ToProto(op.work, *proto.mutable_work());
  proto.set_time_seconds(time.estimate.value());
  proto.set_floor_seconds(time.floor.value());
  proto.set_overlapped_seconds(time.overlapped.value());
  proto.set_serial_seconds(time.serial.value());
  proto.set_p10_seconds(time.p10.value());
  proto.set_p90_seconds(time.p90.value());
  AddResourceTimes(time, proto);
  proto.set_limiting_resource(Text(model::ResourceName(time.limiting)));
  proto.set_bound(BoundToProto(model::BoundOf(time.limiting)));
  proto.set_efficiency_ratio(Ratio(time.floor.value(), time.estimate.value()));
  if (time.family != nullptr) proto.set_kernel_family(time.family->id);
  proto.set_tier(TierToProto(time.tier));
  proto.set_extrapolated(time.extrapolated);
  proto.set_algorithm(model::WayText(time.way));
  proto.set_raised_to_floor(time.raised_to_floor);
  proto.set_advice(model::AdviceFor(op, time, device));
}

void ToProto(const model::Estimate& estimate, const model::Target& target,
             EstimateParts parts, v1::PhaseEstimate& proto) {
  const model::PhaseEstimate& phase = estimate.phase;
  proto.set_phase(Text(model::PhaseName(phase.phase)));
  proto.set_time_seconds(phase.estimate.value());
  AddBoundShares(phase, proto);
  proto.set_bound(BoundToProto(phase.bound));
  proto.set_model_flops_utilization_ratio(phase.model_flops_utilization);
  proto.set_memory_bandwidth_utilization_ratio(
      phase.memory_bandwidth_utilization);
  proto.set_floor_seconds(phase.floor.value());
  proto.set_overlapped_seconds(phase.overlapped.value());
  proto.set_serial_seconds(phase.serial.value());
  proto.set_p10_seconds(phase.p10.value());
  proto.set_p90_seconds(phase.p90.value());
  proto.set_tier(TierToProto(phase.tier));
  AddTierShares(estimate, proto);
  proto.set_output_tokens_per_second(phase.output_tokens_per_second);
  proto.set_draft_seconds(phase.draft.value());
  proto.set_target_model_seconds(phase.target_model().value());
  if (phase.tokens_per_decode.has_value()) {
    proto.set_expected_token_count_per_decode(*phase.tokens_per_decode);
  }
  if (phase.pipeline.stages > 1) {
    ToProto(phase.pipeline, *proto.mutable_pipeline());
  }
  proto.set_hidden_seconds(phase.hidden.value());
  if (parts.waterfall) AddWaterfall(phase.waterfall, phase.estimate, proto);
  if (!parts.ops) return;
  for (size_t i = 0; i < estimate.ops.size(); ++i) {
    const model::Op& op = estimate.ops[i];
    const model::OpTime& time = estimate.times[i];
    v1::OpEstimate& row = *proto.add_ops();
    ToProto(op, time, model::OpName(op, target.graph()),
            target.hardware().device(), row);
    if (parts.waterfall) {
      AddWaterfall(model::WaterfallOf(op, time, target.view()), time.estimate,
                   row);
    }
  }
}

}  // namespace mansard::server
