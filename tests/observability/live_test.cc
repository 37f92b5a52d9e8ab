// Dashboards and rules against a real Prometheus that scrapes a used server.
//
// With MANSARD_PREVIEW=FILE the load lasts longer, and what each panel shows is
// written there for scripts/previews.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

// The condition of an alert or an annotation as a number: data also where it
// does not hold.
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

// What must have data, and what to call it.
struct Wanted {
  std::string where;
  std::string expression;
};

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
    // Rates have data as long as there is load.
    load_ = std::thread([this] {
      for (int round = 1; !ended_; ++round) {
        server_->Use(round);
        absl::SleepFor(absl::Seconds(1));
      }
    });
    if (!preview_.empty()) absl::SleepFor(absl::Seconds(kPreviewSeconds));
  }

  void TearDown() override {
    ended_ = true;
    if (load_.joinable()) load_.join();
  }

  // Asks for all of them again and again, until each has had data: what a
  // scrape or an evaluation that comes late lacks now, it has the next time.
  void ExpectData(std::vector<Wanted> wanted) {
    const absl::Time deadline = absl::Now() + kPatience;
    std::string last;
    while (!wanted.empty() && absl::Now() < deadline) {
      std::vector<Wanted> without;
      for (Wanted& one : wanted) {
        const auto data = prometheus_->Query(one.expression);
        ASSERT_NE(data.status().code(), absl::StatusCode::kInvalidArgument)
            << one.where << "\n"
            << data.status();
        last = data.status().ToString();
        if (!data.ok() || Count(*data) == 0) {
          without.push_back(std::move(one));
        }
      }
      wanted = std::move(without);
      if (!wanted.empty()) absl::SleepFor(absl::Milliseconds(300));
    }
    for (const Wanted& one : wanted) {
      ADD_FAILURE() << one.where << " has no data:\n"
                    << one.expression << "\nThe last answer: " << last;
    }
  }

  // Every name in it is a series of the server's page.
  void ExpectServed(const Wanted& wanted) {
    for (const std::string& name : MetricNames(wanted.expression)) {
      if (name == "up") continue;  // Prometheus's own.
      EXPECT_TRUE(absl::StrContains(page_, "\n" + name + " ") ||
                  absl::StrContains(page_, "\n" + name + "{"))
          << wanted.where << ": " << name;
    }
  }

  // Those of the rules, all of which have been evaluated without an error.
  std::vector<Wanted> Rules();

  // Of all queries together; the test's own limit is two minutes.
  static constexpr absl::Duration kPatience = absl::Seconds(80);
  static constexpr int kPreviewSeconds = 90;
  std::string preview_;
  std::unique_ptr<UsedServer> server_;
  std::unique_ptr<Prometheus> prometheus_;
  std::atomic<bool> ended_ = false;
  std::thread load_;
  std::string page_;
};

std::vector<Wanted> LiveTest::Rules() {
  std::vector<Wanted> wanted;
  std::string bad = "no answer";
  for (const absl::Time deadline = absl::Now() + absl::Seconds(30);
       !bad.empty() && absl::Now() < deadline;
       absl::SleepFor(absl::Milliseconds(200))) {
    const auto rules = prometheus_->Get("/api/v1/rules");
    if (!rules.ok()) continue;
    wanted.clear();
    bad = (*rules)["groups"].Empty() ? "no groups" : "";
    for (const auto& group : (*rules)["groups"].GetArray()) {
      for (const auto& rule : group["rules"].GetArray()) {
        const std::string name = rule["name"].GetString();
        const std::string query = rule["query"].GetString();
        const std::string health = rule["health"].GetString();
        if (health != "ok") absl::StrAppend(&bad, name, ": ", health, "\n");
        const bool alert =
            absl::string_view(rule["type"].GetString()) == "alerting";
        wanted.push_back({name, alert ? AsNumbers(query) : query});
      }
    }
  }
  EXPECT_EQ(bad, "");
  return wanted;
}

// What all panels show, for scripts/lib/dashboard_svg.py.
std::string Preview(const std::vector<Expression>& expressions, int seconds,
                    Prometheus& prometheus) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  for (const Expression& one : expressions) {
    const std::string shown = absl::StrReplaceAll(
        one.text, {{"[1m]", one.heatmap ? "[5s]" : "[15s]"}});
    const auto range = prometheus.QueryRange(shown, seconds);
    EXPECT_TRUE(range.ok()) << one.where << range.status();
    if (!range.ok()) continue;
    writer.Key(one.where.c_str());
    (*range)["result"].Accept(writer);
  }
  writer.EndObject();
  return buffer.GetString();
}

TEST_F(LiveTest, EveryExpressionHasData) {
  page_ = HttpGet(server_->metrics_address(), "/metrics").body;
  std::vector<Expression> expressions;
  for (const Dashboard& dashboard : ReadDashboards()) {
    for (Expression& one : ExpressionsOf(dashboard, "1m")) {
      expressions.push_back(std::move(one));
    }
  }
  std::vector<Wanted> wanted = Rules();
  EXPECT_GE(wanted.size(), 15u);
  for (const Expression& one : expressions) {
    wanted.push_back(
        {one.where, one.annotation ? AsNumbers(one.text) : one.text});
  }
  EXPECT_GT(wanted.size(), 75u);
  for (const Wanted& one : wanted) ExpectServed(one);
  ExpectData(std::move(wanted));
  if (!preview_.empty()) {
    std::ofstream(preview_)
        << Preview(expressions, kPreviewSeconds - 10, *prometheus_);
  }
}

}  // namespace
}  // namespace mansard::testing
