#include "clients/cli/output/serving_lines.h"

#include "absl/strings/str_format.h"

namespace mansard::cli {
namespace {

constexpr int kLabelWidth = 12;

}  // namespace

std::string Seconds(double seconds) {
  return WithUnit(seconds, Unit::kSeconds);
}

std::string LabelLine(absl::string_view label, absl::string_view text) {
  return absl::StrCat(absl::StrFormat("  %-*s", kLabelWidth, label),
                      Wrapped(text, 2 + kLabelWidth));
}

std::string LimitWord(v1::BatchLimit limit) {
  switch (limit) {
    case v1::BATCH_LIMIT_SLO:
      return "target";
    case v1::BATCH_LIMIT_KV_BUDGET:
      return "cache";
    case v1::BATCH_LIMIT_ENGINE:
      return "engine";
    default:  // None, or one that a newer server knows.
      return "";
  }
}

std::string ShapeText(const v1::RequestShape& shape) {
  std::string text =
      absl::StrCat(Grouped(int64_t{shape.input_token_count()}), " tokens in, ",
                   Grouped(int64_t{shape.output_token_count()}), " out");
  if (shape.prefix_cache_hit_ratio() > 0) {
    absl::StrAppend(
        &text, ", ",
        absl::StrFormat("%.4g %%", 100 * shape.prefix_cache_hit_ratio()),
        " of the prompts cached");
  }
  return text;
}

Cell SecondsCell(bool there, double seconds) {
  return there ? Number(seconds) : Cell();
}

Column TimeColumn(const char* name, const char* csv) {
  return {name, Unit::kSeconds, Align::kRight, csv};
}

std::string TargetText(const std::string& target) {
  if (target == "time_to_first_token_seconds") return "time to first token";
  if (target == "time_per_output_token_seconds") return "time per output token";
  if (target == "inter_token_latency_seconds") return "inter-token latency";
  if (target == "end_to_end_latency_seconds") return "end-to-end latency";
  return target;
}

}  // namespace mansard::cli
