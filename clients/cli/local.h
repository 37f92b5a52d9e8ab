// The engine in this process: the server's own library without a port.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class Channel;
}

namespace mansard::cli {

class LocalEngine {
 public:
  // With the catalog of `state_dir`: of what is there, or, where it may be
  // changed, made where there is none. Empty: without one.
  static absl::StatusOr<std::unique_ptr<LocalEngine>> Start(
      const std::string& state_dir, bool may_change);
  ~LocalEngine();

  // Valid while the engine lives.
  std::shared_ptr<grpc::Channel> Channel() const;

 private:
  struct Parts;
  explicit LocalEngine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mansard::cli
