#include "server/catalog/page_token.h"

#include <gtest/gtest.h>

namespace mansard::server {
namespace {

TEST(PageToken, GivesTheKeyBack) {
  for (const char* key : {"a", "llama-3.1-8b", "0"}) {
    EXPECT_EQ(ReadPageToken(MakePageToken("modelGraphs", key), "modelGraphs"),
              key);
  }
}

TEST(PageToken, IsSafeInAUrlAndHidesTheKey) {
  const std::string token = MakePageToken("modelGraphs", "llama-3.1-8b");
  EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                    "qrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_EQ(token.find("llama"), std::string::npos);
}

TEST(PageToken, RefusesWhatItDidNotMake) {
  const std::string token = MakePageToken("modelGraphs", "a");
  EXPECT_EQ(ReadPageToken(token, "hardwareProfiles"), std::nullopt);
  EXPECT_EQ(ReadPageToken("", "modelGraphs"), std::nullopt);
  EXPECT_EQ(ReadPageToken("YQ", "modelGraphs"), std::nullopt);
  EXPECT_EQ(ReadPageToken("%%%", "modelGraphs"), std::nullopt);
  std::string changed = token;
  changed[0] = changed[0] == 'A' ? 'B' : 'A';
  EXPECT_EQ(ReadPageToken(changed, "modelGraphs"), std::nullopt);
}

}  // namespace
}  // namespace mansard::server
