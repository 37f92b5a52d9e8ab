// A real Prometheus with the shipped configuration, in a hurry.
#pragma once

#include <rapidjson/document.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace mansard::testing {

// Whether the package is installed.
bool HasPrometheus();

class Prometheus {
 public:
  // Scrapes `target` in the place of the shipped one and, where `engine` is not
  // empty, that as job "vllm"; every second, as rules are evaluated.
  explicit Prometheus(const std::string& target,
                      const std::string& engine = "");

  // "data" of an answer of its API: "/api/v1/rules". INVALID_ARGUMENT: it does
  // not understand; UNAVAILABLE: no answer now. Either is its text.
  absl::StatusOr<rapidjson::Document> Get(const std::string& path);
  // The samples of an instant query.
  absl::StatusOr<rapidjson::Document> Query(const std::string& expression);
  // Those of the last `seconds`, one a second.
  absl::StatusOr<rapidjson::Document> QueryRange(const std::string& expression,
                                                 int seconds);
  // Asks until there is a sample with this value, for at most a minute.
  bool WaitFor(const std::string& expression, const std::string& value);
  // What it has written.
  const std::string& output() const { return process_->output(); }

 private:
  TemporaryFolder folder_;
  std::string address_;
  std::unique_ptr<Process> process_;
};

}  // namespace mansard::testing
