#include "calibrate/tables/csv.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, CellsOfEachRow) {
  CsvReader reader("a,b,c\r\n1,,x y\n\"p,\"\"q\"\"\nr\",2,\n");
  std::vector<std::string> cells;
  ASSERT_EQ(*reader.Column("c"), 2u);
  ASSERT_TRUE(*reader.Next(cells));
  EXPECT_THAT(cells, ElementsAre("1", "", "x y"));
  ASSERT_TRUE(*reader.Next(cells));
  EXPECT_THAT(cells, ElementsAre("p,\"q\"\nr", "2", ""));
  EXPECT_FALSE(*reader.Next(cells));
}

TEST(Csv, NamesWhatIsWrong) {
  CsvReader short_row("a,b\n1\n");
  std::vector<std::string> cells;
  EXPECT_THAT(std::string(short_row.Next(cells).status().message()),
              HasSubstr("line 2: has 1 cells; the header has 2"));
  EXPECT_THAT(std::string(short_row.Column("z").status().message()),
              HasSubstr("no column \"z\"; it has a, b"));
  CsvReader open("a\n\"x\n");
  EXPECT_THAT(std::string(open.Next(cells).status().message()),
              HasSubstr("line 2: a quoted cell is not closed"));
}

}  // namespace
}  // namespace mansard::calibrate
