#include "model/base/id.h"

#include <string>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

TEST(IsValidId, TakesPlainNames) {
  for (const char* id : {"a", "0", "llama-3.1-8b", "h100-sxm", "a--b", "a."}) {
    EXPECT_TRUE(IsValidId(id)) << id;
  }
  EXPECT_TRUE(IsValidId(std::string(63, 'a')));
  for (const char* id :
       {"", "-a", ".a", "A", "a b", "a/b", "a_b", "\xc3\xa4"}) {
    EXPECT_FALSE(IsValidId(id)) << id;
  }
  EXPECT_FALSE(IsValidId(std::string(64, 'a')));
}

}  // namespace
}  // namespace mansard::model
