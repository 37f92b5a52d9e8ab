#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "calibrate/import/fabric_text.h"
#include "calibrate/import/json_text.h"
#include "calibrate/import/links.h"
#include "calibrate/measure/statistics.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Rates = std::vector<MeasuredRates>;

// Devices reach each other over links of their own where they are faster than
// the host by so much.
constexpr double kOwnLinks = 1.5;
// What one pair has of a device's links counts as all of them from here on.
constexpr double kWholeDevice = 0.9;

// Rates above 0: "N/A" is a device and itself, or a pair without a way.
std::vector<double> RatesOf(const rapidjson::Value* matrix, size_t& columns) {
  std::vector<double> rates;
  if (matrix == nullptr || !matrix->IsArray()) return rates;
  for (const rapidjson::Value& row : matrix->GetArray()) {
    if (!row.IsArray()) continue;
    columns = std::max<size_t>(columns, row.Size());
    for (const rapidjson::Value& cell : row.GetArray()) {
      const std::optional<double> rate = NumberOf(&cell);
      if (rate.has_value() && *rate > 0) rates.push_back(*rate * 1e9);
    }
  }
  return rates;
}

class Report {
 public:
  absl::Status Read(const rapidjson::Document& document) {
    const rapidjson::Value* tool = Member(document, "nvbandwidth");
    const rapidjson::Value* tests =
        tool == nullptr ? nullptr : Member(*tool, "testcases");
    if (tests == nullptr || !tests->IsArray()) {
      const absl::string_view error =
          tool == nullptr ? "" : TextOf(Member(*tool, "error"));
      return absl::InvalidArgumentError(absl::StrCat(
          "has no list nvbandwidth.testcases",
          error.empty() ? "" : absl::StrCat("; the tool says: ", error)));
    }
    tool_ = absl::StrCat("nvbandwidth ", TextOf(Member(*tool, "version")));
    driver_ = std::string(TextOf(Member(*tool, "Driver Version")));
    for (const rapidjson::Value& test : tests->GetArray()) ReadTest(test);
    return absl::OkStatus();
  }

  absl::StatusOr<Imported> Fragment(absl::string_view date) const {
    std::vector<MeasuredLink> links;
    const std::optional<MeasuredRates> host = HostRates();
    const MeasuredRates* pair = Best("device_to_device_memcpy_");
    const MeasuredRates* all = Best("one_to_all_");
    if (all == nullptr) all = Best("all_to_one_");
    if (pair != nullptr &&
        (!host.has_value() ||
         Median(pair->rates) > kOwnLinks * Median(host->rates))) {
      links.push_back(PeerLink(*pair, all));
    }
    if (host.has_value()) {
      links.push_back({.tier = "pcie",
                       .device = &*host,
                       .domain_devices = devices_ > 1 ? devices_ : 0});
    }
    if (links.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "has no test that passed of copies between host and device or two "
          "devices",
          notes_.empty() ? "" : absl::StrCat("; ", notes_.front())));
    }
    std::vector<std::string> comments = {absl::StrCat(
        tool_, driver_.empty() ? "" : absl::StrCat(", driver ", driver_))};
    for (const MeasuredRates& test : rates_) {
      comments.push_back(RatesText(test));
    }
    if (devices_ == 1) {
      comments.push_back(
          "One device: say in domain_device_count how many share the links.");
    }
    return Imported{FabricText(links, tool_, date, comments), notes_};
  }

 private:
  void ReadTest(const rapidjson::Value& test) {
    const std::string name(TextOf(Member(test, "name")));
    const absl::string_view status = TextOf(Member(test, "status"));
    if (status != "Passed") {
      notes_.push_back(absl::StrCat(name, ": left out, status ", status));
      return;
    }
    // Both directions stand there as three matrices, one upon the other.
    if (absl::StrContains(name, "bidirectional")) {
      notes_.push_back(absl::StrCat(name, ": left out, both directions"));
      return;
    }
    const absl::string_view description =
        TextOf(Member(test, "bandwidth_description"));
    if (!absl::StrContains(description, "GB/s")) {
      notes_.push_back(absl::StrCat(name, ": left out, no bandwidth in GB/s"));
      return;
    }
    size_t columns = 0;
    std::vector<double> rates =
        RatesOf(Member(test, "bandwidth_matrix"), columns);
    if (rates.empty()) {
      notes_.push_back(absl::StrCat(name, ": left out, without a rate"));
      return;
    }
    devices_ = std::max(devices_, static_cast<int>(columns));
    rates_.push_back({name, std::move(rates)});
  }

  const MeasuredRates* Find(absl::string_view name) const {
    for (const MeasuredRates& test : rates_) {
      if (test.test == name) return &test;
    }
    return nullptr;
  }

  // The one with the largest median: reads or writes, by copy engine or
  // multiprocessors, also between nodes of one NVLink domain.
  const MeasuredRates* Best(absl::string_view prefix) const {
    const MeasuredRates* best = nullptr;
    for (const MeasuredRates& test : rates_) {
      absl::string_view name = test.test;
      absl::ConsumePrefix(&name, "multinode_");
      if (!absl::StartsWith(name, prefix)) continue;
      if (best == nullptr || Median(test.rates) > Median(best->rates)) {
        best = &test;
      }
    }
    return best;
  }

  // The slower direction; copy engines, which are what is used.
  std::optional<MeasuredRates> HostRates() const {
    for (const char* engine : {"ce", "sm"}) {
      const MeasuredRates* slower = nullptr;
      for (const char* way : {"host_to_device", "device_to_host"}) {
        const MeasuredRates* test = Find(absl::StrCat(way, "_memcpy_", engine));
        if (test != nullptr && (slower == nullptr ||
                                Median(test->rates) < Median(slower->rates))) {
          slower = test;
        }
      }
      if (slower != nullptr) return *slower;
    }
    return std::nullopt;
  }

  MeasuredLink PeerLink(const MeasuredRates& pair,
                        const MeasuredRates* all) const {
    MeasuredLink link{
        .tier = "nvlink", .device = &pair, .domain_devices = devices_};
    if (all != nullptr && Median(all->rates) > Median(pair.rates)) {
      link.device = all;
      if (Median(pair.rates) < kWholeDevice * Median(all->rates)) {
        link.pair = &pair;
      }
    }
    return link;
  }

  std::string tool_;
  std::string driver_;
  Rates rates_;
  int devices_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

absl::StatusOr<Imported> ImportNvbandwidth(absl::string_view text,
                                           absl::string_view date) {
  ASSIGN_OR_RETURN(const rapidjson::Document document, ParseToolJson(text));
  Report report;
  RETURN_IF_ERROR(report.Read(document));
  return report.Fragment(date);
}

}  // namespace mansard::calibrate
