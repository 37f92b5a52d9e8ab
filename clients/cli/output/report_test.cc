#include "clients/cli/output/report.h"

#include <cmath>
#include <string>

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

TEST(Report, PeopleSeeTheirColumnsAndWhatIsShown) {
  const Report report{
      {{"op", Unit::kNone, Align::kLeft},
       {"rate"},
       {"tier", Unit::kNone, Align::kLeft, "", Reader::kPrograms},
       {"bar", Unit::kNone, Align::kLeft, "", Reader::kPeople}},
      {{Text("a"), Quantity(989e12, Unit::kFlopsPerSecond), Text("spec"),
        ShownAs(Text("long"), "#")}}};
  EXPECT_EQ(TableText(report, kPlainStyle),
            "  op         rate  bar\n"
            "  a   989 TFLOP/s  #\n");
  EXPECT_EQ(
      CsvText(report),
      "op,rate,rate_unit,tier\na,989000000000000,flops_per_second,spec\n");
}

TEST(Markdown, HasTheCellsOfTheTable) {
  const Report report{{{"part", Unit::kNone, Align::kLeft},
                       {"time", Unit::kSeconds},
                       {"comm", Unit::kBytes}},
                      {{Text("mlp"), Number(7.42e-3), Cell()},
                       {Text("  norm"), Number(1e-8), Text(" ")}}};
  const std::string table =
      "\n"
      "| part | time ms | comm |\n"
      "| :--- | ---: | ---: |\n"
      "| mlp | 7.420 | - |\n"
      "| norm | <0.001 | |\n"
      "\n";
  EXPECT_EQ(MarkdownTable(report), table);
  EXPECT_EQ(TableText(report, Style::Markdown()), table);
}

TEST(Markdown, EscapesWhatWouldEndACell) {
  const Report report{{{"a|b", Unit::kNone, Align::kLeft}},
                      {{Text("x|y")}, {Text("c\\|d")}, {Text("1\r\n2")}}};
  EXPECT_EQ(MarkdownTable(report),
            "\n| a\\|b |\n| :--- |\n| x\\|y |\n| c\\\\\\|d |\n| 1 2 |\n\n");
}

TEST(Markdown, PageHasSingleBlankLinesBetween) {
  EXPECT_EQ(MarkdownPage("\n\na\n\n\n  \n  b\nc\n\n"), "a\n\n  b\nc\n");
  EXPECT_EQ(MarkdownPage(""), "");
}

TEST(Csv, NamesEndInTheBaseUnit) {
  const Report report{{{"time", Unit::kSeconds},
                       {"moved", Unit::kBytes},
                       {"bytes", Unit::kBytes},
                       {"achieved", Unit::kBytesPerSecond},
                       {"work", Unit::kFlops},
                       {"rate", Unit::kFlopsPerSecond},
                       {"active", Unit::kParameters},
                       {"clock", Unit::kHertz},
                       {"board power", Unit::kWatts},
                       {"KV/token (all)", Unit::kBytes},
                       {"share", Unit::kPercent},
                       {"calls", Unit::kPerSecond},
                       {"query heads"},
                       {"n", Unit::kNone, Align::kRight, "repeat_count"}},
                      {}};
  EXPECT_EQ(CsvText(report),
            "time_seconds,moved_bytes,bytes,achieved_bytes_per_second,"
            "work_flops,rate_flops_per_second,active_parameters,clock_hertz,"
            "board_power_watts,kv_per_token_all_bytes,share_ratio,"
            "calls_per_second,query_heads,repeat_count\n");
}

TEST(Csv, NumbersAreUnscaledAndWhole) {
  const Report report{{{"x", Unit::kSeconds}},
                      {{Number(7.42e-3)},
                       {Number(0.1 + 0.2)},
                       {Number(8030261248)},
                       {Number(1e6)},
                       {Number(-3)},
                       {Number(0)},
                       {Number(1e300)},
                       {Number(1.0 / 3)}}};
  EXPECT_EQ(CsvText(report),
            "x_seconds\n0.00742\n0.30000000000000004\n8030261248\n1000000\n"
            "-3\n0\n1e+300\n0.3333333333333333\n");
}

TEST(Csv, NothingIsAnEmptyField) {
  const Report report{{{"a", Unit::kNone, Align::kLeft},
                       {"b", Unit::kBytes},
                       {"c", Unit::kNone, Align::kLeft}},
                      {{Cell(), NumberOrNothing(0), Text(" ")},
                       {Text("-"), Number(INFINITY), Text("  in")}}};
  EXPECT_EQ(CsvText(report), "a,b_bytes,c\n,,\n-,,in\n");
}

TEST(Csv, QuotesAsRfc4180) {
  const Report report{{{"a", Unit::kNone, Align::kLeft}, {"b"}},
                      {{Text("x,y"), Text("say \"so\"")},
                       {Text("1\n2"), Text("1\r2")},
                       {Text("x;y|z"), Text("it's")}}};
  EXPECT_EQ(CsvText(report),
            "a,b\n\"x,y\",\"say \"\"so\"\"\"\n\"1\n2\",\"1\r2\"\n"
            "x;y|z,it's\n");
}

TEST(Csv, NoColors) {
  const Report report{{{"a", Unit::kNone, Align::kLeft}},
                      {{Text("hbm", Tone::kMemory)}}};
  EXPECT_EQ(CsvText(report), "a\nhbm\n");
}

}  // namespace
}  // namespace mansard::cli
