#include "tests/observability/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/observability/dashboards.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kPrometheus[] = "/usr/bin/prometheus";
constexpr char kFolder[] = "deploy/prometheus/";

std::string Config(const std::string& target, const std::string& engine) {
  const std::string shipped =
      ReadRepositoryFile(absl::StrCat(kFolder, "prometheus.yml"));
  const std::string rules =
      absl::StrCat(MANSARD_SOURCE_DIR, "/", kFolder, "rules.yml");
  std::string config = shipped;
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"127.0.0.1:9464", target},
           {"scrape_interval: 15s", "scrape_interval: 1s"},
           {"scrape_timeout: 10s", "scrape_timeout: 1s"},
           {"evaluation_interval: 15s", "evaluation_interval: 1s"},
           {"  - rules.yml", "  - " + rules}}) {
    EXPECT_THAT(shipped, HasSubstr(from));
    absl::StrReplaceAll({{from, to}}, &config);
  }
  if (engine.empty()) return config;
  return absl::StrCat(config,
                      "  - job_name: vllm\n    static_configs:\n"
                      "      - targets: [\"",
                      engine, "\"]\n");
}

std::string Encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) {
      encoded.push_back(c);
    } else {
      absl::StrAppend(&encoded, absl::StrFormat("%%%02X", byte));
    }
  }
  return encoded;
}

}  // namespace

bool HasPrometheus() { return access(kPrometheus, X_OK) == 0; }

Prometheus::Prometheus(const std::string& target, const std::string& engine) {
  const std::string config = folder_ / "prometheus.yml";
  std::ofstream(config) << Config(target, engine);
  process_ = std::make_unique<Process>(
      std::vector<std::string>{kPrometheus, "--config.file=" + config,
                               "--storage.tsdb.path=" + (folder_ / "data"),
                               "--web.listen-address=127.0.0.1:0"});
  // A line comes within 20 s, on a busy machine perhaps not the first time.
  std::optional<std::string> line;
  for (int i = 0; i < 3 && !line.has_value(); ++i) {
    line = process_->ReadUntil("\"Listening on\" address=");
  }
  EXPECT_TRUE(line.has_value()) << process_->output();
  if (line.has_value()) address_ = line->substr(line->rfind('=') + 1);
}

absl::StatusOr<rapidjson::Document> Prometheus::Get(const std::string& path) {
  const std::string body = HttpGet(address_, path).body;
  rapidjson::Document answer;
  answer.Parse(body.c_str());
  if (answer.HasParseError() || !answer.IsObject()) {
    return absl::UnavailableError(body);
  }
  if (answer.HasMember("errorType") &&
      absl::string_view(answer["errorType"].GetString()) == "bad_data") {
    return absl::InvalidArgumentError(body);
  }
  if (!answer.HasMember("data")) return absl::UnavailableError(body);
  rapidjson::Document data;
  data.CopyFrom(answer["data"], data.GetAllocator());
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the answer's own.
  return data;
}

absl::StatusOr<rapidjson::Document> Prometheus::Query(
    const std::string& expression) {
  return Get(absl::StrCat("/api/v1/query?query=", Encoded(expression)));
}

absl::StatusOr<rapidjson::Document> Prometheus::QueryRange(
    const std::string& expression, int seconds) {
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  return Get(absl::StrCat("/api/v1/query_range?step=1&start=", now - seconds,
                          "&end=", now, "&query=", Encoded(expression)));
}

bool Prometheus::WaitFor(const std::string& expression,
                         const std::string& value) {
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (absl::Now() < deadline) {
    const auto data = Query(expression);
    if (data.ok()) {
      for (const auto& sample : (*data)["result"].GetArray()) {
        if (sample["value"][1].GetString() == value) return true;
      }
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  return false;
}

}  // namespace mansard::testing
