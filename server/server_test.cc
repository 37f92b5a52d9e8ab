// The server as a whole: ports, health, reflection, drain, concurrency.
#include "server/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/error_facts.h"
#include "tests/support/raw_calls.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kEstimation[] = "mansard.v1.EstimationService";
constexpr char kCatalog[] = "mansard.v1.CatalogService";
constexpr char kPlanning[] = "mansard.v1.PlanningService";
constexpr char kScheduling[] = "mansard.v1.SchedulingService";

v1::EstimateRequest Decode(const std::string& model,
                           const std::string& hardware, int requests) {
  return Parse<v1::EstimateRequest>(absl::StrCat(
      "target { model_graph: 'modelGraphs/", model,
      "' hardware_profile: 'hardwareProfiles/", hardware,
      "' } forward_pass { groups { role: ROLE_DECODE new_token_count: 1 "
      "request_count: ",
      requests, " } }"));
}

TEST(Server, SecondServerOnAPortIsRefused) {
  TestServer first;
  server::ServerOptions options = TestOptions();
  options.listen_address = first.address();
  options.metrics_address = "";
  EXPECT_EQ(server::Server::Create(options).status().code(),
            absl::StatusCode::kUnavailable);
  options.listen_address = "127.0.0.1:0";
  options.metrics_address = first.metrics_address();
  EXPECT_EQ(server::Server::Create(options).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(Server, SecondServerOnAUnixSocketIsRefused) {
  const std::string path =
      (std::filesystem::temp_directory_path() /
       absl::StrCat("mansard-server-test-", getpid(), ".sock"))
          .string();
  server::ServerOptions options = TestOptions();
  options.listen_address = absl::StrCat("unix:", path);
  options.metrics_address = "";
  const auto first = server::Server::Create(options);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->port(), 0);
  EXPECT_EQ(server::Server::Create(options).status().code(),
            absl::StatusCode::kUnavailable);
  const auto channel = grpc::CreateChannel(options.listen_address,
                                           grpc::InsecureChannelCredentials());
  EXPECT_EQ(CheckHealth(channel, kEstimation), Serving::kServing);
}

TEST(Server, OnlyLoopbackIsAccepted) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0"}) {
    server::ServerOptions options = TestOptions();
    options.listen_address = address;
    EXPECT_EQ(server::Server::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument)
        << address;
    options = TestOptions();
    options.metrics_address = address;
    EXPECT_EQ(server::Server::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST(Server, HealthIsPerService) {
  TestServer server;
  for (const char* service :
       {"", kEstimation, kCatalog, kPlanning, kScheduling}) {
    EXPECT_EQ(CheckHealth(server.channel(), service), Serving::kServing)
        << service;
  }
  grpc::Status status;
  EXPECT_EQ(CheckHealth(server.channel(), "mansard.v1.Absent", &status),
            std::nullopt);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(Server, ReflectionListsTheServices) {
  TestServer server;
  const std::vector<std::string> services = ReflectedServices(server.channel());
  EXPECT_THAT(services, Contains(kEstimation));
  EXPECT_THAT(services, Contains(kCatalog));
  EXPECT_THAT(services, Contains(kPlanning));
  EXPECT_THAT(services, Contains(kScheduling));
}

TEST(Server, HttpPagesAnswer) {
  TestServer server;
  EXPECT_EQ(HttpGet(server.metrics_address(), "/healthz").code, 200);
  EXPECT_EQ(HttpGet(server.metrics_address(), "/readyz").code, 200);
  EXPECT_EQ(HttpGet(server.metrics_address(), "/etc/passwd").code, 404);
  EXPECT_EQ(HttpGet(server.metrics_address(), "/").code, 404);
  const HttpAnswer metrics = HttpGet(server.metrics_address(), "/metrics");
  EXPECT_EQ(metrics.code, 200);
  EXPECT_THAT(metrics.body,
              HasSubstr("mansard_build_info{commit=\"unknown\",version=\""));
  EXPECT_THAT(metrics.body,
              HasSubstr("mansard_catalog_resources{kind=\"model_graph\"}"));
}

TEST(Server, DrainTurnsHealthFirstAndThenStops) {
  server::ServerOptions options = TestOptions();
  options.drain_delay = absl::Milliseconds(500);
  TestServer server(options);
  HealthWatch watch(server.channel(), kEstimation);
  HealthWatch catalog_watch(server.channel(), kCatalog);
  ASSERT_EQ(watch.Next(), Serving::kServing);
  ASSERT_EQ(catalog_watch.Next(), Serving::kServing);
  const absl::Time start = absl::Now();
  std::thread drain([&server] { server.server().Drain(); });
  EXPECT_EQ(watch.Next(), Serving::kNotServing);
  EXPECT_EQ(catalog_watch.Next(), Serving::kNotServing);
  // Not ready, but alive, and calls are still answered.
  EXPECT_EQ(CheckHealth(server.channel(), ""), Serving::kServing);
  EXPECT_EQ(HttpGet(server.metrics_address(), "/readyz").code, 503);
  EXPECT_EQ(HttpGet(server.metrics_address(), "/healthz").code, 200);
  v1::EstimateResponse response;
  EXPECT_TRUE(
      server.Estimate(Decode("llama-3.1-8b", "h100-sxm", 1), &response).ok());
  drain.join();
  server.server().Wait();
  // An open watch does not hold the server for the whole drain_deadline.
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(500));
  EXPECT_LT(absl::Now() - start, absl::Seconds(8));
  EXPECT_EQ(watch.Next(), std::nullopt);
  EXPECT_EQ(server.Estimate(Decode("llama-3.1-8b", "h100-sxm", 1), &response)
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST(Server, ThreadsGetTheAnswersOfOne) {
  TestServer server;
  std::vector<v1::EstimateRequest> requests;
  for (const char* model : {"llama-3.1-8b", "llama-3.1-70b"}) {
    for (const char* hardware : {"h100-sxm", "h200-sxm", "l40s", "absent"}) {
      for (int count : {0, 1, 64}) {
        requests.push_back(Decode(model, hardware, count));
      }
    }
  }
  // Of the call alone: status and answer.
  const auto answer = [&](const v1::EstimateRequest& request) {
    v1::EstimateResponse response;
    const grpc::Status status = server.Estimate(request, &response);
    return absl::StrCat(status.error_code(), status.error_message(),
                        response.SerializeAsString());
  };
  std::vector<std::string> expected;
  for (const auto& request : requests) expected.push_back(answer(request));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < 100; ++i) {
        const size_t at = (i * 7 + thread * 5) % requests.size();
        if (answer(requests[at]) != expected[at]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  // Every call was counted, and none is left, a moment later.
  std::string metrics;
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  do {
    metrics = HttpGet(server.metrics_address(), "/metrics").body;
  } while (metrics.find("mansard_rpcs_in_flight{class=\"hot\"} 0\n") ==
               std::string::npos &&
           absl::Now() < deadline);
  EXPECT_LT(absl::Now(), deadline);
  EXPECT_THAT(
      metrics,
      HasSubstr(absl::StrCat(
          "grpc_server_started_total{grpc_method=\"Estimate\",grpc_service=\"",
          kEstimation, "\",grpc_type=\"unary\"} ", 800 + requests.size())));
}

}  // namespace
}  // namespace mansard::testing
