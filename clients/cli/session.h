// The engine that a command talks to: in this process, or a server. Commands
// see stubs only, so there is one code path for both.
#pragma once

#include <memory>
#include <string>

#include "clients/cc/client.h"
#include "clients/cli/command_status.h"

namespace mansard::cli {

class Session {
 public:
  // `server`: the address, or empty for the embedded engine.
  Session(std::shared_ptr<grpc::Channel> channel, std::string server,
          absl::Duration timeout);

  const client::Client& client() const { return client_; }
  const std::string& server() const { return server_; }
  bool embedded() const { return server_.empty(); }

  // One call: `method` is a method of a stub. Errors are ready to be shown.
  template <class Stub, class Request, class Response>
  absl::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                 const Request&, Response*),
                    const Request& request, Response* response,
                    const FieldNamer& flag_of_field = nullptr) const {
    const std::unique_ptr<grpc::ClientContext> context = client_.NewContext();
    return FromServer((stub.*method)(context.get(), request, response), server_,
                      flag_of_field);
  }

 private:
  client::Client client_;
  std::string server_;
};

}  // namespace mansard::cli
