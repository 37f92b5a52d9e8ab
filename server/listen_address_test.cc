#include "server/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mansard::server {
namespace {

using ::testing::HasSubstr;

TEST(ParseListenAddress, TakesLoopbackAndUnixSockets) {
  const struct {
    const char* address;
    const char* host;
    int port;
    const char* unix_path;
  } kCases[] = {
      {"127.0.0.1:7447", "127.0.0.1", 7447, ""},
      {"127.0.0.1:0", "127.0.0.1", 0, ""},
      {"127.8.9.10:1", "127.8.9.10", 1, ""},
      {"localhost:65535", "localhost", 65535, ""},
      {"[::1]:7447", "[::1]", 7447, ""},
      {"unix:/run/mansard.sock", "", 0, "/run/mansard.sock"},
  };
  for (const auto& test : kCases) {
    const auto parsed = ParseListenAddress(test.address, "listen");
    ASSERT_TRUE(parsed.ok()) << test.address << " " << parsed.status();
    EXPECT_EQ(parsed->host, test.host) << test.address;
    EXPECT_EQ(parsed->port, test.port) << test.address;
    EXPECT_EQ(parsed->unix_path, test.unix_path) << test.address;
  }
}

TEST(ParseListenAddress, RefusesTheRestByName) {
  const struct {
    const char* address;
    const char* why;
  } kCases[] = {
      {"0.0.0.0:7447", "not loopback"},
      {"[::]:7447", "not loopback"},
      {"10.0.0.1:7447", "not loopback"},
      {"128.0.0.1:7447", "not loopback"},
      {"127.0.0.1.example:7447", "not loopback"},
      {"localhost.example:7447", "not loopback"},
      {":7447", "not loopback"},
      {"7447", "host:port"},
      {"127.0.0.1", "host:port"},
      {"127.0.0.1:", "host:port"},
      {"127.0.0.1:http", "host:port"},
      {"127.0.0.1:65536", "host:port"},
      {"127.0.0.1:-1", "host:port"},
      {"", "host:port"},
      {"unix:", "socket path"},
  };
  for (const auto& test : kCases) {
    const auto parsed = ParseListenAddress(test.address, "listen");
    ASSERT_FALSE(parsed.ok()) << test.address;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()),
                testing::AllOf(HasSubstr("--listen"), HasSubstr(test.why)));
  }
}

TEST(ParseListenAddress, RefusesSocketPathsThatTheKernelWouldCut) {
  EXPECT_TRUE(
      ParseListenAddress("unix:" + std::string(107, 'x'), "listen").ok());
  EXPECT_FALSE(
      ParseListenAddress("unix:" + std::string(108, 'x'), "listen").ok());
}

}  // namespace
}  // namespace mansard::server
