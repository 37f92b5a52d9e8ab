// A folder of a test's own, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace mansard::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path =
        (std::filesystem::temp_directory_path() / "mansard-XXXXXX").string();
    path_ = mkdtemp(path.data()) == nullptr ? "" : path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // "{path}/{name}".
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace mansard::testing
