#include "calibrate/measure/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::calibrate {
namespace {

constexpr size_t kBarWidth = 24;
constexpr char kEraseLine[] = "\r\x1b[K";

std::string MinutesText(double seconds) {
  const int whole = static_cast<int>(std::max(0.0, seconds));
  return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
}

std::string RateText(const CaseResult& result) {
  const double operations =
      std::max(Operations(result.measured), result.run_operations);
  if (operations > 0) {
    return absl::StrFormat("%.4g GFLOP/s",
                           operations / result.seconds.median * 1e-9);
  }
  const double bytes = MovedBytes(result.measured);
  if (bytes == 0) return "";
  return absl::StrFormat("%.4g GB/s", bytes / result.seconds.median * 1e-9);
}

}  // namespace

std::string ResultText(const CaseResult& result) {
  const std::string id = CaseId(result.measured);
  std::string text;
  if (result.seconds.count > 0) {
    text = absl::StrFormat(
        "%-52s %10.1f us +-%.1f %%  %s", id, result.seconds.median * 1e6,
        result.seconds.RelativeHalfWidth() * 100, RateText(result));
  } else {
    text = absl::StrFormat("%-52s", id);
  }
  if (result.outcome != Outcome::kMeasured) {
    absl::StrAppend(&text, "  ", OutcomeName(result.outcome));
  }
  if (!result.reason.empty()) absl::StrAppend(&text, "  ", result.reason);
  return text;
}

std::string BarText(const Standing& standing) {
  const size_t full = standing.total == 0
                          ? kBarWidth
                          : kBarWidth * standing.done / standing.total;
  return absl::StrCat("[", std::string(full, '#'),
                      std::string(kBarWidth - full, '.'), "] ", standing.done,
                      "/", standing.total, "  ",
                      MinutesText(standing.elapsed_seconds), " of ",
                      MinutesText(standing.budget_seconds));
}

void ShowProgress(const Standing& standing) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  std::string text;
  if (terminal) text = kEraseLine;
  if (standing.last != nullptr) {
    absl::StrAppend(&text, ResultText(*standing.last), "\n");
  }
  if (terminal && standing.done < standing.total) {
    absl::StrAppend(&text, BarText(standing));
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace mansard::calibrate
