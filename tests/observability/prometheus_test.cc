// A real Prometheus, with the shipped config, scrapes a real mansardd.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kPrometheus[] = "/usr/bin/prometheus";
constexpr char kConfigTarget[] = "127.0.0.1:9464";

// A loopback port that was free a moment ago.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class PrometheusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kPrometheus, X_OK) != 0) {
      GTEST_SKIP() << kPrometheus << " is not here (package prometheus)";
    }
  }

  // The shipped config, for another target and in a hurry.
  std::string WriteConfig(const std::string& target) {
    const std::string shipped = ReadFile(
        absl::StrCat(MANSARD_SOURCE_DIR, "/deploy/prometheus/prometheus.yml"));
    EXPECT_THAT(shipped, HasSubstr(kConfigTarget));
    EXPECT_THAT(shipped, HasSubstr("scrape_interval: 15s"));
    std::string path = folder_ / "prometheus.yml";
    std::ofstream(path) << absl::StrReplaceAll(
        shipped, {{kConfigTarget, target},
                  {"scrape_interval: 15s", "scrape_interval: 200ms"},
                  {"scrape_timeout: 10s", "scrape_timeout: 200ms"}});
    return path;
  }

  // Asks until the answer holds `wanted`, for at most 60 s.
  static std::string QueryUntil(const std::string& address,
                                const std::string& query,
                                const std::string& wanted) {
    std::string answer;
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (absl::Now() < deadline) {
      answer =
          HttpGet(address, absl::StrCat("/api/v1/query?query=", query)).body;
      if (answer.find(wanted) != std::string::npos) break;
      absl::SleepFor(absl::Milliseconds(100));
    }
    return answer;
  }

  const TemporaryFolder folder_;
};

TEST_F(PrometheusTest, ScrapesAServer) {
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

  const std::string address = absl::StrCat("127.0.0.1:", FreePort());
  Process prometheus(
      {kPrometheus,
       absl::StrCat("--config.file=", WriteConfig(server.metrics_address)),
       absl::StrCat("--storage.tsdb.path=", folder_ / "data"),
       absl::StrCat("--web.listen-address=", address), "--log.level=warn"});

  EXPECT_THAT(QueryUntil(address, "up%7Bjob=%22mansard%22%7D", ",\"1\"]"),
              HasSubstr(",\"1\"]"))
      << prometheus.output();
  EXPECT_THAT(
      QueryUntil(address,
                 "grpc_server_handled_total%7Bgrpc_method=%22Estimate%22,"
                 "grpc_code=%22InvalidArgument%22%7D",
                 ",\"3\"]"),
      HasSubstr(",\"3\"]"));
  EXPECT_THAT(QueryUntil(address, "mansard_build_info", "\"version\""),
              HasSubstr("\"version\""));
}

}  // namespace
}  // namespace mansard::testing
