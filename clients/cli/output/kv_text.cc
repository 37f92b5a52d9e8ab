#include "clients/cli/output/kv_text.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {

std::string FetchWins(const v1::PlanKvTransferResponse::Option& option) {
  const auto& rows = option.preferences();
  if (rows.empty()) return "";
  if (rows.size() == 1) return rows[0].fetch_is_faster() ? "always" : "never";
  std::string text;
  for (int i = 0; i < rows.size(); ++i) {
    const absl::string_view comma = text.empty() ? "" : ", ";
    if (rows[i].fetch_is_faster()) {
      if (i > 0) {
        absl::StrAppend(&text, comma, "from ",
                        Grouped(rows[i].from_token_count()));
      }
    } else if (i > 0) {
      absl::StrAppend(&text, i > 1 ? " " : "", "up to ",
                      Grouped(rows[i].from_token_count() - 1));
    }
  }
  return text;
}

Report SourcesReport(const v1::PlanKvTransferResponse& response) {
  Report report{
      {{"source", Unit::kNone, Align::kLeft},
       {"a rank", Unit::kBytes, Align::kRight, "rank_bytes"},
       {"all ranks", Unit::kBytes, Align::kRight, "instance_bytes"},
       {"floor", Unit::kSeconds},
       {"fetch", Unit::kSeconds, Align::kRight, "transfer_seconds"},
       {"exposed", Unit::kSeconds},
       {"recompute", Unit::kSeconds, Align::kRight, "", Reader::kPrograms},
       {"faster", Unit::kNone, Align::kLeft},
       {"tier", Unit::kNone, Align::kLeft},
       {"fetch wins", Unit::kNone, Align::kLeft}},
      {}};
  for (const auto& option : response.options()) {
    report.rows.push_back(
        {Text(option.source_tier()),
         Number(static_cast<double>(option.rank_bytes())),
         Number(static_cast<double>(option.instance_bytes())),
         Number(option.floor_seconds()), Number(option.transfer_seconds()),
         Number(option.exposed_seconds()), Number(response.recompute_seconds()),
         Text(option.fetch_is_faster() ? "fetch" : "recompute"),
         Text(TierWord(option.tier())), Text(FetchWins(option))});
  }
  return report;
}

}  // namespace mansard::cli
