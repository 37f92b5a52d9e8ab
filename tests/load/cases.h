// The calls that the load generator sends: good and bad ones of every method.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mansard/v1/catalog_service.grpc.pb.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"

namespace mansard::load {

struct Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel);

  std::unique_ptr<v1::EstimationService::Stub> estimation;
  std::unique_ptr<v1::CatalogService::Stub> catalog;
  std::unique_ptr<v1::SchedulingService::Stub> scheduling;
};

// What came back, in one form: equal texts are equal answers.
struct Answer {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string text;
  // The server had no room for another heavy call: says nothing of the answer.
  bool busy = false;
};

// What a mix is made of.
enum class CaseKind {
  kEstimate,
  kKernel,
  kBatch,
  kRoofline,
  kCatalog,
  kImport,
  kScheduling,
  kBad
};
inline constexpr int kCaseKindCount = 8;
const char* CaseKindName(CaseKind kind);

struct Case {
  CaseKind kind = CaseKind::kEstimate;
  // "Estimate"; for the report.
  std::string method;
  // Sends it and waits. `seconds` is the time until the answer was there,
  // without bringing it into one form.
  std::function<Answer(Stubs& stubs, double& seconds)> call;
};

// Decodes, prefills and mixed passes of shipped models on shipped devices at
// several tensor sizes; kernels; batches of 16 and 64, and one of 200 that is
// heavy; rooflines; catalog reads; an import; what schedulers ask about
// "engines/bench"; and requests that are refused, one of each kind.
std::vector<Case> AllCases();
// Makes the engine that the cases are about, where it is not there. False: it
// could not be made.
bool CreateEngine(Stubs& stubs);

}  // namespace mansard::load
