// An engine's page of metrics, for whoever scrapes.
#pragma once

#include <CivetServer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::testing {

// Answers every GET on a free loopback port with what `page` returns then.
class TextServer {
 public:
  explicit TextServer(std::function<std::string()> page)
      : handler_(std::move(page)),
        server_({"listening_ports", "127.0.0.1:0", "num_threads", "2"}) {
    server_.addHandler("/", handler_);
  }

  // "127.0.0.1:port".
  std::string address() {
    return absl::StrCat("127.0.0.1:", server_.getListeningPorts().at(0));
  }

 private:
  class Handler : public CivetHandler {
   public:
    explicit Handler(std::function<std::string()> page)
        : page_(std::move(page)) {}
    bool handleGet(CivetServer*, mg_connection* connection) override {
      const std::string body = page_();
      mg_printf(connection,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                body.size());
      mg_write(connection, body.data(), body.size());
      return true;
    }

   private:
    std::function<std::string()> page_;
  };

  Handler handler_;
  CivetServer server_;
};

}  // namespace mansard::testing
