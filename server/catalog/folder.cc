#include "server/catalog/folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::server {
namespace {

namespace fs = std::filesystem;

absl::Status Unreadable(const fs::path& path, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(path.string(), ": ", why));
}

// The textprotos of one subfolder, in order of name, so that results do not
// depend on the disk. None where there is no such folder.
absl::StatusOr<std::vector<model::DataFile>> ReadFolder(
    const fs::path& folder) {
  std::vector<model::DataFile> files;
  std::error_code error;
  if (!fs::exists(folder, error)) return files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".textproto") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    if (!in) return Unreadable(entry.path(), "cannot be read");
    files.push_back(
        {entry.path().string(), {std::istreambuf_iterator<char>(in), {}}});
  }
  if (error) return Unreadable(folder, error.message());
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace

absl::Status MergeFolder(const std::string& folder, model::ShippedData& data) {
  const fs::path root(folder);
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return absl::NotFoundError(
        absl::StrCat("--catalog_dir \"", folder, "\" is no folder"));
  }
  model::DataFiles files;
  ASSIGN_OR_RETURN(files.fabrics, ReadFolder(root / "fabrics"));
  ASSIGN_OR_RETURN(files.hardware, ReadFolder(root / "hardware"));
  ASSIGN_OR_RETURN(files.models, ReadFolder(root / "models"));
  return model::AddData(files, data);
}

}  // namespace mansard::server
