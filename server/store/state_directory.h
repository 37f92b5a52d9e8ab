// The folder in which one process at a time keeps its catalog.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mansard::server {

// Held while it lives; other processes are refused.
class StateDirectory {
 public:
  // Makes the folder where there is none (0700). FAILED_PRECONDITION where
  // another process holds it, or it cannot be made or written.
  static absl::StatusOr<StateDirectory> Hold(const std::string& path);
  StateDirectory(StateDirectory&& other) noexcept;
  StateDirectory& operator=(StateDirectory&&) = delete;
  ~StateDirectory();

 private:
  explicit StateDirectory(int lock) : lock_(lock) {}
  int lock_;
};

std::string DatabasePath(const std::string& state_directory);
// Whether there is a database.
bool HasDatabase(const std::string& state_directory);
// A database is made under another name, so that one under its own is never
// half made: the path of an empty file (0600), and giving it its name.
// FAILED_PRECONDITION where the folder cannot be written.
absl::StatusOr<std::string> NewDatabase(const std::string& state_directory);
absl::Status KeepNewDatabase(const std::string& state_directory);

}  // namespace mansard::server
