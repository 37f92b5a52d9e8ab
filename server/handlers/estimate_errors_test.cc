// What EstimationService refuses, and what the caller reads, over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr char kTarget[] = R"pb(
  target {
    model_graph: "modelGraphs/llama-3.1-8b"
    hardware_profile: "hardwareProfiles/h100-sxm"
  }
)pb";
constexpr char kPass[] = R"pb(
  forward_pass {
    groups { role: ROLE_DECODE request_count: 1 new_token_count: 1 }
  }
)pb";

TestServer& SharedServer() {
  static TestServer* const kServer = new TestServer;
  return *kServer;
}

ErrorFacts Refused(const std::string& request) {
  v1::EstimateResponse response;
  const grpc::Status status =
      SharedServer().Estimate(Parse<v1::EstimateRequest>(request), &response);
  EXPECT_FALSE(status.ok()) << request;
  ErrorFacts facts = FactsOf(status);
  EXPECT_EQ(facts.domain, "mansard");
  return facts;
}

struct InvalidCase {
  const char* name;
  std::string request;
  // All of them, sorted.
  std::vector<std::string> fields;

  friend std::ostream& operator<<(std::ostream& out, const InvalidCase& row) {
    return out << row.name;
  }
};

class InvalidRequestTest : public ::testing::TestWithParam<InvalidCase> {};

TEST_P(InvalidRequestTest, NamesEveryField) {
  const ErrorFacts facts = Refused(GetParam().request);
  EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT) << facts;
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(facts.Fields(), ElementsAreArray(GetParam().fields)) << facts;
  for (const auto& [field, description] : facts.violations) {
    EXPECT_FALSE(description.empty()) << field;
  }
}

// A pass of one group with these fields.
std::string PassOf(const std::string& group) {
  return "forward_pass { groups { " + group + " } }";
}

std::vector<InvalidCase> InvalidCases() {
  const std::string target(kTarget);
  const std::string pass(kPass);
  return {
      {"Empty", "", {"forward_pass", "target"}},
      {"EmptyTarget",
       "target {}" + pass,
       {"target.hardware_profile", "target.model_graph"}},
      {"EmptyPass", target + "forward_pass {}", {"forward_pass.groups"}},
      {"NamesAreNoNames",
       "target { model_graph: 'llama' hardware_profile: 'modelGraphs/a' }" +
           pass,
       {"target.hardware_profile", "target.model_graph"}},
      {"ZeroCounts",
       target + PassOf("role: ROLE_DECODE"),
       {"forward_pass.groups[0].new_token_count",
        "forward_pass.groups[0].request_count"}},
      {"NegativeCounts",
       target + PassOf("role: ROLE_PREFILL request_count: -1 "
                       "new_token_count: -2 prior_token_count: -3"),
       {"forward_pass.groups[0].new_token_count",
        "forward_pass.groups[0].prior_token_count",
        "forward_pass.groups[0].request_count"}},
      {"HugeCounts",
       target + PassOf("role: ROLE_PREFILL request_count: 2147483647 "
                       "new_token_count: 2147483647 prior_token_count: 0"),
       {"forward_pass.groups[0].new_token_count",
        "forward_pass.groups[0].request_count"}},
      {"NoRole",
       target + PassOf("request_count: 1 new_token_count: 1"),
       {"forward_pass.groups[0].role"}},
      {"TensorSizeDividesNothing",
       target + pass + "target { parallelism { tensor_size: 7 } }",
       {"target.parallelism.tensor_size"}},
      {"NegativeTensorSize",
       target + pass + "target { parallelism { tensor_size: -8 } }",
       {"target.parallelism.tensor_size"}},
      // 32 query heads.
      {"TensorSizeBeyondTheHeads",
       target + pass + "target { parallelism { tensor_size: 64 } }",
       {"target.parallelism.tensor_size"}},
      {"TooManyStagesAndExpertsWithoutAny",
       target + pass +
           "target { parallelism { pipeline_size: 33 expert_size: 2 } }",
       {"target.parallelism.expert_size", "target.parallelism.pipeline_size"}},
      {"NegativeSizes",
       target + pass +
           "target { parallelism { data_size: -1 context_size: -2 "
           "moe_tensor_size: -3 node_count: -4 micro_batch_count: -5 } }",
       {"target.parallelism.context_size", "target.parallelism.data_size",
        "target.parallelism.micro_batch_count",
        "target.parallelism.moe_tensor_size", "target.parallelism.node_count"}},
      {"TooManyDevices",
       target + pass +
           "target { parallelism { tensor_size: 32 data_size: 65536 } }",
       {"target.parallelism.data_size"}},
      {"NodesThatAreTooFew",
       target + pass +
           "target { parallelism { tensor_size: 16 node_count: 1 } }",
       {"target.parallelism.node_count"}},
      {"MicroBatchesWithoutAPipeline",
       target + pass + "target { parallelism { micro_batch_count: 2 } }",
       {"target.parallelism.micro_batch_count"}},
      {"UnknownFormats",
       target + pass +
           "target { precision { weights: 'fp7' activations: 'x' "
           "kv_cache: 'FP8' } }",
       {"target.precision.activations", "target.precision.kv_cache",
        "target.precision.weights"}},
      {"KvHeadsDivideNothing",
       target + pass + "target { kv_head_count: 5 }",
       {"target.kv_head_count"}},
      {"ZeroKvHeads",
       target + pass + "target { kv_head_count: 0 }",
       {"target.kv_head_count"}},
      {"UnknownMaskPath",
       target + pass + "read_mask { paths: ['estimate.ops', 'ops'] }",
       {"read_mask.paths[1]"}},
      {"InlineGraph",
       pass + R"pb(target {
                     hardware_profile: "hardwareProfiles/h100-sxm"
                     inline_model_graph {
                       hidden_size: 4096
                       vocabulary_size: 100
                       layer_kinds {
                         kind: "dense"
                         attention {
                           query_head_count: 0
                           grouped_query { kv_head_count: 8 head_size: 128 }
                         }
                         dense { intermediate_size: -1 }
                       }
                       layer_count: 2
                       max_context_token_count: 4096
                       native_precision {
                         weights: "bf16"
                         activations: "bf16"
                         kv_cache: "bf16"
                       }
                     }
                   })pb",
       {"target.inline_model_graph.layer_kinds[0].attention.query_head_count",
        "target.inline_model_graph.layer_kinds[0].dense.intermediate_size"}},
      {"EverythingAtOnce",
       target + "target { precision { weights: 'fp7' } "
                "parallelism { tensor_size: 7 } kv_head_count: 5 }"
                "forward_pass { groups { role: ROLE_DECODE request_count: 1 "
                "new_token_count: 1 } groups { new_token_count: 1 } }"
                "read_mask { paths: 'x' }",
       {"forward_pass.groups[1].request_count", "forward_pass.groups[1].role",
        "read_mask.paths[0]", "target.kv_head_count",
        "target.parallelism.tensor_size", "target.precision.weights"}},
      // What is not found comes after what is broken.
      {"BrokenBeforeNotFound",
       "target { model_graph: 'modelGraphs/absent' "
       "hardware_profile: 'hardwareProfiles/absent' "
       "precision { kv_cache: 'x' } }" +
           PassOf("role: ROLE_DECODE new_token_count: 1"),
       {"forward_pass.groups[0].request_count", "target.precision.kv_cache"}},
  };
}

INSTANTIATE_TEST_SUITE_P(, InvalidRequestTest,
                         ::testing::ValuesIn(InvalidCases()),
                         [](const auto& row) {
                           return std::string(row.param.name);
                         });

TEST(EstimateErrors, ContextBeyondTheModelsIsRefused) {
  const ErrorFacts facts =
      Refused(std::string(kTarget) +
              PassOf("role: ROLE_DECODE request_count: 1 new_token_count: 1 "
                     "prior_token_count: 131072"));
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  ASSERT_EQ(facts.violations.size(), 1u) << facts;
  EXPECT_THAT(facts.violations[0].first, HasSubstr("forward_pass.groups[0]"));
  EXPECT_THAT(facts.violations[0].second, HasSubstr("131072"));
}

struct NotFoundCase {
  const char* target;
  const char* reason;
  const char* message;
  const char* resource_type;
  const char* resource_name;
};

TEST(EstimateErrors, WhatIsNotFoundIsNamedWithTheClosest) {
  const NotFoundCase kCases[] = {
      {"hardware_profile: 'hardwareProfiles/h100-smx'",
       "HARDWARE_PROFILE_NOT_FOUND",
       "No hardware profile named \"h100-smx\" (did you mean \"h100-sxm\"",
       "mansard.v1.HardwareProfile", "hardwareProfiles/h100-smx"},
      {"model_graph: 'modelGraphs/llama-3.1-7b'", "MODEL_GRAPH_NOT_FOUND",
       "No model graph named \"llama-3.1-7b\" (did you mean \"llama-3.1-",
       "mansard.v1.ModelGraph", "modelGraphs/llama-3.1-7b"},
      {"kernel_stack: 'genric'", "KERNEL_STACK_NOT_FOUND",
       "No kernel stack named \"genric\" (did you mean \"generic\"?)",
       "mansard.v1.KernelStack", "genric"},
      {"fabric: 'hgx-nvlink4'", "FABRIC_NOT_FOUND",
       "No fabric named \"hgx-nvlink4\" (did you mean \"hgx-nvlink4-",
       "mansard.v1.Fabric", "hgx-nvlink4"},
  };
  for (const NotFoundCase& test : kCases) {
    const ErrorFacts facts =
        Refused(std::string(kTarget) + kPass + "target { " + test.target + "}");
    EXPECT_EQ(facts.code, grpc::StatusCode::NOT_FOUND) << facts;
    EXPECT_EQ(facts.reason, test.reason) << facts;
    EXPECT_THAT(facts.message, HasSubstr(test.message));
    EXPECT_EQ(facts.resource_type, test.resource_type) << facts;
    EXPECT_EQ(facts.resource_name, test.resource_name) << facts;
    EXPECT_TRUE(facts.violations.empty()) << facts;
  }
}

TEST(EstimateErrors, AFormatWithoutATensorRateIsUnsupported) {
  ErrorFacts facts =
      Refused(std::string(kTarget) + kPass +
              "target { hardware_profile: 'hardwareProfiles/a100-sxm-80gb' "
              "precision { weights: 'fp8' activations: 'fp8' } }");
  EXPECT_EQ(facts.code, grpc::StatusCode::FAILED_PRECONDITION) << facts;
  EXPECT_EQ(facts.reason, "PRECISION_UNSUPPORTED") << facts;
  EXPECT_EQ(facts.metadata["precision"], "fp8-e4m3");
  EXPECT_EQ(facts.metadata["hardware"], "a100-sxm-80gb");
  EXPECT_THAT(facts.metadata["supported"], HasSubstr("bf16"));
}

TEST(EstimateErrors, RequireFitRefusesWhatDoesNotFit) {
  ErrorFacts facts =
      Refused(std::string(kTarget) + kPass +
              "require_fit: true "
              "target { model_graph: 'modelGraphs/llama-3.1-70b' }");
  EXPECT_EQ(facts.code, grpc::StatusCode::FAILED_PRECONDITION) << facts;
  EXPECT_EQ(facts.reason, "MODEL_DOES_NOT_FIT") << facts;
  EXPECT_GT(std::stod(facts.metadata["required_bytes"]), 140e9);
  const double available = std::stod(facts.metadata["available_bytes"]);
  EXPECT_GT(available, 70e9);
  EXPECT_LT(available, 90e9);
  EXPECT_NEAR(available, 0.9 * std::stod(facts.metadata["capacity_bytes"]), 1);
  // What alone would make it fit; a shorter context would not.
  EXPECT_FALSE(facts.metadata["minimum_tensor_size"].empty()) << facts;
  EXPECT_EQ(facts.metadata.count("maximum_context_token_count"), 0u) << facts;
}

TEST(EstimateErrors, NothingThatACallerSendsComesBackAtLength) {
  const ErrorFacts facts =
      Refused("target { model_graph: '" + std::string(200'000, 'x') +
              "' hardware_profile: '" + std::string(200'000, 'y') + "' }");
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts.code;
  EXPECT_LT(facts.message.size(), 1100u);
}

TEST(EstimateErrors, APassedDeadlineIsAnError) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() -
                       std::chrono::seconds(1));
  const auto stub = v1::EstimationService::NewStub(SharedServer().channel());
  v1::EstimateResponse response;
  EXPECT_EQ(stub->Estimate(&context, {}, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace mansard::testing
