#include "server/log.h"

#include <gtest/gtest.h>

namespace mansard::server {
namespace {

TEST(LogLine, IsOneJsonObject) {
  EXPECT_EQ(LogLine(LogLevel::kWarning, "2026-01-02T03:04:05Z", "rpc",
                    {{"method", "a/B"}, {"seconds", 0.25}, {"port", 7447}}),
            R"({"time":"2026-01-02T03:04:05Z","level":"warning","event":"rpc",)"
            R"("method":"a/B","seconds":0.25,"port":7447})");
}

TEST(LogLine, EscapesWhatCallersSend) {
  const std::string line =
      LogLine(LogLevel::kInfo, "t", "e", {{"message", "a\"b\nc\\"}});
  EXPECT_EQ(line,
            R"({"time":"t","level":"info","event":"e","message":"a\"b\nc\\"})");
}

TEST(ParseLogLevel, KnowsEveryNameAndNoOther) {
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("info"), LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevel("warning"), LogLevel::kWarning);
  EXPECT_EQ(ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(ParseLogLevel("off"), LogLevel::kOff);
  EXPECT_EQ(ParseLogLevel("INFO"), std::nullopt);
  EXPECT_EQ(ParseLogLevel(""), std::nullopt);
}

TEST(Logger, DropsWhatIsBelowItsLevel) {
  const Logger warning(LogLevel::kWarning);
  EXPECT_FALSE(warning.Enabled(LogLevel::kInfo));
  EXPECT_TRUE(warning.Enabled(LogLevel::kWarning));
  EXPECT_TRUE(warning.Enabled(LogLevel::kError));
  EXPECT_FALSE(Logger(LogLevel::kOff).Enabled(LogLevel::kError));
}

}  // namespace
}  // namespace mansard::server
