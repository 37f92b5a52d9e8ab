// Bytes as a scheduler's question to the server's handlers, in process: answers
// have finite numbers and intervals around their times; an error has a reason
// and says what is wrong, also that of a row or a message.
//
// The first byte decides the method, in the order of kMethods. The rest is its
// request in the binary wire format.
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/server_context.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "server/env.h"
#include "server/handlers/scheduling.h"
#include "server/rpc.h"
#include "tests/fuzz/errors.h"
#include "tests/fuzz/property.h"

namespace {

namespace fuzz = ::mansard::fuzz;
namespace model = ::mansard::model;
namespace server = ::mansard::server;
namespace v1 = ::mansard::v1;
using fuzz::Require;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Put(server::Catalog& catalog, const std::string& id,
         const std::string& graph, v1::Engine said) {
  said.mutable_target()->set_model_graph("modelGraphs/" + graph);
  said.mutable_target()->set_hardware_profile("hardwareProfiles/h200-sxm");
  server::CatalogWriter writer(catalog);
  model::Violations violations;
  const auto entry = server::MakeEntry(writer.snapshot(), id, said, nullptr,
                                       writer.now(), violations);
  Require(entry.ok(), "an engine is resolved", violations.ToStatus());
  Require(writer.Put(id, *entry, /*validate_only=*/false).ok(),
          "an engine is kept");
}

// With engines of each role, one without curves ("s"), one whose model drafts
// ("m") and one that its model does not fit ("n").
server::ServerEnv& Env() {
  static server::ServerEnv& env = *[] {
    auto catalog = server::Catalog::OpenInMemory();
    Require(catalog.ok(), "the catalog loads", catalog.status());
    v1::Engine said;
    Put(**catalog, "a", "llama-3.1-8b", said);
    Put(**catalog, "n", "llama-3.1-405b", said);
    said.set_role(v1::Engine::ROLE_PREFILL);
    Put(**catalog, "p", "llama-3.1-8b", said);
    said.set_role(v1::Engine::ROLE_DECODE);
    Put(**catalog, "d", "llama-3.1-8b", said);
    said.clear_role();
    said.mutable_target()->mutable_parallelism()->set_pipeline_size(2);
    Put(**catalog, "s", "qwen3-0.6b", said);
    said.mutable_target()->mutable_parallelism()->set_pipeline_size(1);
    said.mutable_target()->mutable_parallelism()->set_tensor_size(8);
    Put(**catalog, "m", "deepseek-v3", said);
    return new server::ServerEnv(server::LogLevel::kOff, *std::move(catalog),
                                 /*heavy_threads=*/1, /*heavy_queue=*/1);
  }();
  return env;
}

void RequireStatus(const google::rpc::Status& error) {
  absl::Status status(static_cast<absl::StatusCode>(error.code()),
                      error.message());
  Require(!status.ok() && !error.message().empty() && error.details_size() > 0,
          "an error of a row has a reason", error);
}

void RequireNumber(const Message& message, const FieldDescriptor& field,
                   double number) {
  const bool signed_number = field.name() == "slo_headroom_seconds";
  Require(std::isfinite(number) && (signed_number || number >= 0),
          field.name().c_str(), message);
}

// Every number below it.
void RequireNumbers(const Message& message) {
  if (message.GetDescriptor() == google::rpc::Status::descriptor()) {
    RequireStatus(static_cast<const google::rpc::Status&>(message));
    return;
  }
  if (message.GetDescriptor() == v1::TimePrediction::descriptor()) {
    const auto& time = static_cast<const v1::TimePrediction&>(message);
    Require(time.p10_seconds() <= time.seconds() &&
                time.seconds() <= time.p90_seconds(),
            "an interval is around its time", time);
  }
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool repeated = field->is_repeated();
    const int count = repeated ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
        RequireNumber(message, *field,
                      repeated ? reflection.GetRepeatedDouble(message, field, i)
                               : reflection.GetDouble(message, field));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        RequireNumbers(repeated
                           ? reflection.GetRepeatedMessage(message, field, i)
                           : reflection.GetMessage(message, field));
      }
    }
  }
}

template <class Request, class Response,
          server::Handler<Request, Response> handler>
void Call(const uint8_t* data, size_t size) {
  Request request;
  // What does not parse never reaches a handler.
  if (!request.ParseFromArray(data, static_cast<int>(size))) return;
  const grpc::CallbackServerContext context;
  server::CallContext call(Env(), context);
  Response response;
  const absl::Status status = handler(call, request, response);
  if (status.ok()) {
    RequireNumbers(response);
  } else {
    fuzz::RequireError(status);
  }
}

void AnswerMessage(const uint8_t* data, size_t size) {
  v1::StreamPredictionsRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return;
  const grpc::CallbackServerContext context;
  server::CallContext call(Env(), context);
  server::StepStream stream;
  v1::StreamPredictionsResponse response;
  server::PredictStep(call, stream, request, response);
  Require(
      response.outcome_case() != v1::StreamPredictionsResponse::OUTCOME_NOT_SET,
      "a message is answered", response);
  RequireNumbers(response);
}

constexpr void (*kMethods[])(const uint8_t* data, size_t size) = {
    Call<v1::RecommendBatchSizeRequest, v1::RecommendBatchSizeResponse,
         &server::RecommendBatchSize>,
    Call<v1::PredictLatenciesRequest, v1::PredictLatenciesResponse,
         &server::PredictLatencies>,
    Call<v1::PredictStepsRequest, v1::PredictStepsResponse,
         &server::PredictSteps>,
    Call<v1::FindEngineCapacityRequest, v1::FindEngineCapacityResponse,
         &server::FindEngineCapacity>,
    Call<v1::FitLatencyModelRequest, v1::FitLatencyModelResponse,
         &server::FitLatencyModel>,
    AnswerMessage,
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // Every input that is not UTF-8 would be a line.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // Seeds begin with a digit, '0' for the first.
  constexpr size_t kCount = sizeof(kMethods) / sizeof(kMethods[0]);
  kMethods[static_cast<size_t>(data[0]) % kCount](data + 1, size - 1);
  return 0;
}
