#include "clients/cli/command_status.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"

namespace mansard::cli {
namespace {

grpc::Status BrokenRules() {
  google::rpc::BadRequest rules;
  const std::pair<const char*, const char*> violations[] = {
      {"tp", "is 3; allowed: 1"},
      {"tp", "is 30; allowed: 1"},
      {"tp", "\"3\" is odd"},
      {"elsewhere", "is wrong"},
  };
  for (const auto& [field, description] : violations) {
    auto* violation = rules.add_field_violations();
    violation->set_field(field);
    violation->set_description(description);
  }
  google::rpc::Status rich;
  rich.add_details()->PackFrom(rules);
  return grpc::Status(grpc::INVALID_ARGUMENT, "all at once",
                      rich.SerializeAsString());
}

TEST(FromServer, EveryRuleIsALine) {
  const absl::Status status =
      FromServer(BrokenRules(), "", [](const std::string& field) {
        return field == "tp" ? std::string("--tp 3") : std::string();
      });
  EXPECT_EQ(ErrorText(status),
            "error: --tp is 3; allowed: 1\n"
            "error: --tp 3: is 30; allowed: 1\n"
            "error: --tp \"3\" is odd\n"
            "error: elsewhere: is wrong\n");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kFailed);
}

TEST(FromServer, ExitCodes) {
  const std::pair<grpc::StatusCode, ExitCode> cases[] = {
      {grpc::OK, ExitCode::kDone},
      {grpc::INVALID_ARGUMENT, ExitCode::kFailed},
      {grpc::NOT_FOUND, ExitCode::kFailed},
      {grpc::FAILED_PRECONDITION, ExitCode::kFailed},
      {grpc::RESOURCE_EXHAUSTED, ExitCode::kFailed},
      {grpc::INTERNAL, ExitCode::kFailed},
      {grpc::UNAVAILABLE, ExitCode::kUnreachable},
      {grpc::DEADLINE_EXCEEDED, ExitCode::kUnreachable},
  };
  for (const auto& [code, exit_code] : cases) {
    for (const char* server : {"", "localhost:1"}) {
      EXPECT_EQ(ExitCodeOf(FromServer(grpc::Status(code, "why"), server)),
                exit_code)
          << code;
    }
  }
}

TEST(FromServer, DetailsThatCannotBeReadLeaveTheMessage) {
  EXPECT_EQ(ErrorText(FromServer(
                grpc::Status(grpc::INTERNAL, "broken", "\xff\xff"), "")),
            "error: broken\n");
}

TEST(Usage, HasItsOwnExitCodeAndOneHint) {
  const absl::Status status =
      WithHint(UsageError("--tp is \"x\"", "first"), "second");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  EXPECT_EQ(ErrorText(status), "error: --tp is \"x\"\nhint: first\n");
  EXPECT_EQ(ExitCodeOf(Failed("no")), ExitCode::kFailed);
}

}  // namespace
}  // namespace mansard::cli
