// The program: flags, environment, signals.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <signal.h>

#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/version.h"
#include "tests/support/error_facts.h"
#include "tests/support/process.h"
#include "tests/support/raw_calls.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kEstimation[] = "mansard.v1.EstimationService";

std::shared_ptr<grpc::Channel> ChannelTo(const ServerProcess& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(
      server.address, grpc::InsecureChannelCredentials(), arguments);
}

// Keeps a server busy for some hundred milliseconds: many groups, all rows.
v1::BatchEstimateRequest LongCall() {
  v1::BatchEstimateRequest batch;
  auto request = Parse<v1::EstimateRequest>(R"pb(
    target {
      model_graph: "modelGraphs/llama-3.1-8b"
      hardware_profile: "hardwareProfiles/h100-sxm"
    }
    read_mask { paths: "estimate.ops" }
  )pb");
  while (request.forward_pass().groups_size() < 1000) {
    v1::ForwardPass::Group& group =
        *request.mutable_forward_pass()->add_groups();
    group.set_role(v1::ForwardPass::ROLE_DECODE);
    group.set_request_count(1);
    group.set_new_token_count(1);
  }
  while (batch.requests_size() < 50) *batch.add_requests() = request;
  return batch;
}

TEST(Mansardd, LogsTheIdOfARequestAndAnswersItWithErrors) {
  ServerProcess server({});
  ASSERT_FALSE(server.address.empty()) << server.process.output();
  const auto stub = v1::EstimationService::NewStub(ChannelTo(server));
  const auto id_of = [&stub](const std::string& said) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.AddMetadata("x-request-id", said);
    v1::EstimateResponse response;
    EXPECT_FALSE(stub->Estimate(&context, {}, &response).ok());
    const auto found = context.GetServerTrailingMetadata().find("x-request-id");
    return found == context.GetServerTrailingMetadata().end()
               ? ""
               : std::string(found->second.data(), found->second.size());
  };
  EXPECT_EQ(id_of("checkout-17"), "checkout-17");
  const auto line = server.process.ReadUntil("\"event\":\"rpc\"");
  EXPECT_THAT(line.value_or(""),
              HasSubstr("\"request_id\":\"checkout-17\",\"method\":\""
                        "mansard.v1.EstimationService/Estimate\""));
  // Not what could be taken for another line's.
  const std::string made = id_of("two words");
  EXPECT_THAT(made, ::testing::MatchesRegex("[0-9a-f]{16}-1"));
  EXPECT_TRUE(server.process.ReadUntil(made).has_value());
  // All that it has written is one JSON object a line.
  int lines = 0;
  for (absl::string_view text :
       absl::StrSplit(server.process.output(), '\n', absl::SkipEmpty())) {
    ++lines;
    rapidjson::Document json;
    json.Parse(text.data(), text.size());
    ASSERT_FALSE(json.HasParseError()) << text;
    for (const char* key : {"time", "level", "event"}) {
      EXPECT_TRUE(json.HasMember(key) && json[key].IsString()) << text;
    }
  }
  EXPECT_GE(lines, 3);
}

TEST(Mansardd, SaysWhichCommitRuns) {
  ServerProcess server({});
  Process version({ServerBinary(), "--version"});
  ASSERT_EQ(version.Wait(), 0);
  const std::string& said = version.output();
  const size_t begin = said.find("(commit ") + 8;
  const std::string commit = said.substr(begin, said.find(')') - begin);
  EXPECT_THAT(commit, ::testing::MatchesRegex("unknown|[0-9A-Za-z._-]+"));
  EXPECT_THAT(server.process.output(),
              HasSubstr(absl::StrCat("\"commit\":\"", commit, "\"")));
  EXPECT_THAT(HttpGet(server.metrics_address, "/metrics").body,
              HasSubstr(absl::StrCat("mansard_build_info{commit=\"", commit,
                                     "\",version=\"")));
}

TEST(Mansardd, FinishesItsCallsOnSigterm) {
  ServerProcess server({"--drain_delay=200ms"});
  ASSERT_FALSE(server.address.empty()) << server.process.output();
  const auto channel = ChannelTo(server);
  HealthWatch watch(channel, kEstimation);
  ASSERT_EQ(watch.Next(), Serving::kServing);

  auto call = std::async(std::launch::async, [&channel] {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::BatchEstimateResponse response;
    return v1::EstimationService::NewStub(channel)->BatchEstimate(
        &context, LongCall(), &response);
  });
  // Until the call runs.
  while (HttpGet(server.metrics_address, "/metrics")
             .body.find("mansard_rpcs_in_flight{class=\"heavy\"} 1\n") ==
         std::string::npos) {
    ASSERT_NE(call.wait_for(std::chrono::milliseconds(1)),
              std::future_status::ready)
        << "the call was too short to be seen";
  }
  server.process.Signal(SIGTERM);
  EXPECT_EQ(watch.Next(), Serving::kNotServing);
  EXPECT_EQ(HttpGet(server.metrics_address, "/readyz").code, 503);
  const grpc::Status status = call.get();
  EXPECT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(server.process.Wait(), 0) << server.process.output();
  EXPECT_THAT(server.process.output(),
              AllOf(HasSubstr("\"event\":\"draining\""),
                    HasSubstr("\"event\":\"stopped\"")));
}

TEST(Mansardd, StopsOnSigintToo) {
  ServerProcess server({});
  ASSERT_FALSE(server.address.empty()) << server.process.output();
  server.process.Signal(SIGINT);
  EXPECT_EQ(server.process.Wait(), 0) << server.process.output();
}

TEST(Mansardd, LogsOneLineACall) {
  ServerProcess server({});
  ASSERT_FALSE(server.address.empty()) << server.process.output();
  const auto stub = v1::CatalogService::NewStub(ChannelTo(server));
  {
    grpc::ClientContext context;
    v1::ListModelGraphsResponse response;
    ASSERT_TRUE(stub->ListModelGraphs(&context, {}, &response).ok());
    const auto line = server.process.ReadLine();
    ASSERT_TRUE(line.has_value());
    EXPECT_THAT(*line, AllOf(HasSubstr("\"event\":\"rpc\""),
                             HasSubstr("\"method\":\"mansard.v1.CatalogService/"
                                       "ListModelGraphs\""),
                             HasSubstr("\"code\":\"OK\"")));
  }
  grpc::ClientContext context;
  v1::ModelGraph graph;
  v1::GetModelGraphRequest request;
  request.set_name("modelGraphs/absent");
  ASSERT_FALSE(stub->GetModelGraph(&context, request, &graph).ok());
  const auto line = server.process.ReadLine();
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(*line, AllOf(HasSubstr("\"code\":\"NOT_FOUND\""),
                           HasSubstr("\"reason\":\"MODEL_GRAPH_NOT_FOUND\"")));
}

struct StartCase {
  const char* name;
  std::vector<std::string> flags;
  std::map<std::string, std::string> environment;
  int exit_code;
  const char* output;

  friend std::ostream& operator<<(std::ostream& out, const StartCase& row) {
    return out << row.name;
  }
};

class MansarddStartTest : public ::testing::TestWithParam<StartCase> {};

TEST_P(MansarddStartTest, EndsWithAMessage) {
  std::vector<std::string> command = {ServerBinary()};
  command.insert(command.end(), GetParam().flags.begin(),
                 GetParam().flags.end());
  Process process(command, GetParam().environment);
  EXPECT_EQ(process.Wait(), GetParam().exit_code) << process.output();
  EXPECT_THAT(process.output(), HasSubstr(GetParam().output));
}

INSTANTIATE_TEST_SUITE_P(
    , MansarddStartTest,
    ::testing::ValuesIn(std::vector<StartCase>{
        {"Version", {"--version"}, {}, 0, server::kVersion},
        {"NotLoopback", {"--listen=0.0.0.0:0"}, {}, 1, "not loopback"},
        {"MetricsNotLoopback",
         {"--listen=127.0.0.1:0", "--metrics_listen=0.0.0.0:0"},
         {},
         1,
         "--metrics_listen \"0.0.0.0:0\" is not loopback"},
        {"NoCatalogFolder",
         {"--listen=127.0.0.1:0", "--catalog_dir=/absent"},
         {},
         1,
         "--catalog_dir \"/absent\" is no folder"},
        {"NegativeDelay", {"--drain_delay=-1s"}, {}, 2, "--drain_delay is -1s"},
        {"NoHeavyThread",
         {"--heavy_threads=0"},
         {},
         2,
         "--heavy_threads is 0; allowed: 1 to 1024"},
        {"NegativeQueue",
         {"--heavy_queue=-1"},
         {},
         2,
         "--heavy_queue is -1; allowed: 0 to 100000"},
        {"UnknownLevel", {"--log_level=loud"}, {}, 2, "allowed: debug, info"},
        {"Argument", {"serve"}, {}, 2, "unexpected argument \"serve\""},
        {"Environment",
         {},
         {{"MANSARD_LISTEN", "0.0.0.0:0"}},
         1,
         "--listen \"0.0.0.0:0\" is not loopback"},
        {"FlagBeforeEnvironment",
         {"--log_level=loud"},
         {{"MANSARD_LOG_LEVEL", "info"}},
         2,
         "--log_level \"loud\""},
        {"BadEnvironment",
         {},
         {{"MANSARD_DRAIN_DELAY", "soon"}},
         2,
         "MANSARD_DRAIN_DELAY=\"soon\""},
    }),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace mansard::testing
