// `mansard hardware list|get`.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/output/hardware_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

// Small enough that a page stays below gRPC's 4 MB.
constexpr int kPageSize = 50;

}  // namespace

absl::StatusOr<Answer> RunHardwareList(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style) {
  v1::ListHardwareProfilesRequest request;
  request.set_page_size(kPageSize);
  v1::ListHardwareProfilesResponse all;
  do {
    v1::ListHardwareProfilesResponse page;
    const absl::Status status = session.Call(
        session.client().catalog(),
        &v1::CatalogService::Stub::ListHardwareProfiles, request, &page);
    if (!status.ok()) return status;
    request.set_page_token(page.next_page_token());
    page.clear_next_page_token();
    all.MergeFrom(page);
  } while (!request.page_token().empty());
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
      answer.out = HardwareText(profile, style);
      break;
  }
  return answer;
}

}  // namespace mansard::cli
