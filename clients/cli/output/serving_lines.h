// Parts that the texts and reports about serving share.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cli/output/report.h"
#include "mansard/v1/scheduling_service.pb.h"

namespace mansard::cli {

// "14.9 ms".
std::string Seconds(double seconds);
// A label and text behind it, wrapped.
std::string LabelLine(absl::string_view label, absl::string_view text);
// "target", "cache", "engine"; empty for none, or one of a newer server.
std::string LimitWord(v1::BatchLimit limit);
// "2,048 tokens in, 256 out".
std::string ShapeText(const v1::RequestShape& shape);
// "inter-token latency" for "inter_token_latency_seconds".
std::string TargetText(const std::string& target);
Cell SecondsCell(bool there, double seconds);
Column TimeColumn(const char* name, const char* csv);

// The times of served load that are there.
template <class Response>
std::string ServedLines(const Response& response) {
  std::string out;
  if (response.has_time_to_first_token_seconds()) {
    absl::StrAppend(&out,
                    LabelLine("first token",
                              Seconds(response.time_to_first_token_seconds())));
  }
  if (response.has_time_per_output_token_seconds()) {
    absl::StrAppend(
        &out, LabelLine("each token",
                        Seconds(response.time_per_output_token_seconds())));
  }
  if (response.has_end_to_end_latency_seconds()) {
    absl::StrAppend(&out,
                    LabelLine("end to end",
                              Seconds(response.end_to_end_latency_seconds())));
  }
  return out;
}

}  // namespace mansard::cli
