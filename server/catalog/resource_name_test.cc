#include "server/catalog/resource_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mansard::server {
namespace {

TEST(ResourceName, IsReadAsItIsMade) {
  model::Violations violations;
  const std::string name = ResourceName(kModelGraphs, "llama-3.1-8b");
  EXPECT_EQ(name, "modelGraphs/llama-3.1-8b");
  EXPECT_EQ(ParseResourceName(name, kModelGraphs, "name", violations),
            "llama-3.1-8b");
  EXPECT_TRUE(violations.empty());
}

TEST(ResourceName, RefusesEverythingElse) {
  for (const char* name :
       {"", "llama-3.1-8b", "modelGraphs", "modelGraphs/", "modelGraphs//a",
        "modelGraphs/a/b", "modelgraphs/a", "hardwareProfiles/a",
        "modelGraphs/A", "modelGraphs/a b", "modelGraphs/../a",
        "/modelGraphs/a", "modelGraphs/-a"}) {
    model::Violations violations;
    EXPECT_EQ(ParseResourceName(name, kModelGraphs, "name", violations),
              std::nullopt)
        << name;
    ASSERT_EQ(violations.all().size(), 1u) << name;
    EXPECT_EQ(violations.all()[0].field, "name");
    EXPECT_THAT(violations.all()[0].description,
                testing::HasSubstr("modelGraphs/{id}"));
  }
}

TEST(ResourceName, ClipsWhatItQuotes) {
  model::Violations violations;
  ParseResourceName(std::string(100'000, 'x'), kModelGraphs, "name",
                    violations);
  EXPECT_LT(violations.all()[0].description.size(), 300u);
}

}  // namespace
}  // namespace mansard::server
