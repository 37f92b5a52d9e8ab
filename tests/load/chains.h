// Calls that follow each other, several rows of them at once.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

#include "tests/load/bench_servers.h"

namespace mansard::load {

using Done = std::function<void(grpc::Status)>;
// Starts one call; `done` is called once the answer is there.
template <class Response>
using StartCall = std::function<void(grpc::ClientContext& context,
                                     Response& response, Done done)>;

// Keeps `chains` calls running until `total` are done. A call that fails ends
// the process.
template <class Response>
class Chains {
 public:
  Chains(StartCall<Response> start, int chains, int total)
      : start_(std::move(start)), left_(total), ended_(chains) {
    links_.resize(static_cast<size_t>(chains));
  }

  // Returns the seconds.
  double Run() {
    const auto start = std::chrono::steady_clock::now();
    for (Link& link : links_) Next(link);
    ended_.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

 private:
  struct Link {
    std::unique_ptr<grpc::ClientContext> context;
    Response response;
  };

  void Next(Link& link) {
    if (left_.fetch_sub(1) <= 0) {
      ended_.count_down();
      return;
    }
    link.context = std::make_unique<grpc::ClientContext>();
    start_(*link.context, link.response,
           [this, &link](const grpc::Status& status) {
             if (!status.ok()) Fail(status.error_message());
             Next(link);
           });
  }

  StartCall<Response> start_;
  std::vector<Link> links_;
  std::atomic<int> left_;
  std::latch ended_;
};

}  // namespace mansard::load
