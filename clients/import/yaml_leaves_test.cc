#include "clients/import/yaml_leaves.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mansard::importing {
namespace {

TEST(YamlLeaves, FlattensMaps) {
  const auto leaves = ReadYamlLeaves(R"(# a comment
tensor_parallel_size: 8
kv_cache_config:
  dtype: fp8
  free_gpu_memory_fraction: 0.8
cuda_graph_config: null
moe_config:
other: ~
quoted: "null"
empty: {}
none: []
batch_sizes: [1, 2, 4]
list:
  - a: 1
  - 2
)");
  ASSERT_TRUE(leaves.ok()) << leaves.status();
  EXPECT_EQ(*leaves,
            (YamlLeaves{{"tensor_parallel_size", "8"},
                        {"kv_cache_config.dtype", "fp8"},
                        {"kv_cache_config.free_gpu_memory_fraction", "0.8"},
                        {"cuda_graph_config", "null"},
                        {"moe_config", "null"},
                        {"other", "null"},
                        {"quoted", "null"},
                        {"empty", "{}"},
                        {"none", "[]"},
                        {"batch_sizes", "1,2,4"},
                        {"list.0.a", "1"},
                        {"list.1", "2"}}));
}

TEST(YamlLeaves, ReadsJson) {
  const auto leaves = ReadYamlLeaves(
      R"({"method": "mtp", "num_speculative_tokens": 2, "a": {"b": true}})");
  ASSERT_TRUE(leaves.ok()) << leaves.status();
  EXPECT_EQ(*leaves, (YamlLeaves{{"method", "mtp"},
                                 {"num_speculative_tokens", "2"},
                                 {"a.b", "true"}}));
}

TEST(YamlLeaves, OfNothingIsNothing) {
  const auto leaves = ReadYamlLeaves("");
  ASSERT_TRUE(leaves.ok());
  EXPECT_TRUE(leaves->empty());
}

TEST(YamlLeaves, RefusesWithThePlace) {
  const struct {
    const char* text;
    const char* place;
  } kTable[] = {
      {"- 1\n- 2\n", "1:1: "},
      {"just words", "1:1: "},
      {"a: 1\nb: [1, 2\n", "3:1: "},
      {"a: 1\n? [x, y]\n: 2\n", "2:3: "},
  };
  for (const auto& row : kTable) {
    const auto leaves = ReadYamlLeaves(row.text);
    EXPECT_EQ(leaves.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(leaves.status().message()).find(row.place), 0u)
        << leaves.status();
  }
}

TEST(YamlLeaves, IsBounded) {
  std::string deep = "a: ";
  for (int i = 0; i < 100; ++i) deep += "{a: ";
  deep += "1";
  deep.append(100, '}');
  EXPECT_FALSE(ReadYamlLeaves(deep).ok());
  // Each level names the one before ten times over.
  std::string laughs = "a0: &a0 {x: 1}\n";
  for (int i = 1; i < 10; ++i) {
    absl::StrAppend(&laughs, "a", i, ": &a", i, " {");
    for (int j = 0; j < 10; ++j) {
      absl::StrAppend(&laughs, j > 0 ? ", " : "", "k", j, ": *a", i - 1);
    }
    laughs += "}\n";
  }
  EXPECT_FALSE(ReadYamlLeaves(laughs).ok());
}

}  // namespace
}  // namespace mansard::importing
