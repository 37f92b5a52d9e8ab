#include "model/base/suggest.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string>& Devices() {
  static const auto* const kDevices = new std::vector<std::string>{
      "a100-sxm-80gb", "b200-sxm", "h100-sxm", "h200-sxm", "l40s"};
  return *kDevices;
}

TEST(ClosestNamesTest, TypingMistakes) {
  // Two letters swapped are two replacements.
  EXPECT_THAT(ClosestNames("h100-smx", Devices()), ElementsAre("h100-sxm"));
  // One replacement before two.
  EXPECT_THAT(ClosestNames("h300-sxm", Devices()),
              ElementsAre("h100-sxm", "h200-sxm", "b200-sxm"));
  EXPECT_THAT(ClosestNames("l40", Devices()), ElementsAre("l40s"));
  EXPECT_THAT(ClosestNames("l4s", Devices()), ElementsAre("l40s"));
}

TEST(ClosestNamesTest, IgnoresCase) {
  EXPECT_THAT(ClosestNames("A100-SXM-80GB", Devices()),
              ElementsAre("a100-sxm-80gb"));
}

TEST(ClosestNamesTest, PartOfAName) {
  EXPECT_THAT(ClosestNames("h100", Devices()), ElementsAre("h100-sxm"));
  EXPECT_THAT(ClosestNames("80GB", Devices()), ElementsAre("a100-sxm-80gb"));
}

TEST(ClosestNamesTest, AtMostThreeNearestFirst) {
  EXPECT_THAT(ClosestNames("sxm", Devices()),
              ElementsAre("b200-sxm", "h100-sxm", "h200-sxm"));
}

TEST(ClosestNamesTest, NothingNear) {
  EXPECT_THAT(ClosestNames("gaudi-3", Devices()), IsEmpty());
  EXPECT_THAT(ClosestNames("", Devices()), IsEmpty());
  EXPECT_THAT(ClosestNames("h100", {}), IsEmpty());
}

TEST(ClosestNamesTest, LongNamesAreNotCompared) {
  const std::string longest(128, 'x');
  EXPECT_THAT(ClosestNames(longest, {longest}), ElementsAre(longest));
  const std::string longer(129, 'x');
  EXPECT_THAT(ClosestNames(longer, {longer}), IsEmpty());
}

}  // namespace
}  // namespace mansard::model
