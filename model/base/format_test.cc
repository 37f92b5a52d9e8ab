#include "model/base/format.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

struct Storage {
  Format format;
  int64_t rows;
  int64_t columns;
  double weight_bytes;
  double activation_bytes;
};

// Counted by hand: elements + scales + zero points + tensor scale, each stream
// in whole bytes.
constexpr Storage kStorage[] = {
    {Format::kFp32, 3, 5, 60, 60},
    {Format::kTf32, 3, 5, 60, 60},
    {Format::kBf16, 3, 5, 30, 30},
    {Format::kFp16, 3, 5, 30, 30},
    // One fp32 scale a tensor.
    {Format::kFp8E4m3, 3, 5, 15 + 4, 15 + 4},
    {Format::kFp8E5m2, 3, 5, 15 + 4, 15 + 4},
    // Weights: one fp32 scale a 128 x 128 block; activations: one a row and
    // 128 columns.
    {Format::kFp8Block, 128, 128, 16384 + 4, 16384 + 128 * 4},
    {Format::kFp8Block, 129, 129, 16641 + 4 * 4, 16641 + 129 * 2 * 4},
    {Format::kFp8Block, 1, 1, 1 + 4, 1 + 4},
    {Format::kFp8Block, 256, 7168, 1835008 + 2 * 56 * 4,
     1835008 + 256 * 56 * 4},
    // One fp32 scale a row.
    {Format::kInt8, 3, 5, 15 + 3 * 4, 15 + 3 * 4},
    // Groups of 128: fp16 scale, for weights also a 4-bit zero point. 387
    // elements are 193.5 bytes; 6 zero points are 3 bytes.
    {Format::kInt4, 3, 129, 194 + 6 * 2 + 3, 194 + 6 * 2},
    {Format::kInt4, 1, 128, 64 + 2 + 1, 64 + 2},
    {Format::kInt4, 4096, 4096, 8388608 + 131072 * 2 + 65536,
     8388608 + 131072 * 2},
    // One byte of scale a block of 32.
    {Format::kMxfp8, 2, 33, 66 + 2 * 2, 66 + 2 * 2},
    {Format::kMxfp8, 2, 32, 64 + 2, 64 + 2},
    {Format::kMxfp4, 2, 33, 33 + 2 * 2, 33 + 2 * 2},
    {Format::kMxfp4, 1, 1, 1 + 1, 1 + 1},
    // One byte of scale a block of 16, fp32 a tensor.
    {Format::kNvfp4, 2, 17, 17 + 2 * 2 + 4, 17 + 2 * 2 + 4},
    {Format::kNvfp4, 4096, 4096, 8388608 + 1048576 + 4, 8388608 + 1048576 + 4},
    // Nothing at all.
    {Format::kBf16, 0, 5, 0, 0},
    {Format::kInt8, 0, 5, 0, 0},
    {Format::kMxfp4, 4, 0, 0, 0},
    // 4 rows of 512: 1024 B of elements, 8 (16) groups a row; 16-bit scales,
    // 4-bit zero points where there are some.
    {Format::kInt4Group64, 4, 512, 1024 + 64 + 16, 1024 + 64},
    {Format::kInt4Group32, 4, 512, 1024 + 128 + 32, 1024 + 128},
    {Format::kInt4Symmetric, 4, 512, 1024 + 32, 1024 + 32},
    {Format::kInt4Group64Symmetric, 4, 512, 1024 + 64, 1024 + 64},
    {Format::kInt4Group32Symmetric, 4, 512, 1024 + 128, 1024 + 128},
    {Format::kInt8Group128, 4, 512, 2048 + 32 + 16, 2048 + 32},
    {Format::kInt8Group64, 4, 512, 2048 + 64 + 64, 2048 + 64},
    // Wider than 32 bits count.
    {Format::kBf16, 268435456, 16384, 8796093022208.0, 8796093022208.0},
};

TEST(FormatTest, StorageBytes) {
  std::set<Format> covered;
  for (const Storage& row : kStorage) {
    SCOPED_TRACE(std::string(TraitsOf(row.format).name) + " " +
                 std::to_string(row.rows) + " x " +
                 std::to_string(row.columns));
    EXPECT_EQ(WeightBytes(row.format, row.rows, row.columns).value(),
              row.weight_bytes);
    EXPECT_EQ(ActivationBytes(row.format, row.rows, row.columns).value(),
              row.activation_bytes);
    covered.insert(row.format);
  }
  EXPECT_EQ(covered.size(), static_cast<size_t>(kFormatCount));
}

TEST(FormatTest, ElementsAloneHaveNoScales) {
  EXPECT_EQ(ElementBytes(Format::kBf16, 1024).value(), 2048);
  EXPECT_EQ(ElementBytes(Format::kFp8E4m3, 1024).value(), 1024);
  EXPECT_EQ(ElementBytes(Format::kInt8, 1024).value(), 1024);
  EXPECT_EQ(ElementBytes(Format::kNvfp4, 1024).value(), 512);
  EXPECT_EQ(ElementBytes(Format::kInt4, 3).value(), 1.5);
}

struct Named {
  const char* name;
  Format format;
  bool low_precision;
};

constexpr Named kNames[] = {
    {"fp32", Format::kFp32, false},
    {"tf32", Format::kTf32, false},
    {"bf16", Format::kBf16, false},
    {"fp16", Format::kFp16, false},
    {"fp8-e4m3", Format::kFp8E4m3, true},
    {"fp8-e5m2", Format::kFp8E5m2, true},
    {"fp8-block", Format::kFp8Block, true},
    {"int8", Format::kInt8, true},
    {"int4", Format::kInt4, true},
    {"mxfp8", Format::kMxfp8, true},
    {"mxfp4", Format::kMxfp4, true},
    {"nvfp4", Format::kNvfp4, true},
    {"int4-g64", Format::kInt4Group64, true},
    {"int4-g32", Format::kInt4Group32, true},
    {"int4-sym", Format::kInt4Symmetric, true},
    {"int4-g64-sym", Format::kInt4Group64Symmetric, true},
    {"int4-g32-sym", Format::kInt4Group32Symmetric, true},
    {"int8-g128", Format::kInt8Group128, true},
    {"int8-g64", Format::kInt8Group64, true},
};

TEST(FormatTest, NamesAndPrecision) {
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kFormatCount);
  int index = 0;
  for (const Named& row : kNames) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(AllFormats()[static_cast<size_t>(index++)], row.format);
    EXPECT_EQ(TraitsOf(row.format).name, row.name);
    EXPECT_EQ(ParseFormat(row.name), row.format);
    EXPECT_EQ(IsLowPrecision(row.format), row.low_precision);
  }
}

TEST(FormatTest, ParsesOneAliasAndNothingElse) {
  EXPECT_EQ(ParseFormat("fp8"), Format::kFp8E4m3);
  for (const char* name : {"", "BF16", "bfloat16", "fp8-", "fp4", " bf16"}) {
    EXPECT_EQ(ParseFormat(name), std::nullopt) << name;
  }
}

TEST(FormatTest, ListsNamesForMessages) {
  EXPECT_EQ(FormatNames(),
            "fp32, tf32, bf16, fp16, fp8-e4m3, fp8-e5m2, fp8-block, int8, "
            "int4, mxfp8, mxfp4, nvfp4, int4-g64, int4-g32, int4-sym, "
            "int4-g64-sym, int4-g32-sym, int8-g128, int8-g64");
}

}  // namespace
}  // namespace mansard::model
