// Where a server may listen. Without TLS that is loopback and unix sockets.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::server {

struct ListenAddress {
  std::string host;  // "127.0.0.1", "localhost" or "[::1]".
  int port = 0;
  std::string unix_path;  // Not empty: a unix socket, no host and port.
};

// "host:port" or "unix:/path". INVALID_ARGUMENT, naming `flag`, when it is
// malformed or the host is not loopback.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view address,
                                                 absl::string_view flag);

// Whether a server answers on the unix socket. gRPC would replace its file
// and leave it without callers.
bool UnixSocketInUse(const std::string& path);

}  // namespace mansard::server
