// What one EstimateRequest asks for, checked and looked up: complete, so that
// estimating it cannot fail.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mansard/v1/estimate.pb.h"
#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "model/estimate/estimate.h"
#include "model/estimate/what_if.h"
#include "model/workload/forward_pass.h"
#include "server/convert/read_mask.h"
#include "server/handlers/target_resolver.h"

namespace mansard::server {

struct Subject {
  std::shared_ptr<const ResolvedTarget> resolved;
  model::ForwardPass pass;
  EstimateParts parts;
  model::WhatIfChoices choices;
  std::string content_hash;
  // Null: of a target.
  const EngineEntry* engine = nullptr;
  bool from_sums = false;  // The pass is one of many with the caller's sums.

  const model::Target& target() const { return resolved->target; }
};

// Every rule that the request breaks goes to `violations`; a caller looks there
// first: INVALID_REQUEST comes before NOT_FOUND, which comes before
// PRECISION_UNSUPPORTED and ENGINE_BROKEN. What depends on a resource that is
// not found is not checked.
absl::StatusOr<Subject> Resolve(TargetResolver& targets,
                                const v1::EstimateRequest& request,
                                model::Violations& violations);

// The provenance of an answer: revisions, hash, assumptions and warnings.
void ToProto(const Subject& subject, const model::Estimate& estimate,
             v1::Resolution& proto);

}  // namespace mansard::server
