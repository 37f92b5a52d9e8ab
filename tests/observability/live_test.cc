// Dashboards and rules against a real Prometheus that scrapes a used server.
//
// With MANSARD_PREVIEW=FILE the load lasts longer, and what each panel shows is
// written there for scripts/previews.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/observability/dashboards.h"
#include "tests/observability/prometheus.h"
#include "tests/observability/used_server.h"

namespace mansard::testing {
namespace {

// An alert's condition as a number: data also where nothing is wrong.
std::string AsNumbers(const std::string& condition) {
  return std::regex_replace(condition, std::regex(R"( (==|>=|<=|>|<) )"),
                            " $1 bool ");
}

// Samples that are finite numbers.
int Count(const rapidjson::Value& data) {
  if (absl::string_view(data["resultType"].GetString()) == "scalar") return 1;
  int count = 0;
  for (const auto& sample : data["result"].GetArray()) {
    if (std::isfinite(std::atof(sample["value"][1].GetString()))) ++count;
  }
  return count;
}

class LiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasPrometheus()) GTEST_SKIP() << "package prometheus is not here";
    const char* const preview = std::getenv("MANSARD_PREVIEW");
    preview_ = preview == nullptr ? "" : preview;
    server_ = std::make_unique<UsedServer>();
    server_->Use(0);
    prometheus_ = std::make_unique<Prometheus>(server_->metrics_address(),
                                               server_->engine_address());
    ASSERT_TRUE(prometheus_->WaitFor("up{job=\"vllm\"}", "1"))
        << prometheus_->output();
    const int rounds = preview_.empty() ? 5 : kPreviewSeconds;
    for (int round = 1; round <= rounds; ++round) {
      server_->Use(round);
      absl::SleepFor(absl::Seconds(1));
    }
  }

  // Within 20 s: on a busy machine a scrape comes too late now and then.
  void ExpectData(const std::string& where, const std::string& expression) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    for (;;) {
      const auto data = prometheus_->Query(expression);
      ASSERT_TRUE(data.ok()) << where << "\n" << data.status();
      if (Count(*data) > 0) return;
      if (absl::Now() > deadline) break;
      absl::SleepFor(absl::Milliseconds(500));
    }
    ADD_FAILURE() << where << " has no data:\n" << expression;
  }

  // Every name in it is a series of the server's page.
  void ExpectServed(const std::string& where, const std::string& expression) {
    for (const std::string& name : MetricNames(expression)) {
      if (name == "up") continue;  // Prometheus's own.
      EXPECT_TRUE(absl::StrContains(page_, "\n" + name + " ") ||
                  absl::StrContains(page_, "\n" + name + "{"))
          << where << ": " << name;
    }
  }

  static constexpr int kPreviewSeconds = 90;
  std::string preview_;
  std::unique_ptr<UsedServer> server_;
  std::unique_ptr<Prometheus> prometheus_;
  std::string page_;
};

// Of one panel's target: what is drawn from it.
void Write(const rapidjson::Value& data, const std::string& where,
           rapidjson::Writer<rapidjson::StringBuffer>& writer) {
  writer.Key(where.c_str());
  data["result"].Accept(writer);
}

TEST_F(LiveTest, EveryExpressionHasData) {
  page_ = HttpGet(server_->metrics_address(), "/metrics").body;
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  int expressions = 0;
  for (const Dashboard& dashboard : ReadDashboards()) {
    for (const Expression& one : ExpressionsOf(dashboard, "1m")) {
      ++expressions;
      ExpectServed(one.where, one.text);
      ExpectData(one.where, one.text);
      if (preview_.empty()) continue;
      const std::string shown = absl::StrReplaceAll(
          one.text, {{"[1m]", one.heatmap ? "[5s]" : "[15s]"}});
      const auto range = prometheus_->QueryRange(shown, kPreviewSeconds - 10);
      ASSERT_TRUE(range.ok()) << one.where << range.status();
      Write(*range, one.where, writer);
    }
  }
  EXPECT_GT(expressions, 60);
  writer.EndObject();
  if (!preview_.empty()) std::ofstream(preview_) << buffer.GetString();

  const auto rules = prometheus_->Get("/api/v1/rules");
  ASSERT_TRUE(rules.ok()) << rules.status();
  for (const auto& group : (*rules)["groups"].GetArray()) {
    for (const auto& rule : group["rules"].GetArray()) {
      const std::string name = rule["name"].GetString();
      const std::string query = rule["query"].GetString();
      EXPECT_STREQ(rule["health"].GetString(), "ok") << name;
      ExpectServed(name, query);
      const bool alert =
          absl::string_view(rule["type"].GetString()) == "alerting";
      ExpectData(name, alert ? AsNumbers(query) : query);
    }
  }
}

}  // namespace
}  // namespace mansard::testing
