#include "clients/cli/output/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace mansard::cli {
namespace {

const Style kPlainStyle(false);

TEST(Report, OneScaleAColumnAndNothingIsADash) {
  const Report report{{{"part", Unit::kNone, Align::kLeft},
                       {"time", Unit::kSeconds},
                       {"comm", Unit::kBytes}},
                      {{Text("mlp"), Number(7.42e-3), Cell()},
                       {Text("norm"), Number(1e-8), Cell()},
                       {Text("host"), Number(0), NumberOrNothing(0)}}};
  EXPECT_EQ(TableText(report, kPlainStyle),
            "  part  time ms  comm\n"
            "  mlp     7.420     -\n"
            "  norm   <0.001     -\n"
            "  host    0.000     -\n");
}

TEST(Report, CountsKeepEveryDigit) {
  const Report report{
      {{"id", Unit::kNone, Align::kLeft}, {"parameters"}},
      {{Text("a"), Number(8030261248)}, {Text("b"), Number(1)}}};
  EXPECT_EQ(TableText(report, kPlainStyle),
            "  id     parameters\n"
            "  a   8,030,261,248\n"
            "  b               1\n");
}

TEST(Report, NoRowsIsAHeader) {
  const Report report{
      {{"id", Unit::kNone, Align::kLeft}, {"memory", Unit::kBytes}}, {}};
  EXPECT_EQ(TableText(report, kPlainStyle), "  id  memory\n");
}

TEST(Report, LastColumnWraps) {
  std::string words;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&words, "word ");
  const Report report{
      {{"a", Unit::kNone, Align::kLeft}, {"source", Unit::kNone, Align::kLeft}},
      {{Text("x"), Text(words)}}};
  for (const absl::string_view line :
       absl::StrSplit(TableText(report, kPlainStyle), '\n')) {
    EXPECT_LE(line.size(), size_t{kMaxWidth});
  }
}

TEST(Report, WidthCountsCharactersNotBytes) {
  const Report report{{{"id", Unit::kNone, Align::kLeft}, {"n"}},
                      {{Text("é"), Number(1)}, {Text("ab"), Number(2)}}};
  EXPECT_EQ(TableText(report, kPlainStyle), "  id  n\n  é   1\n  ab  2\n");
}

TEST(Report, ColorsDoNotMoveColumns) {
  const Report report{{{"id", Unit::kNone, Align::kLeft}, {"n"}},
                      {{Text("a", Tone::kMemory), Number(1)}}};
  EXPECT_EQ(TableText(report, Style(true)),
            "  \033[2mid\033[0m  \033[2mn\033[0m\n"
            "  \033[36ma \033[0m  1\n");
}

}  // namespace
}  // namespace mansard::cli
