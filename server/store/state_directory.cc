#include "server/store/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::server {
namespace {

namespace fs = std::filesystem;

absl::Status Unfit(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the state directory \"", path, "\" ", why));
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return absl::OkStatus();
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error || mkdir(path.c_str(), 0700) != 0) {
    return Unfit(path, absl::StrCat("cannot be made: ",
                                    error ? error.message() : strerror(errno)));
  }
  return absl::OkStatus();
}

// An open file that only its owner may read; -1 with errno.
int OpenPrivate(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0 && fchmod(file, 0600) != 0) {
    close(file);
    return -1;
  }
  return file;
}

// "process 4711", or nothing.
std::string Holder(int lock) {
  char text[32] = {};
  const ssize_t size = pread(lock, text, sizeof text - 1, 0);
  const std::string id(
      absl::StripAsciiWhitespace({text, size < 0 ? 0 : size_t(size)}));
  return id.empty() ? "" : absl::StrCat(" (process ", id, ")");
}

// Their entries in the folder are on disk.
void SyncFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  (void)fsync(folder);
  close(folder);
}

}  // namespace

std::string DatabasePath(const std::string& state_directory) {
  return absl::StrCat(state_directory, "/catalog.sqlite");
}

bool HasDatabase(const std::string& state_directory) {
  std::error_code error;
  return fs::exists(DatabasePath(state_directory), error);
}

absl::StatusOr<StateDirectory> StateDirectory::Hold(const std::string& path) {
  RETURN_IF_ERROR(MakeFolder(path));
  const int lock = OpenPrivate(absl::StrCat(path, "/lock"));
  if (lock < 0) {
    return Unfit(path, absl::StrCat("cannot be written: ", strerror(errno)));
  }
  StateDirectory held(lock);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return Unfit(path, absl::StrCat("is in use by another process",
                                    Holder(lock), "; one at a time writes"));
  }
  // Who holds it is for messages only.
  const std::string id = absl::StrCat(getpid(), "\n");
  if (ftruncate(lock, 0) == 0) {
    (void)!pwrite(lock, id.data(), id.size(), 0);
  }
  return held;
}

absl::StatusOr<std::string> NewDatabase(const std::string& state_directory) {
  std::string path = absl::StrCat(DatabasePath(state_directory), ".new");
  (void)unlink(path.c_str());  // Of a start that was cut short.
  const int file = OpenPrivate(path);
  if (file < 0) {
    return Unfit(state_directory,
                 absl::StrCat("cannot be written: ", strerror(errno)));
  }
  close(file);
  return path;
}

absl::Status KeepNewDatabase(const std::string& state_directory) {
  const std::string path = DatabasePath(state_directory);
  if (rename(absl::StrCat(path, ".new").c_str(), path.c_str()) != 0) {
    return Unfit(state_directory,
                 absl::StrCat("cannot be written: ", strerror(errno)));
  }
  SyncFolder(state_directory);
  return absl::OkStatus();
}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)) {}

StateDirectory::~StateDirectory() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace mansard::server
