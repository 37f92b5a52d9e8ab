#include "calibrate/fit/family_fit.h"

#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

// A norm of rows x 4096 that takes 5 us and half of the memory's 1e12 B/s.
MeasuredCase NormCase(int64_t rows) {
  const model::Op op = model::NormOp({rows, 4096}, false, model::Format::kBf16);
  MeasuredCase measured;
  measured.table = "elementwise_norm";
  measured.measured = model::Microseconds(5) +
                      op.work.activations() / model::BytesPerSecond::Of(.5e12);
  measured.ops = [op](const model::Device&, const model::KernelStack&) {
    return std::optional<model::OpList>(model::OpList{op});
  };
  return measured;
}

FitPlan NormPlan() {
  model::ElementwiseFamily family;
  family.facts.id = "norm";
  family.facts.provenance = {model::ProvenanceKind::kAssumed, "prior", ""};
  family.launch = model::Microseconds(3);
  family.hbm_fraction = .8;
  family.l2_feed = model::BytesPerSecond::Of(1e15);
  return {.name = "norm",
          .slots = {{.op_kind = "norm",
                     .prior = family,
                     .free = {{"launch_seconds"}, {"hbm_fraction_ratio"}}}}};
}

TEST(FamilyFit, FindsTheFamilyAndTheSizesOfItsRows) {
  const auto profile = mansard::testing::ToyHardware().Build();
  std::vector<MeasuredCase> rows;
  // All beyond the L2's 50e6 bytes.
  for (int64_t count = 10'000; count <= 40'000; count += 1'000) {
    rows.push_back(NormCase(count));
  }
  std::vector<const MeasuredCase*> cases;
  for (const MeasuredCase& row : rows) cases.push_back(&row);
  const auto fit = FitFamilies(cases, *profile, profile->stacks().front(),
                               NormPlan(), {.draws = 0});
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  const model::KernelFamily& family = fit->slots.front().prior;
  EXPECT_NEAR(*ParameterOf(family, "hbm_fraction_ratio"), .5, .03);
  const model::FittedRanges& ranges = model::FactsOf(family).fitted_ranges;
  ASSERT_FALSE(ranges.empty());
  // Read and written once, two bytes each.
  EXPECT_EQ(ranges[model::SizeName::kMovedBytes],
            (model::SizeRange{10'000. * 4096 * 4, 40'000. * 4096 * 4}));
  EXPECT_FALSE(ranges[model::SizeName::kM].bounded());
}

}  // namespace
}  // namespace mansard::calibrate
