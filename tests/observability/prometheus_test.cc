// A real Prometheus, with the shipped configuration, scrapes a real mansardd.
#include "tests/observability/prometheus.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

TEST(PrometheusTest, ScrapesAServer) {
  if (!HasPrometheus()) GTEST_SKIP() << "package prometheus is not here";
  ServerProcess server({});
  ASSERT_FALSE(server.address.empty()) << server.process.output();
  const auto stub = v1::EstimationService::NewStub(
      grpc::CreateChannel(server.address, grpc::InsecureChannelCredentials()));
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::EstimateResponse response;
    ASSERT_EQ(stub->Estimate(&context, {}, &response).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  Prometheus prometheus(server.metrics_address);
  EXPECT_TRUE(prometheus.WaitFor("up{job=\"mansard\"}", "1"))
      << prometheus.output();
  EXPECT_TRUE(
      prometheus.WaitFor("grpc_server_handled_total{grpc_method=\"Estimate\", "
                         "grpc_code=\"InvalidArgument\"}",
                         "3"));
  EXPECT_TRUE(prometheus.WaitFor("mansard_build_info", "1"));
}

}  // namespace
}  // namespace mansard::testing
