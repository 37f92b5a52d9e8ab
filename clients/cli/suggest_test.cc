#include "clients/cli/suggest.h"

#include "gtest/gtest.h"

namespace mansard::cli {
namespace {

struct SuggestCase {
  const char* word;
  const char* closest;
};

TEST(ClosestWord, ExplainsTypingMistakesOnly) {
  const std::vector<std::string> known = {"--batch", "--stack", "--tp",
                                          "--context"};
  const SuggestCase cases[] = {
      {"--batch", "--batch"},
      {"--btach", "--batch"},
      {"--batchs", "--batch"},
      {"--contxt", "--context"},
      {"--pt", "--tp"},
      {"--waterfall", ""},
      {"x", ""},
      {"", ""},
  };
  for (const SuggestCase& c : cases) {
    EXPECT_EQ(ClosestWord(c.word, known), c.closest) << c.word;
  }
  EXPECT_EQ(ClosestWord("--batch", {}), "");
}

}  // namespace
}  // namespace mansard::cli
