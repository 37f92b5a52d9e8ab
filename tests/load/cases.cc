#include "tests/load/cases.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/load/scheduling_requests.h"

namespace mansard::load {
namespace {

// Maps in the order of their keys, so that equal messages are equal bytes.
std::string Deterministic(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// The details of an error hold maps inside of Any.
std::string DetailsText(const std::string& bytes, bool& busy) {
  google::rpc::Status details;
  if (!details.ParseFromString(bytes)) return bytes;
  std::string text = details.message();
  for (const google::protobuf::Any& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) {
      busy |= info.reason() == "TOO_MANY_HEAVY_CALLS";
      absl::StrAppend(&text, "\n", Deterministic(info));
    } else {
      absl::StrAppend(&text, "\n", detail.type_url(), " ", detail.value());
    }
  }
  return text;
}

template <class Stub, class Request, class Response>
using Call = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                    Response*);

Answer ToAnswer(const grpc::Status& status,
                const google::protobuf::MessageLite& response) {
  Answer answer;
  answer.code = status.error_code();
  answer.text = status.ok() ? Deterministic(response)
                            : DetailsText(status.error_details(), answer.busy);
  return answer;
}

template <class Stub, class Request, class Response>
Case MakeCase(CaseKind kind, const char* method,
              std::unique_ptr<Stub> Stubs::*stub,
              Call<Stub, Request, Response> call, Request request) {
  const auto send = [stub, call, request = std::move(request)](
                        Stubs& stubs, double& seconds) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::minutes(2));
    Response response;
    const auto start = std::chrono::steady_clock::now();
    const grpc::Status status =
        ((*(stubs.*stub)).*call)(&context, request, &response);
    seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    return ToAnswer(status, response);
  };
  return {kind, method, send};
}

// The texts below are ours: one that does not parse is a mistake here.
template <class Message>
Message Parse(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) {
    std::abort();
  }
  return message;
}

struct Place {
  const char* model;
  const char* hardware;
  int tensor;
};
constexpr Place kPlaces[] = {
    {"llama-3.1-8b", "h100-sxm", 1},      {"llama-3.1-8b", "l40s", 1},
    {"llama-3.1-8b", "a100-sxm-80gb", 2}, {"llama-3.1-70b", "h200-sxm", 4},
    {"llama-3.1-70b", "b200-sxm", 8},     {"llama-3.1-70b", "mi300x", 2},
    {"mixtral-8x7b", "h100-sxm", 2},      {"deepseek-v3", "h200-sxm", 8},
};
constexpr const char* kPasses[] = {
    "groups { role: ROLE_DECODE request_count: 1 new_token_count: 1 "
    "prior_token_count: 1023 }",
    "groups { role: ROLE_DECODE request_count: 64 new_token_count: 1 "
    "prior_token_count: 4095 }",
    "groups { role: ROLE_PREFILL request_count: 2 new_token_count: 2048 }",
    "groups { role: ROLE_DECODE request_count: 32 new_token_count: 1 "
    "prior_token_count: 2000 } "
    "groups { role: ROLE_PREFILL request_count: 1 new_token_count: 512 "
    "prior_token_count: 512 }",
};
constexpr const char* kMasks[] = {
    "", "read_mask { paths: 'estimate.ops' paths: 'estimate.waterfall' }"};

v1::EstimateRequest EstimateOf(const Place& place, const char* pass,
                               const char* mask = "") {
  return Parse<v1::EstimateRequest>(
      absl::StrCat("target { model_graph: 'modelGraphs/", place.model,
                   "' hardware_profile: 'hardwareProfiles/", place.hardware,
                   "' parallelism { tensor_size: ", place.tensor,
                   " } } forward_pass { ", pass, " } ", mask));
}

void AddEstimates(std::vector<Case>& cases) {
  for (const Place& place : kPlaces) {
    for (const char* pass : kPasses) {
      for (const char* mask : kMasks) {
        cases.push_back(MakeCase(CaseKind::kEstimate, "Estimate",
                                 &Stubs::estimation,
                                 &v1::EstimationService::Stub::Estimate,
                                 EstimateOf(place, pass, mask)));
      }
    }
  }
}

void AddKernels(std::vector<Case>& cases) {
  constexpr const char* kKernels[] = {
      "gemm { m: 64 n: 8192 k: 8192 }",
      "gemm { m: 4096 n: 4096 k: 4096 batch_count: 4 }",
      "attention { forward_pass { groups { role: ROLE_DECODE request_count: 8 "
      "new_token_count: 1 prior_token_count: 4095 } } attention { "
      "query_head_count: 32 grouped_query { kv_head_count: 8 head_size: 128 } "
      "} }",
      "collective { collective: 'all_reduce' message_bytes: 1e8 rank_count: 8 "
      "}",
      "elementwise { operation: 'norm' row_count: 64 column_count: 8192 }",
  };
  for (const char* hardware : {"h100-sxm", "b200-sxm"}) {
    for (const char* kernel : kKernels) {
      cases.push_back(
          MakeCase(CaseKind::kKernel, "EstimateKernel", &Stubs::estimation,
                   &v1::EstimationService::Stub::EstimateKernel,
                   Parse<v1::EstimateKernelRequest>(absl::StrCat(
                       "target { hardware_profile: 'hardwareProfiles/",
                       hardware, "' } ", kernel))));
    }
  }
}

v1::BatchEstimateRequest BatchOf(int size) {
  v1::BatchEstimateRequest batch;
  for (int i = 0; i < size; ++i) {
    v1::EstimateRequest& one = *batch.add_requests();
    one = EstimateOf(kPlaces[static_cast<size_t>(i) % std::size(kPlaces)],
                     kPasses[static_cast<size_t>(i / 3) % std::size(kPasses)]);
    one.mutable_forward_pass()->mutable_groups(0)->set_request_count(1 +
                                                                     i % 16);
  }
  return batch;
}

void AddBatches(std::vector<Case>& cases) {
  for (int size : {16, 64, 16, 200}) {
    cases.push_back(
        MakeCase(CaseKind::kBatch, "BatchEstimate", &Stubs::estimation,
                 &v1::EstimationService::Stub::BatchEstimate, BatchOf(size)));
  }
}

void AddRooflines(std::vector<Case>& cases) {
  for (const Place& place : {kPlaces[0], kPlaces[3]}) {
    for (const char* level : {"hbm", "l2"}) {
      v1::ExplainRooflineRequest request;
      *request.mutable_request() = EstimateOf(place, kPasses[1]);
      request.set_level(level);
      cases.push_back(MakeCase(
          CaseKind::kRoofline, "ExplainRoofline", &Stubs::estimation,
          &v1::EstimationService::Stub::ExplainRoofline, std::move(request)));
    }
  }
}

void AddCatalogReads(std::vector<Case>& cases) {
  using Stub = v1::CatalogService::Stub;
  const auto add = [&cases](const char* method, auto call, auto request) {
    cases.push_back(MakeCase(CaseKind::kCatalog, method, &Stubs::catalog, call,
                             std::move(request)));
  };
  add("GetServerInfo", &Stub::GetServerInfo, v1::GetServerInfoRequest());
  add("GetModelGraph", &Stub::GetModelGraph,
      Parse<v1::GetModelGraphRequest>("name: 'modelGraphs/llama-3.1-70b'"));
  add("ListModelGraphs", &Stub::ListModelGraphs, v1::ListModelGraphsRequest());
  add("GetHardwareProfile", &Stub::GetHardwareProfile,
      Parse<v1::GetHardwareProfileRequest>(
          "name: 'hardwareProfiles/h200-sxm'"));
  add("ListHardwareProfiles", &Stub::ListHardwareProfiles,
      Parse<v1::ListHardwareProfilesRequest>("page_size: 3"));
}

v1::ImportHuggingFaceConfigRequest Import(const std::string& json) {
  v1::ImportHuggingFaceConfigRequest request;
  request.set_config_json(json);
  return request;
}

void AddImports(std::vector<Case>& cases) {
  cases.push_back(MakeCase(
      CaseKind::kImport, "ImportHuggingFaceConfig", &Stubs::catalog,
      &v1::CatalogService::Stub::ImportHuggingFaceConfig,
      Import(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 2048,
                 "intermediate_size": 5632, "num_hidden_layers": 22,
                 "num_attention_heads": 32, "num_key_value_heads": 4,
                 "vocab_size": 32000, "max_position_embeddings": 2048,
                 "torch_dtype": "bfloat16", "model_type": "llama"})")));
}

// The last message of a stream of a few.
Case StreamCase() {
  const auto send = [](Stubs& stubs, double& seconds) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::minutes(2));
    const auto start = std::chrono::steady_clock::now();
    const auto stream = stubs.scheduling->StreamPredictions(&context);
    v1::StreamPredictionsResponse response;
    for (int groups = 1; groups <= 4; ++groups) {
      if (!stream->Write(StepMessage(groups)) || !stream->Read(&response)) {
        break;
      }
    }
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    return ToAnswer(status, response);
  };
  return {CaseKind::kScheduling, "StreamPredictions", send};
}

void AddScheduling(std::vector<Case>& cases) {
  using Stub = v1::SchedulingService::Stub;
  const auto add = [&cases](const char* method, auto call, auto request) {
    cases.push_back(MakeCase(CaseKind::kScheduling, method, &Stubs::scheduling,
                             call, std::move(request)));
  };
  add("RecommendBatchSize", &Stub::RecommendBatchSize, RecommendRequest());
  add("RecommendBatchSize", &Stub::RecommendBatchSize,
      FullRecommendRequest(64));
  for (int rows : {1, 16, 512}) {
    add("PredictLatencies", &Stub::PredictLatencies, LatenciesRequest(rows));
  }
  for (int rows : {1, 1000, 20'000}) {
    add("PredictSteps", &Stub::PredictSteps, StepsRequest(rows));
  }
  add("FindEngineCapacity", &Stub::FindEngineCapacity, CapacityRequest());
  v1::FitLatencyModelRequest fit;
  fit.set_engine(CapacityRequest().engine());
  *fit.mutable_shape() = CapacityRequest().shape();
  add("FitLatencyModel", &Stub::FitLatencyModel, fit);
  cases.push_back(StreamCase());
}

void AddBadEstimates(std::vector<Case>& cases) {
  const auto add = [&cases](const v1::EstimateRequest& request) {
    cases.push_back(MakeCase(CaseKind::kBad, "Estimate", &Stubs::estimation,
                             &v1::EstimationService::Stub::Estimate, request));
  };
  add({});
  add(EstimateOf({"llama-3.1-8", "h100-sxm", 1}, kPasses[0]));
  add(EstimateOf({"llama-3.1-8b", "h100-smx", 1}, kPasses[0]));
  add(EstimateOf({"llama-3.1-8b", "h100-sxm", 3}, kPasses[0]));
  add(EstimateOf(kPlaces[0],
                 "groups { role: ROLE_DECODE request_count: -1 "
                 "new_token_count: 0 prior_token_count: -5 }"));
  add(EstimateOf(kPlaces[0],
                 "groups { role: ROLE_PREFILL request_count: "
                 "2147483647 new_token_count: 2147483647 }"));
  add(EstimateOf(kPlaces[0],
                 "groups { role: ROLE_DECODE request_count: 1 new_token_count: "
                 "1 prior_token_count: 10000000 }"));
  add(EstimateOf({"llama-3.1-70b", "l40s", 1}, kPasses[0],
                 "require_fit: true"));
  v1::EstimateRequest bad_format = EstimateOf(kPlaces[0], kPasses[0]);
  bad_format.mutable_target()->mutable_precision()->set_weights("fp4-e2m1");
  add(bad_format);
}

void AddBadOthers(std::vector<Case>& cases) {
  for (const std::string& json :
       {std::string(20'000, '['), std::string("{\"hidden_size\": Infinity}"),
        std::string("not json"),
        std::string(R"({"architectures": ["MambaForCausalLM"]})")}) {
    cases.push_back(MakeCase(
        CaseKind::kBad, "ImportHuggingFaceConfig", &Stubs::catalog,
        &v1::CatalogService::Stub::ImportHuggingFaceConfig, Import(json)));
  }
  v1::BatchEstimateRequest batch = BatchOf(8);
  batch.mutable_requests(5)->clear_forward_pass();
  cases.push_back(MakeCase(CaseKind::kBad, "BatchEstimate", &Stubs::estimation,
                           &v1::EstimationService::Stub::BatchEstimate, batch));
  cases.push_back(MakeCase(CaseKind::kBad, "EstimateKernel", &Stubs::estimation,
                           &v1::EstimationService::Stub::EstimateKernel,
                           v1::EstimateKernelRequest()));
  v1::RecommendBatchSizeRequest recommend;
  recommend.set_engine("engines/absent");
  cases.push_back(
      MakeCase(CaseKind::kBad, "RecommendBatchSize", &Stubs::scheduling,
               &v1::SchedulingService::Stub::RecommendBatchSize, recommend));
  v1::PredictStepsRequest steps = StepsRequest(100);
  steps.set_decode_request_counts(57, -1);
  cases.push_back(MakeCase(CaseKind::kBad, "PredictSteps", &Stubs::scheduling,
                           &v1::SchedulingService::Stub::PredictSteps, steps));
  cases.push_back(MakeCase(
      CaseKind::kBad, "ListModelGraphs", &Stubs::catalog,
      &v1::CatalogService::Stub::ListModelGraphs,
      Parse<v1::ListModelGraphsRequest>("page_size: -1 page_token: 'x'")));
}

}  // namespace

Stubs::Stubs(const std::shared_ptr<grpc::Channel>& channel)
    : estimation(v1::EstimationService::NewStub(channel)),
      catalog(v1::CatalogService::NewStub(channel)),
      scheduling(v1::SchedulingService::NewStub(channel)) {}

const char* CaseKindName(CaseKind kind) {
  switch (kind) {
    case CaseKind::kEstimate:
      return "estimate";
    case CaseKind::kKernel:
      return "kernel";
    case CaseKind::kBatch:
      return "batch";
    case CaseKind::kRoofline:
      return "roofline";
    case CaseKind::kCatalog:
      return "catalog";
    case CaseKind::kImport:
      return "import";
    case CaseKind::kScheduling:
      return "scheduling";
    case CaseKind::kBad:
      return "bad";
  }
  return "";
}

bool CreateEngine(Stubs& stubs) {
  grpc::ClientContext context;
  v1::Engine engine;
  const grpc::Status status =
      stubs.catalog->CreateEngine(&context, CreateBenchEngine(), &engine);
  return status.ok() || status.error_code() == grpc::StatusCode::ALREADY_EXISTS;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  AddEstimates(cases);
  AddKernels(cases);
  AddBatches(cases);
  AddRooflines(cases);
  AddCatalogReads(cases);
  AddImports(cases);
  AddScheduling(cases);
  AddBadEstimates(cases);
  AddBadOthers(cases);
  return cases;
}

}  // namespace mansard::load
