#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/base/status_macros.h"
#include "server/catalog/catalog.h"
#include "server/env.h"
#include "server/listen_address.h"
#include "server/metrics_http.h"
#include "server/services.h"
#include "server/version.h"

namespace mansard::server {
namespace {

constexpr absl::Duration kMinPingInterval = absl::Seconds(10);
// Health watches never end by themselves: once no call of ours runs, they get
// this long.
constexpr absl::Duration kWatchGrace = absl::Seconds(1);
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(
      absl::ToInt64Milliseconds(duration), 1, 2'000'000'000));
}

void ApplyLimits(const ServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_receive_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             options.max_concurrent_streams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             Milliseconds(options.max_connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             Milliseconds(options.max_connection_age_grace));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             Milliseconds(options.max_connection_idle));
  // Clients may ping this often, also between calls.
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      Milliseconds(kMinPingInterval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Without this a second server would bind the same port and take half of the
  // calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

struct Server::Parts {
  Parts(ServerOptions server_options, std::unique_ptr<Catalog> opened)
      : options(std::move(server_options)),
        env(options.log_level, std::move(opened), options.heavy_threads,
            options.heavy_queue, options.commit) {}

  // What of it needs saying once.
  void LogCatalog() const;
  absl::Status StartMetrics();
  absl::Status StartGrpc();
  void SetServing(bool serving);
  void Drain();

  ServerOptions options;
  ServerEnv env;
  EstimationServiceImpl estimation{env};
  CatalogServiceImpl catalog{env};
  CalibrationServiceImpl calibration{env};
  PlanningServiceImpl planning{env};
  SchedulingServiceImpl scheduling{env};
  std::unique_ptr<MetricsHttp> metrics_http;
  int port = 0;
  std::unique_ptr<grpc::Server> grpc_server;
  std::once_flag drained;
};

void Server::Parts::LogCatalog() const {
  if (options.state_dir.empty()) {
    env.logger.Log(LogLevel::kInfo, "catalog_in_memory",
                   {{"message",
                     "no --state_dir: what is written to the catalog ends "
                     "with this process"}});
  }
  for (const Catalog::Problem& problem : env.catalog->problems()) {
    env.logger.Log(LogLevel::kWarning, "catalog_broken",
                   {{"name", problem.name}, {"message", problem.error}});
  }
}

absl::Status Server::Parts::StartMetrics() {
  if (options.metrics_address.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const ListenAddress address,
      ParseListenAddress(options.metrics_address, "metrics_listen"));
  if (!address.unix_path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics_listen \"", options.metrics_address,
                     "\" is a unix socket; metrics are served on host:port"));
  }
  ASSIGN_OR_RETURN(metrics_http, MetricsHttp::Start(address, env));
  return absl::OkStatus();
}

absl::Status Server::Parts::StartGrpc() {
  // Both are switches of the process, for servers built from here on.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  ApplyLimits(options, builder);
  builder.RegisterService(&estimation);
  builder.RegisterService(&catalog);
  builder.RegisterService(&calibration);
  builder.RegisterService(&planning);
  builder.RegisterService(&scheduling);
  bool on_port = false;
  if (!options.listen_address.empty()) {
    ASSIGN_OR_RETURN(const ListenAddress address,
                     ParseListenAddress(options.listen_address, "listen"));
    on_port = address.unix_path.empty();
    if (!on_port && UnixSocketInUse(address.unix_path)) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", options.listen_address,
                       ": another server answers there"));
    }
    builder.AddListeningPort(options.listen_address,
                             grpc::InsecureServerCredentials(), &port);
  }
  grpc_server = builder.BuildAndStart();
  if (grpc_server == nullptr ||
      (!options.listen_address.empty() && port == 0)) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.listen_address,
                     ": the address is taken or may not be used"));
  }
  if (!on_port) port = 0;
  return absl::OkStatus();
}

void Server::Parts::SetServing(bool serving) {
  env.ready.store(serving);
  grpc::HealthCheckServiceInterface* const health =
      grpc_server->GetHealthCheckService();
  for (const char* service : {v1::EstimationService::service_full_name(),
                              v1::CatalogService::service_full_name(),
                              v1::CalibrationService::service_full_name(),
                              v1::PlanningService::service_full_name(),
                              v1::SchedulingService::service_full_name()}) {
    health->SetServingStatus(service, serving);
  }
}

void Server::Parts::Drain() {
  env.logger.Log(LogLevel::kInfo, "draining", {});
  SetServing(false);
  absl::SleepFor(options.drain_delay);
  env.streams.EndAll();
  const absl::Time deadline = absl::Now() + options.drain_deadline;
  while (env.metrics.CallsInFlight() > 0 && absl::Now() < deadline) {
    absl::SleepFor(kPollInterval);
  }
  grpc_server->Shutdown(
      absl::ToChronoTime(std::min(deadline, absl::Now() + kWatchGrace)));
  env.logger.Log(LogLevel::kInfo, "stopped", {});
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(ServerOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Catalog> catalog,
                   Catalog::Open({.catalog_dir = options.catalog_dir,
                                  .state_dir = options.state_dir,
                                  .read_only = options.read_only_state}));
  auto parts = std::make_unique<Parts>(std::move(options), std::move(catalog));
  parts->LogCatalog();
  RETURN_IF_ERROR(parts->StartMetrics());
  RETURN_IF_ERROR(parts->StartGrpc());
  parts->SetServing(true);
  auto server = std::unique_ptr<Server>(new Server(std::move(parts)));
  server->parts_->env.logger.Log(
      LogLevel::kInfo, "serving",
      {{"version", kVersion},
       {"commit", server->parts_->options.commit},
       {"listen", server->parts_->options.listen_address},
       {"port", server->port()},
       {"metrics_port", server->metrics_port()}});
  return server;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  std::call_once(parts_->drained, [this] {
    parts_->env.ready.store(false);
    parts_->grpc_server->Shutdown(std::chrono::system_clock::now());
  });
  parts_->grpc_server->Wait();
}

int Server::port() const { return parts_->port; }

int Server::metrics_port() const {
  return parts_->metrics_http == nullptr ? 0 : parts_->metrics_http->port();
}

std::shared_ptr<grpc::Channel> Server::InProcessChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return parts_->grpc_server->InProcessChannel(arguments);
}

void Server::Drain() {
  std::call_once(parts_->drained, [this] { parts_->Drain(); });
}

void Server::Wait() { parts_->grpc_server->Wait(); }

}  // namespace mansard::server
