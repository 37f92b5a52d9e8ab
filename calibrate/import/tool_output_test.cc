#include "calibrate/import/tool_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/string_view.h"
#include "calibrate/import/cells.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const absl::Status& status) {
  return std::string(status.message());
}

TEST(ToolOutputTest, NamesAreTheFlags) {
  for (const ToolFormat format : kToolFormats) {
    EXPECT_EQ(*ParseToolFormat(ToolFormatName(format)), format);
  }
  EXPECT_EQ(Refusal(ParseToolFormat("nsys").status()),
            "--format: is \"nsys\"; allowed: nvbandwidth, nccl-tests, "
            "ib_write_bw, ncu, rocprof-compute, cutlass, torch-profiler");
}

TEST(ToolOutputTest, DetectedByWhatOnlyOneToolWrites) {
  const struct {
    const char* text;
    ToolFormat format;
  } kFacts[] = {
      {"{\"nvbandwidth\" : {}}", ToolFormat::kNvbandwidth},
      {" \n{\"schemaVersion\": 1, \"traceEvents\": []}",
       ToolFormat::kTorchProfiler},
      {"\xef\xbb\xbf{\"traceEvents\": []}", ToolFormat::kTorchProfiler},
      {"# size count type redop root time algbw busbw #wrong\n",
       ToolFormat::kNcclTests},
      {" #bytes  #iterations  BW peak[MB/sec]  BW average[MB/sec]\n",
       ToolFormat::kPerftest},
      {"==PROF== x\n\"ID\",\"Kernel Name\",\"Metric Name\"\n",
       ToolFormat::kNsightCompute},
      {"Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp\n",
       ToolFormat::kRocprofCompute},
      {"Index,KernelName,BeginNs,EndNs\n", ToolFormat::kRocprofCompute},
      {"Problem,Provider,OperationKind,Operation,Disposition,Runtime,GB/s\n",
       ToolFormat::kCutlass},
  };
  for (const auto& fact : kFacts) {
    const auto format = DetectToolFormat(fact.text);
    ASSERT_TRUE(format.ok()) << fact.text << format.status();
    EXPECT_EQ(*format, fact.format) << fact.text;
  }
  EXPECT_THAT(Refusal(DetectToolFormat("hello").status()),
              HasSubstr("output of no tool that is known; --format"));
  EXPECT_THAT(
      Refusal(DetectToolFormat("algbw busbw #bytes BW average[").status()),
      HasSubstr("of several tools"));
}

TEST(ToolOutputTest, WhatIsNoText) {
  const struct {
    absl::string_view text;
    const char* refusal;
  } kFacts[] = {
      {"", "is empty"},
      {"\x1f\x8b\x08", "is compressed (gzip); unpack it first"},
      {"\xff\xfe\x61", "is UTF-16; save it as UTF-8"},
      {absl::string_view("a\nb\0c", 5),
       "line 2: is no text in UTF-8: byte 0x00 at offset 3"},
      {"ab\xff", "line 1: is no text in UTF-8: byte 0xff at offset 2"},
      // Cut inside of a character, overlong, a surrogate, beyond Unicode.
      {"ab\xc3", "line 1: is no text in UTF-8: byte 0xc3 at offset 2"},
      {"\xc0\xaf", "line 1: is no text in UTF-8: byte 0xc0 at offset 0"},
      {"\xe0\x80\xaf", "line 1: is no text in UTF-8: byte 0xe0 at offset 0"},
      {"\xed\xa0\x80", "line 1: is no text in UTF-8: byte 0xed at offset 0"},
      {"\xf4\x90\x80\x80",
       "line 1: is no text in UTF-8: byte 0xf4 at offset 0"},
  };
  for (const auto& fact : kFacts) {
    EXPECT_EQ(Refusal(CheckToolText(fact.text)), fact.refusal);
  }
  EXPECT_TRUE(CheckToolText("a\xc2\xb5s \xe2\x80\xaf \xf0\x9f\x98\x80").ok());
}

TEST(ToolOutputTest, FilesThatCannotBeRead) {
  EXPECT_EQ(ReadToolOutput("/nonexistent/file").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadToolOutput("/").status().code(), absl::StatusCode::kNotFound);
}

TEST(CellsTest, NumbersOfEveryLocale) {
  const struct {
    const char* cell;
    NumberStyle style;
    std::optional<double> value;
  } kFacts[] = {
      {"1,234,567.5", NumberStyle::kPoint, 1234567.5},
      {"1.234.567,5", NumberStyle::kComma, 1234567.5},
      {"1 234 567,5", NumberStyle::kComma, 1234567.5},
      {"1\xe2\x80\xaf"
       "234,5",
       NumberStyle::kComma, 1234.5},
      {"1'234.5", NumberStyle::kPoint, 1234.5},
      {"117.344", NumberStyle::kComma, 117344},
      {"117.344", NumberStyle::kPoint, 117.344},
      {"-3e-6", NumberStyle::kPoint, -3e-6},
      {"n/a", NumberStyle::kPoint, std::nullopt},
      {"", NumberStyle::kPoint, std::nullopt},
      {"nan", NumberStyle::kPoint, std::nullopt},
      {"inf", NumberStyle::kPoint, std::nullopt},
      {"(!) no data", NumberStyle::kPoint, std::nullopt},
  };
  for (const auto& fact : kFacts) {
    EXPECT_EQ(ReadNumber(fact.cell, fact.style), fact.value) << fact.cell;
  }
}

TEST(CellsTest, TheStyleIsWhatLeavesNoChoice) {
  EXPECT_EQ(*NumberStyleOf({"2,848", "n/a"}), NumberStyle::kPoint);
  EXPECT_EQ(*NumberStyleOf({"117.344", "27.595.520"}), NumberStyle::kComma);
  EXPECT_EQ(*NumberStyleOf({"117.344", "65,77"}), NumberStyle::kComma);
  EXPECT_EQ(*NumberStyleOf({"1,234", "65.77"}), NumberStyle::kPoint);
  // No thousand begins with 0, and none has four digits before its mark.
  EXPECT_EQ(*NumberStyleOf({"0.123"}), NumberStyle::kPoint);
  EXPECT_EQ(*NumberStyleOf({"0,123"}), NumberStyle::kComma);
  EXPECT_EQ(*NumberStyleOf({"1234,567"}), NumberStyle::kComma);
  EXPECT_EQ(NumberStyleOf({"1.234.567", "1,234.5"}).status().message(),
            "numbers are written in two ways: \"1.234.567\" and \"1,234.5\"");
}

TEST(CellsTest, CellsAreQuotedWhereTheyMust) {
  EXPECT_EQ(CsvLine({"a", "b,c", "d\"e", ""}), "a,\"b,c\",\"d\"\"e\",\n");
  EXPECT_EQ(NumberCell(std::nullopt), "");
  EXPECT_EQ(NumberCell(1.5e12), "1.5e+12");
}

}  // namespace
}  // namespace mansard::calibrate
