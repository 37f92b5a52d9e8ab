// The server as an object: a program runs one, a test or the command line
// starts its own.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/heavy_pool.h"
#include "server/log.h"

namespace grpc {
class Channel;
}

namespace mansard::server {

struct ServerOptions {
  // "127.0.0.1:7447", port 0 for any free one, or "unix:/path". Empty: no
  // port, in-process calls only. Only loopback and unix sockets are accepted:
  // this version has no TLS.
  std::string listen_address;
  // Where /metrics, /healthz and /readyz are served over HTTP. Empty: nowhere.
  std::string metrics_address;
  // Folder of further models/, hardware/ and fabrics/ files. Empty: none.
  std::string catalog_dir;
  // Folder in which the catalog is kept; one server at a time writes there.
  // Empty: what is written ends with the server.
  std::string state_dir;
  // Reads state_dir beside a server that may write there, where it is; refuses
  // writes.
  bool read_only_state = false;

  // Between telling health checks and refusing connections: time for load
  // balancers to look.
  absl::Duration drain_delay = absl::Seconds(5);
  // Longest wait for running calls after that; then they are cancelled.
  absl::Duration drain_deadline = absl::Seconds(20);

  // Largest request. gRPC answers RESOURCE_EXHAUSTED beyond.
  int max_receive_bytes = 4 * 1024 * 1024;
  // Calls at one time on one connection; clients queue beyond.
  int max_concurrent_streams = 256;
  // Connections are closed, gracefully, when as old as this, so that clients
  // find new replicas.
  absl::Duration max_connection_age = absl::Minutes(5);
  absl::Duration max_connection_age_grace = absl::Seconds(30);
  // A connection without calls is closed after this.
  absl::Duration max_connection_idle = absl::Minutes(15);

  // Calls that may take more than about a millisecond (large batches and
  // passes, rooflines, imports) run on this many threads of low priority; so
  // many more wait, and RESOURCE_EXHAUSTED is answered beyond. At least 1 and
  // 0.
  int heavy_threads = DefaultHeavyThreads();
  int heavy_queue = 64;

  // What the program was built from, for mansard_build_info and the log.
  std::string commit = "unknown";

  // Where calls are logged, as JSON lines on stderr: kInfo has one a call.
  LogLevel log_level = LogLevel::kWarning;
};

// Serves the services of mansard.v1, health and reflection. Health:
// "mansard.v1.EstimationService" and "mansard.v1.CatalogService" say whether
// calls are welcome (not while draining); "" says that the process is alive.
class Server {
 public:
  // Loads the catalog, binds and starts. Errors: INVALID_ARGUMENT for an
  // address that is malformed or not loopback; FAILED_PRECONDITION for a
  // catalog with broken files, naming each file and rule, and for a state
  // directory that another process holds, that cannot be written, or that a
  // newer version has written; INTERNAL for a damaged one; UNAVAILABLE for an
  // address that is taken, and for a disk that fails.
  static absl::StatusOr<std::unique_ptr<Server>> Create(ServerOptions options);
  // Stops at once, running calls are cancelled, unless drained before.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The port in use; 0 when in-process only or on a unix socket.
  int port() const;
  int metrics_port() const;
  // A channel that does not go through the network.
  std::shared_ptr<grpc::Channel> InProcessChannel();

  // Says NOT_SERVING, waits drain_delay, lets running and queued calls finish
  // for at most drain_deadline, shuts down. Later calls return when the first
  // has.
  void Drain();
  // Returns once the server has shut down.
  void Wait();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mansard::server
