// What other tools have measured, on its way through a fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "calibrate/fit/fit_stacks.h"
#include "calibrate/import/commands.h"
#include "calibrate/tables/tables.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

// bf16 products on a device of so many FLOP/s and bytes per second, 5 us at
// least, as the CUTLASS profiler writes them.
std::string CutlassReport(double rate, double bandwidth) {
  std::string text =
      "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,A,B,C,"
      "batch_count,op_class,Bytes,Flops,Runtime\n";
  for (const int m : {1, 16, 64, 128, 512, 1024, 2048, 4096, 8192}) {
    for (const int side : {1024, 2048, 4096, 6144, 8192}) {
      const double flops = 2.0 * m * side * side;
      const double bytes = 2.0 * (2.0 * m * side + 1.0 * side * side);
      const double seconds = 5e-6 + flops / rate + bytes / bandwidth;
      absl::StrAppend(&text, "1,CUTLASS,gemm,k,passed,success,", m, ",", side,
                      ",", side, ",bf16:row,bf16:column,bf16:row,1,tensorop,",
                      bytes, ",", flops, ",", seconds * 1e3, "\n");
    }
  }
  return text;
}

TEST(ImportFitTest, ProductsOfCutlassMakeAStack) {
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  const auto imported =
      ImportText(CutlassReport(7e14, 4e12), {.hardware = "h200-sxm"}, *data);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto rows = ReadMeasured(imported->imported.text);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->size(), 45u);
  const auto fitted = FitStacks(*rows, *data, {.date = "2026-11-30"});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  ASSERT_EQ(fitted->records.size(), 1u);
  EXPECT_EQ(fitted->records.front().stack, "cutlass");
  EXPECT_LT(fitted->records.front().fit.result.mean_loss, 0.1);
  ASSERT_EQ(fitted->files.count("h200-sxm"), 1u);
  EXPECT_THAT(fitted->files.at("h200-sxm"), HasSubstr("stack: \"cutlass\""));
  EXPECT_THAT(fitted->files.at("h200-sxm"),
              HasSubstr("family: \"gemm-bf16-tiled\""));
}

}  // namespace
}  // namespace mansard::calibrate
