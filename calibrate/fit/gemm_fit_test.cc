// Families recovered from times that the formula itself made up.

#include "calibrate/fit/gemm_fit.h"

#include <chrono>
#include <cmath>

#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

using model::Format;

const model::Device& H100() {
  static const model::ShippedData* const kData =
      new model::ShippedData(*model::LoadShippedData());
  return kData->profiles.at("h100-sxm")->device();
}

// `noise`: half of the rows are this much slower, the others faster, in pairs,
// so that every second row has as many of both.
std::vector<GemmRow> RowsOf(const model::TiledGemmFamily& family,
                            double noise) {
  const model::GemmMachine machine = MachineOf(H100(), Format::kBf16);
  std::vector<GemmRow> rows;
  for (const int64_t m : {1, 8, 64, 200, 512, 1500, 4096, 16384}) {
    for (const int64_t n : {512, 1280, 4096, 14336}) {
      for (const int64_t k : {512, 2048, 8192, 28672}) {
        GemmRow row;
        row.m = m;
        row.n = n;
        row.k = k;
        const double factor =
            rows.size() / 2 % 2 == 0 ? 1 + noise : 1 / (1 + noise);
        row.time = factor * TimeTiledGemm(family, machine, ProblemOf(row)).time;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

TEST(GemmFit, RecoversAFamilyOtherThanItsPrior) {
  const model::TiledGemmFamily prior = GemmPrior(H100(), Format::kBf16);
  model::TiledGemmFamily truth = prior;
  truth.launch *= 1.8;
  truth.peak_fraction *= .85;
  truth.hbm_fraction = .92;
  truth.l2_feed *= .6;
  const absl::StatusOr<GemmFit> fit =
      FitTiledGemm(RowsOf(truth, 0), H100(), Format::kBf16, prior);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  const model::GemmMachine machine = MachineOf(H100(), Format::kBf16);
  double worst = 0;
  double sum = 0;
  const std::vector<GemmRow> rows = RowsOf(truth, 0);
  for (const GemmRow& row : rows) {
    const double off = std::abs(
        TimeTiledGemm(fit->family, machine, ProblemOf(row)).time / row.time -
        1);
    worst = std::max(worst, off);
    sum += off / static_cast<double>(rows.size());
  }
  EXPECT_LT(sum, .01);
  EXPECT_LT(worst, .08);
  EXPECT_NEAR(fit->family.peak_fraction / truth.peak_fraction, 1, .03);
  EXPECT_NEAR(fit->family.hbm_fraction / truth.hbm_fraction, 1, .03);
  EXPECT_LT(fit->family.facts.sigma, .03);
  EXPECT_FALSE(fit->weak.empty());  // What stayed as it was.
}

TEST(GemmFit, SigmaIsTheSpreadOfTheRows) {
  const model::TiledGemmFamily prior = GemmPrior(H100(), Format::kBf16);
  const GemmFit fit =
      *FitTiledGemm(RowsOf(prior, .1), H100(), Format::kBf16, prior);
  // All rows are off by ln 1.1: about so far must p10 to p90 reach. Fits of
  // half of the rows add to it.
  const double reach = fit.family.facts.sigma * 1.28155;
  EXPECT_GT(reach, .8 * std::log(1.1));
  EXPECT_LT(reach, 1.7 * std::log(1.1));
}

TEST(GemmFit, RefusesTooFewRows) {
  std::vector<GemmRow> rows = RowsOf(GemmPrior(H100(), Format::kBf16), 0);
  rows.resize(5);
  EXPECT_FALSE(FitTiledGemm(rows, H100(), Format::kBf16,
                            GemmPrior(H100(), Format::kBf16))
                   .ok());
}

}  // namespace
}  // namespace mansard::calibrate
