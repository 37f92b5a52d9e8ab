#include "clients/cli/input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command_status.h"

namespace mansard::cli {
namespace {

absl::Status CannotRead(const std::string& path, absl::string_view reason) {
  return Failed(absl::StrCat("Cannot read ", path, ": ", reason));
}

}  // namespace

bool NamesFile(const std::string& value) {
  std::error_code ignored;
  return value == "-" || absl::EndsWith(value, ".json") ||
         absl::EndsWith(value, ".textproto") ||
         std::filesystem::exists(value, ignored);
}

absl::StatusOr<std::string> ReadInput(const std::string& path,
                                      int64_t max_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::filesystem::path config =
        std::filesystem::path(path) / "config.json";
    if (!std::filesystem::is_regular_file(config, ignored)) {
      return CannotRead(path, "a folder without config.json");
    }
    return ReadInput(config.string(), max_bytes);
  }
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : path;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      is_stdin ? nullptr : std::fopen(path.c_str(), "rb"), &std::fclose);
  std::FILE* file = is_stdin ? stdin : opened.get();
  if (file == nullptr) return CannotRead(name, std::strerror(errno));
  std::string text;
  char block[1 << 16];
  while (const size_t count = std::fread(block, 1, sizeof(block), file)) {
    text.append(block, count);
    if (static_cast<int64_t>(text.size()) > max_bytes) {
      return CannotRead(
          name, absl::StrCat("larger than ", max_bytes, " bytes, the limit"));
    }
  }
  if (std::ferror(file) != 0) return CannotRead(name, std::strerror(errno));
  if (absl::StripAsciiWhitespace(text).empty()) {
    return CannotRead(name, "it is empty");
  }
  return text;
}

bool LooksLikeJson(absl::string_view text) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{");
}

}  // namespace mansard::cli
