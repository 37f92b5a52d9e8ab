// Tables with planted rows, on hardware of round numbers: 1e15 FLOP/s of bf16,
// 1e12 B/s of memory, 50e6 B of L2.

#include "calibrate/fit/sanity.h"

#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

using model::Format;

class SanityTest : public ::testing::Test {
 protected:
  MeasuredCase& Add(const model::GemmShape& shape, double measured_us) {
    MeasuredCase& row = rows_.emplace_back();
    row.table = "gemm";
    row.row = rows_.size() - 1;
    row.slice = std::string(model::TraitsOf(shape.weights).name);
    row.shape = absl::StrCat("m=", shape.m, " n=", shape.n, " k=", shape.k);
    row.measured = model::Microseconds(measured_us);
    const model::Op op = model::GemmOp(shape, false);
    row.ops = [op](const model::Device&, const model::KernelStack&) {
      return std::optional<model::OpList>(model::OpList{op});
    };
    return row;
  }
  // Products of one weight matrix, by m.
  void AddLine(const std::vector<double>& measured_us) {
    for (size_t i = 0; i < measured_us.size(); ++i) {
      Add({.m = int64_t{64} << i, .n = 4096, .k = 4096}, measured_us[i]);
    }
  }
  std::vector<const MeasuredCase*> Rows() const {
    std::vector<const MeasuredCase*> rows;
    for (const MeasuredCase& row : rows_) rows.push_back(&row);
    return rows;
  }
  std::vector<SuspectRow> Suspects() { return SuspectRows(Rows(), *profile_); }
  // "row gate dropped" of each.
  static std::string Text(const std::vector<SuspectRow>& suspects) {
    std::string text;
    for (const SuspectRow& one : suspects) {
      absl::StrAppend(&text, one.row->row, " ", SanityGateName(one.gate),
                      one.dropped ? " dropped\n" : " kept\n");
      EXPECT_NE(one.evidence, "");
      EXPECT_EQ(one.policy.rfind(one.dropped ? "dropped: " : "kept: ", 0), 0u);
    }
    return text;
  }

  std::shared_ptr<const model::HardwareProfile> profile_ =
      mansard::testing::ToyHardware().Build();
  std::deque<MeasuredCase> rows_;
};

TEST_F(SanityTest, AGoodTableNamesNoRow) {
  AddLine({60, 62, 62, 70, 100, 160});
  EXPECT_EQ(Text(Suspects()), "");
}

// 8192^3 is 1.1e12 FLOP, 1100 us at the peak.
TEST_F(SanityTest, TensorWorkAboveThePeakIsDropped) {
  Add({.m = 8192, .n = 8192, .k = 8192}, 1000);  // 1.1 of it.
  Add({.m = 8192, .n = 8192, .k = 8192}, 900);   // 1.22 of it.
  EXPECT_EQ(Text(Suspects()), "1 above-peak dropped\n");
}

// 33.6e6 B of weights fit L2; 134e6 do not.
TEST_F(SanityTest, FasterThanMemoryIsACacheOrAnError) {
  Add({.m = 1, .n = 4096, .k = 4096}, 31);  // 1.08 of the memory's rate.
  Add({.m = 1, .n = 4096, .k = 4096}, 20);
  Add({.m = 1, .n = 4096, .k = 4096}, 20).warm_cache = true;
  Add({.m = 1, .n = 8192, .k = 8192}, 100);
  EXPECT_EQ(Text(Suspects()),
            "1 warm-cache dropped\n2 warm-cache kept\n3 above-peak dropped\n");
}

TEST_F(SanityTest, ASpikeIsDroppedAndNamesTheRowAgainstIt) {
  AddLine({60, 62, 150, 70, 100, 160});
  const std::vector<SuspectRow> suspects = Suspects();
  EXPECT_EQ(Text(suspects), "2 not-monotone dropped\n");
  // Row 3 is on line 5: lines count from 1, the first is the header.
  EXPECT_EQ(suspects[0].evidence,
            "2.14 x the time of line 5, bf16 m=512 n=4096 k=4096");
}

TEST_F(SanityTest, AStepDownIsNamedAndKept) {
  AddLine({90, 100, 110, 70, 100, 160});
  EXPECT_EQ(Text(Suspects()), "2 not-monotone kept\n");
}

TEST_F(SanityTest, ASmallSpikeIsNamedAndKept) {
  AddLine({60, 62, 90, 70, 100, 160});
  EXPECT_EQ(Text(Suspects()), "2 not-monotone kept\n");
}

TEST_F(SanityTest, NoiseAndTimersAreNotNamed) {
  AddLine({60, 62, 80, 70, 100, 160});  // 1.14.
  // 1.4 times, but less than two microseconds.
  Add({.m = 1, .n = 64, .k = 64}, 4.2);
  Add({.m = 2, .n = 64, .k = 64}, 3);
  EXPECT_EQ(Text(Suspects()), "");
}

TEST_F(SanityTest, OtherSoftwareIsNoNeighbour) {
  AddLine({60, 62, 150, 70, 100, 160});
  rows_[3].version = "2";
  rows_[2].measured = model::Microseconds(90);
  EXPECT_EQ(Text(Suspects()), "");
}

// Of 4096^3 bf16 work takes 137 us, fp8 half of it.
TEST_F(SanityTest, ANarrowFormatThatIsSlowerIsNamedAndKept) {
  const model::GemmShape wide{.m = 4096, .n = 4096, .k = 4096};
  model::GemmShape narrow = wide;
  narrow.input = narrow.weights = narrow.compute = Format::kFp8E4m3;
  Add(wide, 150);
  Add(narrow, 170);  // 1.13 of the wide one.
  Add(narrow, 200);
  EXPECT_EQ(Text(NarrowSlowerRows(Rows(), *profile_)),
            "2 narrow-slower kept\n");
}

TEST_F(SanityTest, WhereLaunchesTakeTheTimeNoFormatIsExpectedToWin) {
  const model::GemmShape wide{.m = 1, .n = 512, .k = 512};
  model::GemmShape narrow = wide;
  narrow.input = narrow.weights = narrow.compute = Format::kFp8E4m3;
  Add(wide, 5);
  Add(narrow, 15);
  EXPECT_EQ(Text(NarrowSlowerRows(Rows(), *profile_)), "");
}

}  // namespace
}  // namespace mansard::calibrate
