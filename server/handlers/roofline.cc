#include "server/handlers/roofline.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/roofline.h"
#include "server/convert/estimate.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/handlers/subject.h"

namespace mansard::server {
namespace {

std::optional<model::RooflineLevel> LevelOf(const std::string& name,
                                            model::Violations& violations) {
  if (name.empty() || name == "hbm") return model::RooflineLevel::kHbm;
  if (name == "l2") return model::RooflineLevel::kL2;
  violations.Add("level", absl::StrCat("is \"", name, "\"; allowed: hbm, l2"));
  return std::nullopt;
}

void ToProto(const model::RooflineCeiling& ceiling,
             v1::ExplainRooflineResponse::Ceiling& proto) {
  proto.set_label(ceiling.label);
  if (ceiling.rate.has_value()) {
    proto.set_flops_per_second(ceiling.rate->value());
  }
  if (ceiling.bandwidth.has_value()) {
    proto.set_bytes_per_second(ceiling.bandwidth->value());
  }
  proto.set_calibrated(ceiling.calibrated);
  proto.set_ridge_flops_per_byte(ceiling.ridge.value());
}

void ToProto(const model::RooflinePoint& point, const model::Estimate& estimate,
             const model::ModelGraph& graph,
             v1::ExplainRooflineResponse::Point& proto) {
  const model::Op& op = estimate.ops[point.op];
  const model::Resource limiting = estimate.times[point.op].limiting;
  proto.set_op(model::OpName(op, graph));
  proto.set_arithmetic_intensity_flops_per_byte(point.intensity.value());
  proto.set_achieved_flops_per_second(point.achieved.value());
  proto.set_time_ratio(point.time_ratio);
  proto.set_bound(BoundToProto(model::BoundOf(limiting)));
  proto.set_limiting_resource(std::string(model::ResourceName(limiting)));
  proto.set_repeat_count(op.repeat);
}

void ToProto(const model::RooflineCrossover& crossover,
             const model::Estimate& estimate, const model::ModelGraph& graph,
             v1::ExplainRooflineResponse::Crossover& proto) {
  proto.set_op(crossover.op.has_value()
                   ? model::OpName(estimate.ops[*crossover.op], graph)
                   : "step");
  proto.set_axis(std::string(model::RooflineAxisName(crossover.axis)));
  proto.set_value(static_cast<double>(crossover.value));
  proto.set_from_resource(crossover.from);
  proto.set_to_resource(crossover.to);
  proto.set_calibrated(crossover.calibrated);
}

}  // namespace

absl::Status ExplainRoofline(CallContext& call,
                             const v1::ExplainRooflineRequest& request,
                             v1::ExplainRooflineResponse& response) {
  model::Violations violations;
  const std::optional<model::RooflineLevel> level =
      LevelOf(request.level(), violations);
  absl::StatusOr<Subject> subject = absl::InvalidArgumentError("no request");
  if (request.has_request()) {
    const model::Violations::Scope scope(violations, "request");
    if (request.request().has_read_mask()) {
      violations.Add("read_mask", "is set; the answer has no parts to choose");
    }
    TargetResolver targets = call.targets();
    subject = Resolve(targets, request.request(), violations);
  } else {
    violations.Add("request", "is required");
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(subject.status());

  const model::Estimate estimate =
      model::EstimatePass(subject->target(), subject->pass);
  if (request.request().require_fit() && !estimate.memory.fits) {
    return ModelDoesNotFit(
        estimate.memory,
        model::RemediesFor(subject->target(), subject->pass, estimate.memory));
  }
  // The search for the crossovers is the longest part.
  absl::Status alive = call.CheckAlive();
  RETURN_IF_ERROR(alive);
  const std::optional<model::Roofline> roofline = model::ExplainRoofline(
      subject->target(), subject->pass, estimate, *level, [&call, &alive] {
        alive = call.CheckAlive();
        return alive.ok();
      });
  if (!roofline.has_value()) return alive;
  const model::ModelGraph& graph = subject->target().graph();
  for (const model::RooflineCeiling& ceiling : roofline->ceilings) {
    ToProto(ceiling, *response.add_ceilings());
  }
  for (const model::RooflinePoint& point : roofline->points) {
    ToProto(point, estimate, graph, *response.add_points());
  }
  for (const model::RooflineCrossover& crossover : roofline->crossovers) {
    ToProto(crossover, estimate, graph, *response.add_crossovers());
  }
  response.set_time_seconds(estimate.phase.estimate.value());
  ToProto(*subject, estimate, *response.mutable_resolution());
  return absl::OkStatus();
}

}  // namespace mansard::server
