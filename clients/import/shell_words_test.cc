#include "clients/import/shell_words.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

using Words = std::vector<std::string>;

TEST(ShellWords, SplitsAsAShell) {
  const struct {
    const char* text;
    Words words;
  } kTable[] = {
      {"", {}},
      {"  \t\n ", {}},
      {"vllm  serve\tm", {"vllm", "serve", "m"}},
      {"a \\\n  b", {"a", "b"}},
      {"ab\\\ncd", {"abcd"}},
      {R"(--x '{"a": 1}' y)", {"--x", R"({"a": 1})", "y"}},
      {R"("a b"c'd e')", {"a bcd e"}},
      {R"("a\"b\\c\d")", {R"(a"b\c\d)"}},
      {R"('a\b')", {R"(a\b)"}},
      {R"(a\ b)", {"a b"}},
      {R"('' "")", {"", ""}},
      {"a # b c\nd", {"a", "d"}},
      {"a#b", {"a#b"}},
      {"$MODEL ${X}", {"$MODEL", "${X}"}},
      {"'a && b'", {"a && b"}},
      {"a\\", {"a"}},
  };
  for (const auto& row : kTable) {
    const auto words = SplitShellWords(row.text);
    ASSERT_TRUE(words.ok()) << row.text << ": " << words.status();
    EXPECT_EQ(*words, row.words) << row.text;
  }
}

TEST(ShellWords, RefusesWhatIsNoSingleCommand) {
  for (const char* text :
       {"a && b", "a | b", "a; b", "a > log", "a &", "'a", "\"a", "a 'b c"}) {
    const auto words = SplitShellWords(text);
    EXPECT_EQ(words.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace mansard::importing
