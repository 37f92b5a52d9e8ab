// The engine that a command talks to: in this process, or a server. Commands
// see stubs only, so there is one code path for both.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
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

  // Every page of a list, merged. `request` says of what.
  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> ListAll(
      Stub& stub,
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      Request request = Request()) const {
    request.set_page_size(kPageSize);
    Response all;
    do {
      Response page;
      const absl::Status status = Call(stub, method, request, &page);
      if (!status.ok()) return status;
      request.set_page_token(page.next_page_token());
      page.clear_next_page_token();
      all.MergeFrom(page);
    } while (!request.page_token().empty());
    return all;
  }

 private:
  // Small enough that a page stays below gRPC's 4 MB.
  static constexpr int kPageSize = 50;

  client::Client client_;
  std::string server_;
};

}  // namespace mansard::cli
