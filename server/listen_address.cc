#include "server/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mansard::server {
namespace {

absl::Status Refused(absl::string_view flag, absl::string_view address,
                     absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " \"", address, "\" ", why));
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address;
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  return (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view address,
                                                 absl::string_view flag) {
  ListenAddress parsed;
  absl::string_view rest = address;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    parsed.unix_path = std::string(rest);
    if (rest.empty() || rest.size() >= sizeof(sockaddr_un::sun_path)) {
      return Refused(
          flag, address,
          absl::StrCat("is no socket path; allowed: 1 to ",
                       sizeof(sockaddr_un::sun_path) - 1, " characters"));
    }
    return parsed;
  }
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &parsed.port) ||
      parsed.port < 0 || parsed.port > 65535) {
    return Refused(flag, address,
                   "is no address; write host:port, port 0 to 65535 (0: any "
                   "free one)");
  }
  parsed.host = std::string(address.substr(0, colon));
  if (!IsLoopback(parsed.host)) {
    return Refused(flag, address,
                   "is not loopback: this version has no TLS and answers only "
                   "on 127.0.0.1, localhost, [::1] or unix:/path");
  }
  return parsed;
}

bool UnixSocketInUse(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const bool answered =
      connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return answered;
}

}  // namespace mansard::server
