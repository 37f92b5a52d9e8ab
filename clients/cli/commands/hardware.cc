// `mansard hardware list|get`.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/output/hardware_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
absl::StatusOr<Answer> RunHardwareList(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style) {
  const auto listed =
      session.ListAll(session.client().catalog(),
                      &v1::CatalogService::Stub::ListHardwareProfiles);
  if (!listed.ok()) return listed.status();
  const v1::ListHardwareProfilesResponse& all = *listed;
  Answer answer;
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json = JsonText(all);
    if (!json.ok()) return json.status();
    answer.out = *std::move(json);
    return answer;
  }
  if (arguments.output == OutputFormat::kCsv) {
    answer.out = CsvText(HardwareListReport(all));
    return answer;
  }
  answer.out = TableText(HardwareListReport(all), style);
  if (!arguments.quiet) {
    absl::StrAppend(&answer.out,
                    "\nRates are dense. next: mansard hardware get ID\n");
  }
  return answer;
}

absl::StatusOr<Answer> RunHardwareGet(const Session& session,
                                      const Arguments& arguments,
                                      const Style& style) {
  v1::GetHardwareProfileRequest request;
  request.set_name(absl::StrContains(arguments.operand, '/')
                       ? arguments.operand
                       : absl::StrCat("hardwareProfiles/", arguments.operand));
  v1::HardwareProfile profile;
  const absl::Status status = session.Call(
      session.client().catalog(), &v1::CatalogService::Stub::GetHardwareProfile,
      request, &profile);
  if (!status.ok()) {
    return WithHint(status, absl::IsNotFound(status)
                                ? "mansard hardware list shows what is there"
                                : "");
  }
  Answer answer;
  switch (arguments.output) {
    case OutputFormat::kJson: {
      absl::StatusOr<std::string> json = JsonText(profile);
      if (!json.ok()) return json.status();
      answer.out = *std::move(json);
      break;
    }
    case OutputFormat::kTextproto:
      ClearOutputOnly(&profile);
      answer.out = DataFileText(profile);
      break;
    case OutputFormat::kCsv:
      answer.out = CsvText(DatasheetReport(profile.device()));
      break;
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kSvg:
      answer.out = HardwareText(profile, style);
      break;
  }
  return answer;
}

}  // namespace mansard::cli
