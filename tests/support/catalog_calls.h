// Calls of the catalog's services in tests.
#pragma once

#include <grpcpp/client_context.h>

#include <memory>

#include "mansard/v1/calibration_service.grpc.pb.h"
#include "mansard/v1/catalog_service.grpc.pb.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {

// The answer of a call, and its error.
template <class Response>
struct Called {
  grpc::Status status;
  Response response;

  bool ok() const { return status.ok(); }
  ErrorFacts facts() const { return FactsOf(status); }
};

template <class Stub, class Request, class Response>
Called<Response> CallOf(Stub& stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                     const Request&, Response*),
                        const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  Called<Response> called;
  called.status = (stub.*method)(&context, request, &called.response);
  return called;
}

}  // namespace mansard::testing
