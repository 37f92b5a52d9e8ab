// What mansardd needs at rest, and how soon it answers. Release builds need
// less than the limits here, which are for every build; the figures are
// printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/load/load.h"
#include "tests/support/process.h"
#include "tests/support/test_server.h"

namespace mansard::load {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr double kMaxMegabytes = 128;
constexpr double kMaxStartSeconds = 2;
constexpr int kStarts = 5;

double ResidentMegabytes(const std::string& metrics_address) {
  const std::string metrics =
      testing::HttpGet(metrics_address, "/metrics").body;
  const std::string name = "\nprocess_resident_memory_bytes ";
  const size_t at = metrics.find(name);
  return at == std::string::npos
             ? 0
             : std::stod(metrics.substr(at + name.size())) / 1e6;
}

TEST(Footprint, StartsSoonAndStaysSmall) {
  std::vector<double> seconds;
  double megabytes = 0;
  for (int i = 0; i < kStarts; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const testing::ServerProcess server({});
    ASSERT_FALSE(server.address.empty()) << server.process.output();
    Stubs stubs(OwnConnection(server.address));
    grpc::ClientContext context;
    v1::EstimateResponse response;
    const auto request = testing::Parse<v1::EstimateRequest>(R"pb(
      target {
        model_graph: "modelGraphs/llama-3.1-8b"
        hardware_profile: "hardwareProfiles/h100-sxm"
      }
      forward_pass {
        groups { role: ROLE_DECODE request_count: 1 new_token_count: 1 }
      }
    )pb");
    ASSERT_TRUE(stubs.estimation->Estimate(&context, request, &response).ok());
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count());
    megabytes = std::max(megabytes, ResidentMegabytes(server.metrics_address));
  }
  std::sort(seconds.begin(), seconds.end());
  std::cout << absl::StreamFormat(
      "resident at rest: %.1f MB; start to first answer: median %.1f ms, "
      "slowest %.1f ms\n",
      megabytes, seconds[kStarts / 2] * 1e3, seconds.back() * 1e3);
  EXPECT_GT(megabytes, 1);
  if (kSanitized) return;
  EXPECT_LT(megabytes, kMaxMegabytes);
  EXPECT_LT(seconds[0], kMaxStartSeconds);
}

}  // namespace
}  // namespace mansard::load
