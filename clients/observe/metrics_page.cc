#include "clients/observe/metrics_page.h"

#include <civetweb.h>

#include <array>
#include <cstdint>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mansard::observe {
namespace {

constexpr size_t kMaxBytes = 16 * 1024 * 1024;

absl::Status Unavailable(const MetricsUrl& url, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("http:", "//", url.host, ":",
                                             url.port, url.path,
                                             " cannot be read: ", why));
}

// `length`: -1 where the answer does not say it, and ends with the connection,
// as HTTP/1.0 may.
absl::StatusOr<std::string> ReadBody(const MetricsUrl& url,
                                     mg_connection* connection,
                                     int64_t length) {
  std::string body;
  std::array<char, 64 * 1024> block{};
  for (;;) {
    const int got = mg_read(connection, block.data(), block.size());
    if (got <= 0) {
      if (length >= 0 && body.size() != static_cast<size_t>(length)) {
        return Unavailable(url, "the answer breaks off");
      }
      return body;
    }
    body.append(block.data(), static_cast<size_t>(got));
    if (body.size() > kMaxBytes) {
      return Unavailable(url, "the answer is longer than 16 MiB");
    }
  }
}

}  // namespace

absl::StatusOr<MetricsUrl> ParseMetricsUrl(absl::string_view text) {
  const auto invalid = [text] {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text,
        "\" is no address; allowed: http:", "//host[:port][/path]"));
  };
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "http:") ||
      !absl::ConsumePrefix(&rest, "//")) {
    return invalid();
  }
  MetricsUrl url;
  const size_t slash = rest.find('/');
  absl::string_view host = rest.substr(0, slash);
  if (slash != absl::string_view::npos && slash + 1 < rest.size()) {
    url.path = std::string(rest.substr(slash));
  }
  // The colon of the port is behind the brackets of an IPv6 address.
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos &&
      !absl::StrContains(host.substr(colon), "]")) {
    if (!absl::SimpleAtoi(host.substr(colon + 1), &url.port) || url.port < 1 ||
        url.port > 65535) {
      return invalid();
    }
    host = host.substr(0, colon);
  }
  url.host = std::string(host);
  const bool plain = url.path.find_first_of(" \r\n\t#") == std::string::npos &&
                     url.host.find_first_of(" \r\n\t@?#") == std::string::npos;
  if (url.host.empty() || !plain) return invalid();
  return url;
}

absl::StatusOr<std::string> FetchMetrics(const MetricsUrl& url,
                                         absl::Duration timeout) {
  std::array<char, 256> error{};
  const std::unique_ptr<mg_connection, decltype(&mg_close_connection)>
      connection(mg_connect_client(url.host.c_str(), url.port, /*use_ssl=*/0,
                                   error.data(), error.size()),
                 &mg_close_connection);
  if (connection == nullptr) return Unavailable(url, error.data());
  // HTTP/1.0: the body comes in one piece and ends with the connection.
  mg_printf(connection.get(),
            "GET %s HTTP/1.0\r\nHost: %s:%d\r\nAccept: text/plain\r\n"
            "Connection: close\r\n\r\n",
            url.path.c_str(), url.host.c_str(), url.port);
  const auto timeout_ms = static_cast<int>(absl::ToInt64Milliseconds(timeout));
  if (mg_get_response(connection.get(), error.data(), error.size(),
                      timeout_ms) < 0) {
    return Unavailable(url, error.data());
  }
  const mg_response_info* const info = mg_get_response_info(connection.get());
  if (info == nullptr || info->status_code != 200) {
    return Unavailable(
        url,
        absl::StrCat("it answers ", info == nullptr ? 0 : info->status_code));
  }
  return ReadBody(url, connection.get(), info->content_length);
}

}  // namespace mansard::observe
