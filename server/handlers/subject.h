// What one EstimateRequest asks for, checked and looked up: complete, so that
// estimating it cannot fail.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "mansard/v1/estimate.pb.h"
#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "model/estimate/estimate.h"
#include "model/workload/forward_pass.h"
#include "server/catalog/snapshot.h"
#include "server/convert/read_mask.h"

namespace mansard::server {

struct Subject {
  model::Target target;
  model::ForwardPass pass;
  EstimateParts parts;
  // "modelGraphs/llama-3.1-8b@1a2b3c4d5e6f", or "inline@...".
  std::string model_graph_revision;
  std::string hardware_profile_revision;
  std::string content_hash;
};

// Every rule that the request breaks goes to `violations`; a caller looks there
// first: INVALID_REQUEST comes before NOT_FOUND, which comes before
// PRECISION_UNSUPPORTED. What depends on a resource that is not found is not
// checked.
absl::StatusOr<Subject> Resolve(const Snapshot& snapshot,
                                const v1::EstimateRequest& request,
                                model::Violations& violations);

// The provenance of an answer: revisions, hash, assumptions and warnings.
void ToProto(const Subject& subject, const model::Estimate& estimate,
             v1::Resolution& proto);

}  // namespace mansard::server
