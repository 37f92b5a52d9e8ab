#include "server/metrics_http.h"

#include <CivetServer.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mansard::server {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";

void Send(mg_connection* connection, const char* status, const char* type,
          const std::string& body) {
  mg_printf(connection,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            status, type, body.size());
  mg_write(connection, body.data(), body.size());
}

class MetricsPage : public CivetHandler {
 public:
  explicit MetricsPage(const ServerEnv& env) : env_(env) {}
  bool handleGet(CivetServer*, mg_connection* connection) override {
    Send(connection, "200 OK", kPrometheusText, env_.metrics.Scrape());
    return true;
  }

 private:
  const ServerEnv& env_;
};

class HealthPage : public CivetHandler {
 public:
  bool handleGet(CivetServer*, mg_connection* connection) override {
    Send(connection, "200 OK", kPlainText, "ok\n");
    return true;
  }
};

class ReadyPage : public CivetHandler {
 public:
  explicit ReadyPage(const ServerEnv& env) : env_(env) {}
  bool handleGet(CivetServer*, mg_connection* connection) override {
    if (env_.ready.load()) {
      Send(connection, "200 OK", kPlainText, "ready\n");
    } else {
      Send(connection, "503 Service Unavailable", kPlainText, "draining\n");
    }
    return true;
  }

 private:
  const ServerEnv& env_;
};

}  // namespace

class MetricsHttp::Pages {
 public:
  // Throws CivetException when the port is taken.
  Pages(const std::string& host, const std::vector<std::string>& options,
        const ServerEnv& env)
      : host_(host), metrics_(env), ready_(env), server_(options) {
    port_ = server_.getListeningPorts().front();
    server_.addHandler("/metrics$", metrics_);
    server_.addHandler("/healthz$", health_);
    server_.addHandler("/readyz$", ready_);
  }
  ~Pages() {
    // The library's accept loop sees that it shall stop with its next
    // connection, or after two seconds: connect to it.
    std::atomic<bool> stopped = false;
    std::thread connector([this, &stopped] {
      while (!stopped.load()) {
        Connect();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    server_.close();
    stopped.store(true);
    connector.join();
  }
  int port() const { return port_; }

 private:
  void Connect() const {
    mg_connection* const connection =
        mg_connect_client(host_.c_str(), port_, 0, nullptr, 0);
    if (connection != nullptr) mg_close_connection(connection);
  }

  const std::string host_;
  int port_ = 0;
  MetricsPage metrics_;
  HealthPage health_;
  ReadyPage ready_;
  CivetServer server_;  // Last: it stops before the pages go.
};

MetricsHttp::MetricsHttp(std::unique_ptr<Pages> pages)
    : pages_(std::move(pages)) {}
MetricsHttp::~MetricsHttp() = default;

int MetricsHttp::port() const { return pages_->port(); }

absl::StatusOr<std::unique_ptr<MetricsHttp>> MetricsHttp::Start(
    const ListenAddress& address, const ServerEnv& env) {
  // The HTTP server knows addresses, not names.
  const std::string host =
      address.host == "localhost" ? "127.0.0.1" : address.host;
  const std::string endpoint = absl::StrCat(host, ":", address.port);
  const std::vector<std::string> options = {"listening_ports",
                                            endpoint,
                                            "num_threads",
                                            "2",
                                            "request_timeout_ms",
                                            "10000",
                                            "enable_directory_listing",
                                            "no"};
  // The library reports a failed start by exception only.
  try {
    return std::unique_ptr<MetricsHttp>(
        new MetricsHttp(std::make_unique<Pages>(host, options, env)));
  } catch (const CivetException&) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", endpoint,
                     " for metrics: the port is taken or may not be used"));
  }
}

}  // namespace mansard::server
