// Sensitivities and what-ifs to the wire. Cannot fail.
#pragma once

#include <vector>

#include "mansard/v1/estimation_service.pb.h"
#include "model/estimate/sensitivity.h"
#include "model/estimate/what_if.h"

namespace mansard::server {

// `step`: the time of the pass as it is.
void ToProto(const model::Sensitivity& sensitivity, model::Seconds step,
             v1::Sensitivity& proto);
void ToProto(const model::WhatIf& what_if, v1::WhatIf& proto);

}  // namespace mansard::server
