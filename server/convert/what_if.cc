#include "server/convert/what_if.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "model/price/resource.h"

namespace mansard::server {

void ToProto(const model::Sensitivity& sensitivity, model::Seconds step,
             v1::Sensitivity& proto) {
  proto.set_resource(std::string(model::ResourceName(sensitivity.resource)));
  const bool is_time =
      model::BoundOf(sensitivity.resource) == model::Bound::kOverhead;
  proto.set_change_ratio(is_time ? -model::kSensitivityChange
                                 : model::kSensitivityChange);
  proto.set_time_seconds(sensitivity.time.value());
  proto.set_gain_seconds(sensitivity.gain.value());
  proto.set_gain_ratio(sensitivity.gain / step);
  proto.set_share_ratio(sensitivity.share);
}

void ToProto(const model::WhatIf& what_if, v1::WhatIf& proto) {
  proto.set_kind(what_if.kind);
  proto.set_value(what_if.value);
  proto.set_reason(what_if.reason);
  if (!what_if.reason.empty()) return;
  proto.set_time_seconds(what_if.time.value());
  proto.set_seconds_per_token(what_if.per_token.value());
  proto.set_saved_seconds_per_token(what_if.saved.value());
  proto.set_needed_bytes(std::llround(what_if.needed.value()));
  proto.set_available_bytes(std::llround(what_if.available.value()));
  proto.set_fits(what_if.fits);
  proto.set_device_count(what_if.devices);
  if (what_if.cost.has_value()) {
    proto.set_cost_per_million_tokens(*what_if.cost);
  }
}

}  // namespace mansard::server
