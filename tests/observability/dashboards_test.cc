// Dashboards, rules and the runbook against each other, without a server.
#include "tests/observability/dashboards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool HasText(const rapidjson::Value& object, const char* key) {
  return object.HasMember(key) && object[key].IsString() &&
         object[key].GetStringLength() > 0;
}

bool HasInt(const rapidjson::Value& object, const char* key) {
  return object.HasMember(key) && object[key].IsInt();
}

// Grafana's own panels that are used, with the options that each documents.
const std::map<std::string, std::set<std::string>>& PanelOptions() {
  static const auto* const kOptions =
      new std::map<std::string, std::set<std::string>>{
          {"stat",
           {"reduceOptions", "colorMode", "graphMode", "textMode",
            "justifyMode", "orientation"}},
          {"timeseries", {"legend", "tooltip"}},
          {"heatmap",
           {"calculate", "yAxis", "color", "cellGap", "filterValues", "legend",
            "tooltip", "rowsFrame"}},
          {"bargauge",
           {"displayMode", "orientation", "showUnfilled", "valueMode",
            "reduceOptions"}},
          {"table", {"showHeader", "cellHeight", "footer"}},
          {"text", {"mode", "content"}}};
  return *kOptions;
}

// Units of Grafana that are used.
const std::set<std::string>& Units() {
  static const auto* const kUnits = new std::set<std::string>{
      "none", "s", "percentunit", "reqps", "bytes", "Bps", "flops"};
  return *kUnits;
}

TEST(Dashboards, ThereAreThree) {
  std::vector<std::string> uids;
  for (const Dashboard& dashboard : ReadDashboards()) {
    uids.push_back(dashboard.json["uid"].GetString());
  }
  EXPECT_THAT(uids, ElementsAre("mansard-calibration", "mansard-predictions",
                                "mansard-service"));
}

TEST(Dashboards, FollowTheSchema) {
  for (const Dashboard& dashboard : ReadDashboards()) {
    SCOPED_TRACE(dashboard.file);
    const rapidjson::Document& json = dashboard.json;
    for (const char* key :
         {"uid", "title", "description", "refresh", "timezone"}) {
      EXPECT_TRUE(HasText(json, key)) << key;
    }
    EXPECT_TRUE(json["id"].IsNull());
    EXPECT_LE(json["uid"].GetStringLength(), 40u);
    EXPECT_GE(json["schemaVersion"].GetInt(), 36);
    EXPECT_FALSE(json["editable"].GetBool());
    EXPECT_TRUE(HasText(json["time"], "from"));
    EXPECT_TRUE(HasText(json["time"], "to"));
    for (const auto& variable : json["templating"]["list"].GetArray()) {
      EXPECT_TRUE(HasText(variable, "name"));
      EXPECT_TRUE(HasText(variable, "label"));
      const std::string type = variable["type"].GetString();
      EXPECT_TRUE(type == "datasource" || type == "query") << type;
    }
    for (const auto& link : json["links"].GetArray()) {
      EXPECT_STREQ(link["type"].GetString(), "dashboards");
      EXPECT_EQ(link["tags"].Size(), 1u);
    }
    EXPECT_STREQ(json["tags"][0].GetString(), "mansard");
  }
}

TEST(Dashboards, PanelsSayWhatTheyShowAndInWhichUnit) {
  for (const Dashboard& dashboard : ReadDashboards()) {
    for (const rapidjson::Value* panel : PanelsOf(dashboard)) {
      ASSERT_TRUE(HasText(*panel, "title")) << dashboard.file;
      SCOPED_TRACE(
          absl::StrCat(dashboard.file, ": ", (*panel)["title"].GetString()));
      EXPECT_TRUE(HasText(*panel, "description"));
      const std::string type = (*panel)["type"].GetString();
      ASSERT_TRUE(PanelOptions().contains(type)) << type;
      for (const auto& option : (*panel)["options"].GetObject()) {
        EXPECT_TRUE(PanelOptions().at(type).contains(option.name.GetString()))
            << option.name.GetString();
      }
      if (type == "text") continue;
      EXPECT_STREQ((*panel)["datasource"]["uid"].GetString(), "${datasource}");
      const auto& defaults = (*panel)["fieldConfig"]["defaults"];
      ASSERT_TRUE(HasText(defaults, "unit"));
      EXPECT_TRUE(Units().contains(defaults["unit"].GetString()))
          << defaults["unit"].GetString();
      EXPECT_GT((*panel)["targets"].Size(), 0u);
      std::set<std::string> references;
      for (const auto& target : (*panel)["targets"].GetArray()) {
        EXPECT_TRUE(HasText(target, "expr"));
        EXPECT_TRUE(references.insert(target["refId"].GetString()).second);
        EXPECT_TRUE(target.HasMember("range") || target.HasMember("instant"));
      }
    }
  }
}

TEST(Dashboards, PanelsLieSideBySide) {
  for (const Dashboard& dashboard : ReadDashboards()) {
    std::set<int> ids;
    std::set<std::string> titles;
    std::set<std::pair<int, int>> taken;
    for (const auto& panel : dashboard.json["panels"].GetArray()) {
      SCOPED_TRACE(
          absl::StrCat(dashboard.file, ": ", panel["title"].GetString()));
      // What panels show is told apart by their titles.
      EXPECT_TRUE(absl::string_view(panel["type"].GetString()) == "row" ||
                  titles.insert(panel["title"].GetString()).second);
      ASSERT_TRUE(HasInt(panel, "id"));
      EXPECT_TRUE(ids.insert(panel["id"].GetInt()).second);
      const auto& place = panel["gridPos"];
      for (const char* key : {"x", "y", "w", "h"}) {
        ASSERT_TRUE(HasInt(place, key)) << key;
      }
      const int right = place["x"].GetInt() + place["w"].GetInt();
      const int bottom = place["y"].GetInt() + place["h"].GetInt();
      EXPECT_LE(right, 24);
      for (int x = place["x"].GetInt(); x < right; ++x) {
        for (int y = place["y"].GetInt(); y < bottom; ++y) {
          EXPECT_TRUE(taken.emplace(x, y).second) << x << ", " << y;
        }
      }
    }
  }
}

// As the waterfall draws compute, HBM, NVLink and launches; phases and limits
// likewise have one colour each.
TEST(Dashboards, EachNameHasOneColour) {
  std::map<std::string, std::string> colours;
  for (const Dashboard& dashboard : ReadDashboards()) {
    for (const rapidjson::Value* panel : PanelsOf(dashboard)) {
      if (!panel->HasMember("fieldConfig")) continue;
      for (const auto& one : (*panel)["fieldConfig"]["overrides"].GetArray()) {
        const std::string name = one["matcher"]["options"].GetString();
        const std::string colour =
            one["properties"][0]["value"]["fixedColor"].GetString();
        const auto [known, added] = colours.emplace(name, colour);
        EXPECT_EQ(known->second, colour) << name;
      }
    }
  }
  const std::string svg =
      ReadRepositoryFile("clients/cli/output/waterfall_svg.cc");
  for (const auto& [bound, tier] :
       std::map<std::string, std::string>{{"compute", "compute"},
                                          {"memory", "hbm"},
                                          {"communication", "nvlink"},
                                          {"overhead", "launch"}}) {
    ASSERT_TRUE(colours.contains(bound)) << bound;
    EXPECT_THAT(svg, HasSubstr(absl::StrCat("{\"", tier, "\", \"",
                                            colours.at(bound), "\"")))
        << bound;
  }
}

// Else scripts/previews.sh is to be run again.
TEST(Dashboards, TheirPreviewsShowEachPanel) {
  const std::string page = ReadRepositoryFile("docs/dashboards.md");
  for (const Dashboard& dashboard : ReadDashboards()) {
    SCOPED_TRACE(dashboard.file);
    const std::string picture = absl::StrCat(
        "images/dashboard-",
        dashboard.file.substr(0, dashboard.file.rfind('.')), ".svg");
    EXPECT_THAT(page, HasSubstr(absl::StrCat("](", picture, ")")));
    const std::string svg = ReadRepositoryFile("docs/" + picture);
    EXPECT_THAT(svg, HasSubstr("no screenshot of Grafana"));
    EXPECT_THAT(svg, Not(HasSubstr(">no data<")));
    for (const auto& panel : dashboard.json["panels"].GetArray()) {
      const std::string title =
          absl::StrReplaceAll(panel["title"].GetString(),
                              {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
      EXPECT_TRUE(absl::StrContains(svg, absl::StrCat(">", title, "</text>")))
          << title;
    }
  }
}

// "MansardDown" -> 1, by how many rules have the name.
std::map<std::string, int> Alerts() {
  const std::string rules = ReadRepositoryFile("deploy/prometheus/rules.yml");
  static const auto* const kAlert = new std::regex(R"(- alert: (\w+))");
  std::map<std::string, int> alerts;
  for (auto it = std::sregex_iterator(rules.begin(), rules.end(), *kAlert);
       it != std::sregex_iterator(); ++it) {
    ++alerts[(*it)[1]];
  }
  return alerts;
}

TEST(Runbook, HasASectionForEachAlertAndNoOther) {
  const std::string runbook = ReadRepositoryFile("docs/runbook.md");
  const std::string rules = ReadRepositoryFile("deploy/prometheus/rules.yml");
  static const auto* const kSection = new std::regex(R"((^|\n)## (\w+)\n)");
  std::set<std::string> sections;
  for (auto it =
           std::sregex_iterator(runbook.begin(), runbook.end(), *kSection);
       it != std::sregex_iterator(); ++it) {
    sections.insert((*it)[2]);
  }
  std::set<std::string> alerts;
  for (const auto& [alert, count] : Alerts()) {
    alerts.insert(alert);
    const std::string link = absl::StrCat("runbook_url: docs/runbook.md#",
                                          absl::AsciiStrToLower(alert), "\n");
    size_t links = 0;
    for (size_t at = rules.find(link); at != std::string::npos;
         at = rules.find(link, at + 1)) {
      ++links;
    }
    EXPECT_EQ(links, static_cast<size_t>(count)) << link;
    // What it means, what to look at, what to do.
    const size_t begin = runbook.find(absl::StrCat("## ", alert, "\n"));
    if (begin == std::string::npos) continue;
    const std::string section =
        runbook.substr(begin, runbook.find("\n## ", begin + 1) - begin);
    for (const char* part : {"**Means**: ", "**Look at**\n- ", "**Do**\n- "}) {
      EXPECT_THAT(section, HasSubstr(part)) << alert;
    }
  }
  EXPECT_EQ(sections, alerts);
  EXPECT_GE(alerts.size(), 10u);
}

TEST(Rules, EachAlertHasATestThatMakesItFire) {
  const std::string tests =
      ReadRepositoryFile("tests/observability/rules_test.yml");
  for (const auto& [alert, count] : Alerts()) {
    const std::regex fires("alertname: " + alert +
                           R"(\n +exp_alerts:\n +- exp_labels)");
    EXPECT_TRUE(std::regex_search(tests, fires)) << alert;
  }
}

TEST(MetricNames, AreNeitherLabelsNorRecordingRulesNorText) {
  EXPECT_THAT(MetricNames("sum by (grpc_code) (rate(grpc_server_handled_total{"
                          "job=~\".*\", grpc_code!=\"OK\"}[5m])) / "
                          "mansard:drift:ratio_rate30m * up"),
              ElementsAre("grpc_server_handled_total", "up"));
  EXPECT_THAT(MetricNames("{__name__=~\"vllm:estimated_flops_per_gpu_total\"}"),
              IsEmpty());
  EXPECT_THAT(MetricNames("uptime + mansard_build_info"),
              ElementsAre("mansard_build_info"));
}

}  // namespace
}  // namespace mansard::testing
