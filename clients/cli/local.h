// The engine in this process: the server's own library without a port.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

namespace grpc {
class Channel;
}

namespace mansard::cli {

class LocalEngine {
 public:
  static absl::StatusOr<std::unique_ptr<LocalEngine>> Start();
  ~LocalEngine();

  // Valid while the engine lives.
  std::shared_ptr<grpc::Channel> Channel() const;

 private:
  struct Parts;
  explicit LocalEngine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mansard::cli
