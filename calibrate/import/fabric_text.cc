#include "calibrate/import/fabric_text.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/measure/statistics.h"
#include "google/protobuf/text_format.h"
#include "mansard/v1/catalog.pb.h"

namespace mansard::calibrate {
namespace {

constexpr double kGigabyte = 1e9;

void SetRate(const MeasuredRates& measured, absl::string_view tool,
             absl::string_view date, v1::SourcedNumber& number) {
  // Five digits, as in the source's text.
  double value = 0;
  if (absl::SimpleAtod(absl::StrFormat("%.5g", Median(measured.rates)),
                       &value)) {
    number.set_value(value);
  }
  v1::Provenance& provenance = *number.mutable_provenance();
  provenance.set_kind(v1::Provenance::KIND_MEASURED);
  provenance.set_source(absl::StrCat(tool, ": ", RatesText(measured)));
  provenance.set_observe_date(std::string(date));
}

}  // namespace

std::string RatesText(const MeasuredRates& measured) {
  const auto [least, most] =
      std::minmax_element(measured.rates.begin(), measured.rates.end());
  if (measured.rates.size() == 1) {
    return absl::StrFormat("%s: %.5g GB/s", measured.test, *least / kGigabyte);
  }
  return absl::StrFormat("%s: median of %d %.5g GB/s, %.5g to %.5g",
                         measured.test, measured.rates.size(),
                         Median(measured.rates) / kGigabyte, *least / kGigabyte,
                         *most / kGigabyte);
}

std::string FabricText(const std::vector<MeasuredLink>& links,
                       absl::string_view tool, absl::string_view date,
                       const std::vector<std::string>& comments) {
  v1::Fabric fabric;
  fabric.set_fabric("measured");
  fabric.set_display_name(absl::StrCat("Measured by ", tool));
  for (const MeasuredLink& measured : links) {
    v1::Link& link = *fabric.add_links();
    link.set_tier(measured.tier);
    SetRate(*measured.device, tool, date,
            *link.mutable_bandwidth_bytes_per_second());
    if (measured.pair != nullptr) {
      SetRate(*measured.pair, tool, date,
              *link.mutable_pair_bandwidth_bytes_per_second());
    }
    link.set_domain_device_count(measured.domain_devices);
  }
  std::string text =
      "# proto-file: mansard/v1/catalog.proto\n"
      "# proto-message: mansard.v1.Fabric\n";
  for (const std::string& comment : comments) {
    absl::StrAppend(&text, "# ", comment, "\n");
  }
  std::string body;
  google::protobuf::TextFormat::PrintToString(fabric, &body);
  return absl::StrCat(text, body);
}

}  // namespace mansard::calibrate
