#include "calibrate/fit/scaled_stacks.h"

#include <cmath>

#include "calibrate/fit/fit_stacks.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

const model::ShippedData& Data() {
  static const auto* const kData =
      new model::ShippedData(*model::LoadShippedData());
  return *kData;
}

const model::TiledGemmFamily& FittedOf(const model::HardwareProfile& source) {
  return *source.FindStack(kScaleSourceStack)
              ->spec()
              .fine.plain_gemm.For(static_cast<size_t>(model::Format::kBf16));
}

TEST(ScaledStacks, OtherMemoryMovesItsShareAlone) {
  const model::HardwareProfile& h100 = *Data().profiles.at("h100-sxm");
  const auto scaled = ScaledGemm(h100, *Data().profiles.at("h200-sxm"));
  ASSERT_TRUE(scaled.has_value());
  const auto& family = std::get<model::TiledGemmFamily>(scaled->family);
  const model::TiledGemmFamily& fitted = FittedOf(h100);
  // Both have 132 multiprocessors at one clock; 4.8 TB/s against 3.35.
  EXPECT_NEAR(family.sm_hbm_feed / fitted.sm_hbm_feed, 4.8 / 3.35, 1e-6);
  EXPECT_NEAR(family.l2_feed / fitted.l2_feed, 1, 1e-6);
  EXPECT_EQ(family.launch, fitted.launch);
  EXPECT_EQ(family.facts.tier, model::Tier::kTransferred);
  EXPECT_EQ(family.facts.provenance.kind, model::ProvenanceKind::kScaled);
  EXPECT_DOUBLE_EQ(family.facts.sigma, .1);
}

TEST(ScaledStacks, WhatTheDatasheetsDoNotTellIsNotScaled) {
  const model::HardwareProfile& h100 = *Data().profiles.at("h100-sxm");
  EXPECT_FALSE(ScaledGemm(h100, h100).has_value());
  EXPECT_FALSE(ScaledGemm(h100, *Data().profiles.at("mi300x")).has_value());
  EXPECT_FALSE(ScaledGemm(h100, *Data().profiles.at("cpu-avx512")).has_value());
}

// Without a row of any device.
TEST(ScaledStacks, EveryDeviceOfTheVendorHasOne) {
  const auto fitted = FitStacks({}, Data(), {.date = "2026-01-01"});
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  EXPECT_EQ(fitted->files.count("b200-sxm"), 1u);
  EXPECT_EQ(fitted->files.count("l40s"), 1u);
  EXPECT_EQ(fitted->files.count("h100-sxm"), 0u);
  for (const auto& [hardware, text] : fitted->files) {
    EXPECT_NE(text.find("stack: \"scaled-h100\""), std::string::npos)
        << hardware;
  }
}

}  // namespace
}  // namespace mansard::calibrate
