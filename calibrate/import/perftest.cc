#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibrate/import/fabric_text.h"
#include "calibrate/import/links.h"
#include "calibrate/measure/statistics.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Words = std::vector<std::string>;

// The tools' MB is 2^20 bytes, as newer ones spell it.
constexpr double kMebibyte = 1048576;
constexpr double kGigabit = 1e9 / 8;

class Report {
 public:
  absl::Status Read(absl::string_view text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_;
      const Words words =
          absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
      if (words.empty()) continue;
      if (words[0] == "#bytes") {
        RETURN_IF_ERROR(ReadHeader(line));
      } else if (absl::StrContains(line, "BW Test")) {
        RETURN_IF_ERROR(ReadTitle(line));
      } else if (absl::StrContains(line, "Dual-port") &&
                 absl::StrContains(line, ": ON")) {
        notes_.push_back("both ports of the card together");
      } else if (unit_ > 0) {
        RETURN_IF_ERROR(ReadRow(words));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Imported> Fragment(absl::string_view date) const {
    if (rates_.empty()) {
      return absl::InvalidArgumentError(
          "has no row of results below a header with #bytes and BW average");
    }
    // By size, of several tests the median; the best of the sizes.
    MeasuredRates best;
    std::vector<std::string> comments = {title_};
    for (const auto& [bytes, rates] : rates_) {
      MeasuredRates size{absl::StrCat(title_, " of ", bytes, " bytes"), rates};
      comments.push_back(RatesText(size));
      if (best.rates.empty() || Median(rates) > Median(best.rates)) {
        best = std::move(size);
      }
    }
    comments.push_back(
        "For one device with the network card to itself; where it has more, or "
        "shares it, change the rate.");
    return Imported{FabricText({{.tier = "rdma", .device = &best}}, "perftest",
                               date, comments),
                    notes_};
  }

 private:
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", what));
  }

  // "                    RDMA_Write BW Test".
  absl::Status ReadTitle(absl::string_view line) {
    if (absl::StrContains(line, "Bidirectional")) {
      return Wrong("both directions together (-b); measure one");
    }
    const absl::string_view trimmed = absl::StripAsciiWhitespace(line);
    title_ = std::string(trimmed.substr(0, trimmed.find(" Test")));
    return absl::OkStatus();
  }

  absl::Status ReadHeader(absl::string_view line) {
    if (absl::StrContains(line, "BW average[Gb/sec]")) {
      unit_ = kGigabit;
    } else if (absl::StrContains(line, "BW average[MB/sec]") ||
               absl::StrContains(line, "BW average[MiB/sec]")) {
      unit_ = kMebibyte;
    } else {
      return Wrong(
          "no column \"BW average\" in MB/sec, MiB/sec or Gb/sec; latencies "
          "are no bandwidths");
    }
    // Size, iterations, peak, average; a service level before the iterations
    // where there is one. Some builds leave the peak out.
    average_ = 1;
    if (absl::StrContains(line, "#iterations")) ++average_;
    if (absl::StrContains(line, "#sl")) ++average_;
    if (absl::StrContains(line, "BW peak")) ++average_;
    columns_ = average_ + (absl::StrContains(line, "MsgRate") ? 2 : 1);
    return absl::OkStatus();
  }

  absl::Status ReadRow(const Words& words) {
    int64_t bytes = 0;
    if (!absl::SimpleAtoi(words[0], &bytes)) return absl::OkStatus();
    double average = 0;
    if (bytes <= 0 || words.size() < columns_ ||
        !absl::SimpleAtod(words[average_], &average) || !(average >= 0)) {
      return Wrong("a row that is cut off");
    }
    if (average > 0) rates_[bytes].push_back(average * unit_);
    return absl::OkStatus();
  }

  int64_t line_ = 0;
  std::string title_ = "RDMA";
  double unit_ = 0;
  size_t average_ = 0;  // Column.
  size_t columns_ = 0;  // Of a whole row, at least.
  std::map<int64_t, std::vector<double>> rates_;
  std::vector<std::string> notes_;
};

}  // namespace

absl::StatusOr<Imported> ImportPerftest(absl::string_view text,
                                        absl::string_view date) {
  Report report;
  RETURN_IF_ERROR(report.Read(text));
  return report.Fragment(date);
}

}  // namespace mansard::calibrate
