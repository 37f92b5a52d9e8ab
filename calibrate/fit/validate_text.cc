#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/fit/validate.h"

namespace mansard::calibrate {
namespace {

double Percent(double fraction) { return 100 * fraction; }

void AppendErrors(const char* name, const Errors& errors, std::string& json) {
  absl::StrAppendFormat(
      &json,
      ",\"%s\":{\"row_count\":%d,\"mean_ratio\":%.5g,\"median_ratio\":%.5g,"
      "\"p90_ratio\":%.5g,\"bias_ratio\":%.5g,\"in_range_ratio\":%.5g}",
      name, errors.rows, errors.mean, errors.median, errors.p90, errors.bias,
      errors.in_range);
}

// Of what measured tables hold: printable text.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += ' ';
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string ToTable(const std::vector<Judgement>& judgements) {
  std::string text = absl::StrFormat(
      "%-19s %-22s %-25s %-18s %-11s %5s %5s  %6s  n,k>=%d: %4s %5s %5s %5s "
      "%5s %5s  %8s\n",
      "device", "formats", "framework", "stack", "tier", "rows", "ans.",
      "MAPE%", static_cast<int>(kLargeSide), "rows", "MAPE%", "P50%", "P90%",
      "bias%", "in%", "roofline");
  for (const Judgement& one : judgements) {
    absl::StrAppendFormat(
        &text,
        "%-19s %-22s %-25s %-18s %-11s %5d %5d  %6.1f           %5d %5.1f "
        "%5.1f %5.1f %+5.1f %5.0f  %8.1f\n",
        one.device, one.formats, absl::StrCat(one.framework, " ", one.version),
        one.stack, one.answered > 0 ? TierName(one.tier) : "-", one.rows,
        one.answered, Percent(one.all.mean), one.large.rows,
        Percent(one.large.mean), Percent(one.large.median),
        Percent(one.large.p90), Percent(one.large.bias),
        Percent(one.large.in_range), Percent(one.large_roofline.mean));
  }
  return text;
}

std::string ToJson(const std::vector<Judgement>& judgements) {
  std::string json = "[";
  for (const Judgement& one : judgements) {
    absl::StrAppend(&json, json.size() > 1 ? ",\n " : "",
                    "{\"device\":", Quoted(one.device),
                    ",\"formats\":", Quoted(one.formats),
                    ",\"framework\":", Quoted(one.framework),
                    ",\"framework_version\":", Quoted(one.version),
                    ",\"stack\":", Quoted(one.stack), ",\"tier\":\"",
                    TierName(one.tier), "\",\"row_count\":", one.rows,
                    ",\"answered_count\":", one.answered);
    AppendErrors("all", one.all, json);
    AppendErrors("large", one.large, json);
    AppendErrors("large_roofline", one.large_roofline, json);
    json += "}";
  }
  return json + "]\n";
}

}  // namespace mansard::calibrate
