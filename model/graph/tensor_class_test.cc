#include "model/graph/tensor_class.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;

// The API and scripts rely on these words.
TEST(TensorClass, Names) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kTensorClassCount; ++i) {
    names.emplace_back(TensorClassName(static_cast<TensorClass>(i)));
  }
  EXPECT_THAT(names,
              ElementsAre("embedding", "position", "attention", "recurrent",
                          "feed_forward", "router", "experts", "shared_experts",
                          "norm", "residual", "layer_input", "scale", "head"));
}

TEST(TensorClass, CountsAdd) {
  ParameterCounts part;
  part[TensorClass::kNorm] = 3;
  part[TensorClass::kHead] = 5;
  ParameterCounts sum;
  sum[TensorClass::kNorm] = 1;
  sum.Add(part, 10);
  EXPECT_EQ(sum[TensorClass::kNorm], 31);
  EXPECT_EQ(sum[TensorClass::kHead], 50);
  EXPECT_EQ(sum[TensorClass::kEmbedding], 0);
  EXPECT_EQ(sum.Total(), 81);
}

}  // namespace
}  // namespace mansard::model
