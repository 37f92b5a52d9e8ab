#include "server/catalog/page_token.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "model/io/revision.h"

namespace mansard::server {
namespace {

std::string Fingerprint(absl::string_view list, absl::string_view last_key) {
  return model::ContentHash(absl::StrCat("page token\n", list, "\n", last_key));
}

}  // namespace

std::string MakePageToken(absl::string_view list, absl::string_view last_key) {
  return absl::WebSafeBase64Escape(
      absl::StrCat(Fingerprint(list, last_key), last_key));
}

std::optional<std::string> ReadPageToken(absl::string_view token,
                                         absl::string_view list) {
  std::string text;
  if (!absl::WebSafeBase64Unescape(token, &text)) return std::nullopt;
  const size_t length = Fingerprint(list, "").size();
  if (text.size() < length) return std::nullopt;
  const std::string last_key = text.substr(length);
  if (text.substr(0, length) != Fingerprint(list, last_key)) {
    return std::nullopt;
  }
  return last_key;
}

}  // namespace mansard::server
