#include "tests/observability/dashboards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mansard::testing {

std::string ReadRepositoryFile(const std::string& path) {
  std::ifstream in(absl::StrCat(MANSARD_SOURCE_DIR, "/", path));
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Dashboard> ReadDashboards() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat(MANSARD_SOURCE_DIR, "/deploy/grafana/dashboards"))) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Dashboard> dashboards;
  for (const std::string& file : files) {
    Dashboard& dashboard = dashboards.emplace_back();
    dashboard.file = file;
    dashboard.json.Parse(
        ReadRepositoryFile(absl::StrCat("deploy/grafana/dashboards/", file))
            .c_str());
    EXPECT_FALSE(dashboard.json.HasParseError()) << file;
    EXPECT_TRUE(dashboard.json.IsObject()) << file;
  }
  return dashboards;
}

std::vector<const rapidjson::Value*> PanelsOf(const Dashboard& dashboard) {
  std::vector<const rapidjson::Value*> panels;
  for (const auto& panel : dashboard.json["panels"].GetArray()) {
    if (absl::string_view(panel["type"].GetString()) != "row") {
      panels.push_back(&panel);
    }
  }
  return panels;
}

std::string Substituted(const std::string& text, const std::string& interval) {
  return absl::StrReplaceAll(
      std::regex_replace(
          text, std::regex(R"(\$(service|model|hardware|phase|engine)\b)"),
          ".*"),
      {{"$__rate_interval", interval}, {"$job", "mansard"}});
}

std::vector<Expression> ExpressionsOf(const Dashboard& dashboard,
                                      const std::string& interval) {
  std::vector<Expression> expressions;
  for (const rapidjson::Value* panel : PanelsOf(dashboard)) {
    if (!panel->HasMember("targets")) continue;
    for (const auto& target : (*panel)["targets"].GetArray()) {
      expressions.push_back(
          {absl::StrCat(dashboard.file, ": ", (*panel)["title"].GetString(),
                        " ", target["refId"].GetString()),
           Substituted(target["expr"].GetString(), interval),
           absl::string_view((*panel)["type"].GetString()) == "heatmap"});
    }
  }
  for (const auto& one : dashboard.json["annotations"]["list"].GetArray()) {
    expressions.push_back(
        {.where = absl::StrCat(dashboard.file, ": ", one["name"].GetString()),
         .text = Substituted(one["expr"].GetString(), interval),
         .annotation = true});
  }
  return expressions;
}

std::vector<std::string> MetricNames(const std::string& expression) {
  // What stands in quotes is no metric.
  const std::string bare =
      std::regex_replace(expression, std::regex("\"[^\"]*\""), "\"\"");
  static const auto* const kName = new std::regex(
      "(^|[^a-zA-Z0-9_:.])((mansard|grpc|process)_[a-z0-9_]+|up)"
      "(?![a-zA-Z0-9_:])");
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(bare.begin(), bare.end(), *kName);
       it != std::sregex_iterator(); ++it) {
    // Labels, such as grpc_code, stand before an operator or in brackets.
    const std::string rest = it->suffix();
    const std::string name = (*it)[2];
    static const auto* const kLabel =
        new std::regex(R"(^\s*(=~|!~|!=|=|,|\)))");
    const bool label = absl::StartsWith(name, "grpc_") &&
                       !absl::StartsWith(name, "grpc_server_") &&
                       std::regex_search(rest, *kLabel);
    if (!label) names.insert(name);
  }
  return {names.begin(), names.end()};
}

}  // namespace mansard::testing
