#include "server/handlers/estimation.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/remedies.h"
#include "server/convert/estimate.h"
#include "server/convert/what_if.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/handlers/subject.h"

namespace mansard::server {
namespace {

// What the pass would be otherwise, as far as it was asked for.
void AddChanges(const Subject& subject, const model::Estimate& estimate,
                v1::EstimateResponse& response) {
  if (subject.parts.sensitivities) {
    for (const model::Sensitivity& row : model::SensitivitiesOf(
             subject.target(), subject.pass, estimate.phase)) {
      ToProto(row, estimate.phase.estimate, *response.add_sensitivities());
    }
  }
  if (!subject.parts.what_if) return;
  ToProto(model::Baseline(subject.target(), estimate, subject.choices),
          *response.mutable_what_if()->mutable_as_is());
  for (const model::WhatIf& change : model::WhatIfsOf(
           subject.target(), subject.pass, estimate, subject.choices)) {
    ToProto(change, *response.mutable_what_if()->add_changes());
  }
}

// Estimates into `estimate`, whose memory serves the next one again.
absl::Status Answer(CallContext& call, const Subject& subject, bool require_fit,
                    model::Estimate& estimate, v1::EstimateResponse& response) {
  model::EstimatePass(subject.target(), subject.pass, estimate);
  const std::vector<model::Remedy> remedies =
      model::RemediesFor(subject.target(), subject.pass, estimate.memory);
  if (require_fit && !estimate.memory.fits) {
    return ModelDoesNotFit(estimate.memory, remedies);
  }
  call.metrics().predictions().Record(subject.target().graph().spec().id,
                                      subject.target().hardware().id(),
                                      estimate, subject.resolved->predictions);
  ToProto(estimate, subject.target(), subject.parts,
          *response.mutable_estimate());
  ToProto(estimate.memory, remedies, subject.target().graph(),
          *response.mutable_memory());
  AddChanges(subject, estimate, response);
  ToProto(subject, estimate, *response.mutable_resolution());
  return absl::OkStatus();
}

// "requests[3]".
std::string RequestPath(int index) {
  return model::Indexed("requests", static_cast<size_t>(index));
}

// All of them, before any is estimated; the first error of the first request
// that has one, once no request breaks a rule.
absl::StatusOr<std::vector<Subject>> ResolveAll(
    const CallContext& call, const v1::BatchEstimateRequest& request) {
  model::Violations violations;
  if (request.requests_size() < 1 ||
      request.requests_size() > kMaxBatchRequests) {
    violations.Add("requests",
                   absl::StrCat("has ", request.requests_size(),
                                " entries; allowed: 1 to ", kMaxBatchRequests));
    return InvalidRequest(violations);
  }
  std::vector<Subject> subjects;
  subjects.reserve(static_cast<size_t>(request.requests_size()));
  TargetResolver targets = call.targets();
  absl::Status first_error;
  for (int i = 0; i < request.requests_size(); ++i) {
    RETURN_IF_ERROR(call.CheckAlive());
    const model::Violations::Scope scope(violations, RequestPath(i));
    absl::StatusOr<Subject> subject =
        Resolve(targets, request.requests(i), violations);
    if (subject.ok()) {
      subjects.push_back(*std::move(subject));
    } else if (first_error.ok()) {
      first_error = AtPath(subject.status(), RequestPath(i));
    }
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(first_error);
  return subjects;
}

}  // namespace

absl::Status Estimate(CallContext& call, const v1::EstimateRequest& request,
                      v1::EstimateResponse& response) {
  model::Violations violations;
  TargetResolver targets = call.targets();
  const absl::StatusOr<Subject> subject = Resolve(targets, request, violations);
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(subject.status());
  model::Estimate estimate;
  return Answer(call, *subject, request.require_fit(), estimate, response);
}

absl::Status BatchEstimate(CallContext& call,
                           const v1::BatchEstimateRequest& request,
                           v1::BatchEstimateResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<Subject> subjects,
                   ResolveAll(call, request));
  model::Estimate estimate;
  size_t bytes = 0;
  for (int i = 0; i < request.requests_size(); ++i) {
    RETURN_IF_ERROR(call.CheckAlive());
    v1::EstimateResponse& answer = *response.add_responses();
    const absl::Status status =
        Answer(call, subjects[static_cast<size_t>(i)],
               request.requests(i).require_fit(), estimate, answer);
    if (!status.ok()) return AtPath(status, RequestPath(i));
    bytes += answer.ByteSizeLong();
    if (bytes > kMaxResponseBytes) return ResponseTooLarge(kMaxResponseBytes);
  }
  return absl::OkStatus();
}

}  // namespace mansard::server
