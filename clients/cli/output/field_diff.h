// Where two messages of one type differ, field by field.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/output/report.h"
#include "google/protobuf/message.h"

namespace mansard::cli {

struct FieldDifference {
  // "device.peak_rates[bf16 tensor].flops_per_second.value". Entries of lists
  // go by what names them, else by their place.
  std::string field;
  std::string a;  // Empty: not there.
  std::string b;
};

// In the order of a's fields, then those that b alone has.
std::vector<FieldDifference> FieldDifferences(
    const google::protobuf::Message& a, const google::protobuf::Message& b);

// "--- a", "+++ b", then for each field "- field: value" and "+ field: value".
std::string UnifiedText(const std::string& a, const std::string& b,
                        const std::vector<FieldDifference>& differences);
Report DifferenceReport(const std::vector<FieldDifference>& differences);
// {"a": ..., "b": ..., "differences": [{"field", "a", "b"}]}.
absl::StatusOr<std::string> DifferenceJson(
    const std::string& a, const std::string& b,
    const std::vector<FieldDifference>& differences);

}  // namespace mansard::cli
