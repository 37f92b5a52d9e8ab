// The files under deploy/ that people see, as the tests read them.
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <vector>

namespace mansard::testing {

struct Dashboard {
  std::string file;  // "service.json".
  rapidjson::Document json;
};

// All of deploy/grafana/dashboards, by name. A test fails where one does not
// parse.
std::vector<Dashboard> ReadDashboards();

// Panels but rows.
std::vector<const rapidjson::Value*> PanelsOf(const Dashboard& dashboard);

struct Expression {
  std::string where;  // "service.json: Calls".
  std::string text;   // PromQL, without Grafana's variables.
  bool heatmap = false;
  bool annotation = false;
};

// Of all panels' targets and of annotations. Variables are what stands for
// "all", $job is "mansard"; $__rate_interval is `interval`.
std::vector<Expression> ExpressionsOf(const Dashboard& dashboard,
                                      const std::string& interval);

// Without Grafana's variables.
std::string Substituted(const std::string& text, const std::string& interval);

// Names of metrics in a PromQL expression: mansard_*, grpc_*, process_*, up.
// Recording rules (with colons) and engines' own metrics are not among them.
std::vector<std::string> MetricNames(const std::string& expression);

std::string ReadRepositoryFile(const std::string& path);

}  // namespace mansard::testing
