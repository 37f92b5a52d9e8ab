// Fits of rows made up from known parameters: the truth lies in the intervals
// that the fit itself gives as often as they say.

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/fit/decode_plan.h"
#include "calibrate/fit/elementwise_plan.h"
#include "calibrate/fit/family_fit.h"
#include "calibrate/fit/gemm_plan.h"
#include "gtest/gtest.h"
#include "model/hardware/family_parameters.h"
#include "model/io/shipped.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::Op;

constexpr double kNoise = 0.03;  // Of a time's logarithm.
constexpr double kOutliers = 0.05;
// Of the normal distribution: from p10 and p90 to p1 and p99.
constexpr double kToOnePercent = 2.3263 / 1.2816;

// The standard's distributions differ by library; its generators do not.
class Noise {
 public:
  explicit Noise(uint64_t seed) : random_(seed) {}
  // Uniform in [0, 1).
  double Next() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  // About normal: mean 0, standard deviation 1.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Next();
    return sum;
  }

 private:
  std::mt19937_64 random_;
};

void Set(model::KernelFamily& family, const std::string& name, double value) {
  std::visit(
      [&](auto& typed) {
        using Family = std::remove_reference_t<decltype(typed)>;
        for (const auto& one : model::Formula<Family>::kParameters) {
          if (name == one.name) one.set(typed, value);
        }
      },
      family);
}

MeasuredCase RowOf(const Op& op, const std::string& shape,
                   const std::string& slice) {
  MeasuredCase row;
  row.slice = slice;
  row.shape = shape;
  row.ops = [op](const model::Device&, const model::KernelStack&) {
    return std::optional<model::OpList>(model::OpList{op});
  };
  return row;
}

std::vector<MeasuredCase> GemmRows() {
  std::vector<MeasuredCase> rows;
  for (const int64_t m : {1, 8, 32, 128, 400, 1500, 6000}) {
    for (const int64_t n : {512, 3000, 9000}) {
      for (const int64_t k : {768, 2500, 8192}) {
        rows.push_back(
            RowOf(model::GemmOp({m, n, k, 1, Format::kBf16, Format::kBf16,
                                 Format::kBf16, Format::kBf16},
                                false),
                  absl::StrCat("m=", m, " n=", n, " k=", k), "bf16"));
      }
    }
  }
  return rows;
}

std::vector<MeasuredCase> DecodeRows() {
  std::vector<MeasuredCase> rows;
  for (const int64_t requests : {1, 4, 16, 64, 256}) {
    for (const int64_t context : {100, 500, 2000, 8000}) {
      for (const int kv_heads : {1, 4, 8, 32}) {
        model::AttentionShape shape;
        shape.group.role = model::Role::kDecode;
        shape.group.request_count = requests;
        shape.group.new_tokens = 1;
        shape.group.prior_tokens = context - 1;
        shape.query_heads = 32;
        shape.kv_heads = kv_heads;
        shape.head_size = 128;
        shape.input = Format::kBf16;
        shape.kv_cache = Format::kBf16;
        rows.push_back(RowOf(
            model::AttentionOp(shape),
            absl::StrCat("b=", requests, " s=", context, " kv=", kv_heads),
            "bf16"));
      }
    }
  }
  return rows;
}

std::vector<MeasuredCase> NormRows() {
  std::vector<MeasuredCase> rows;
  for (int64_t count = 1; count < 60'000; count = count * 3 / 2 + 1) {
    for (const int64_t columns : {2048, 5120}) {
      rows.push_back(RowOf(
          model::NormOp({count, columns, Format::kBf16}, false, Format::kBf16),
          absl::StrCat("rows=", count, " columns=", columns), "rmsnorm"));
    }
  }
  return rows;
}

// Of the parameters that the rows tell.
struct Coverage {
  int parameters = 0;
  int within = 0;       // Between p10 and p90.
  int within_wide = 0;  // Between p1 and p99 of a normal distribution like it.
  std::string text;
};

class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto data = model::LoadShippedData();
    ASSERT_TRUE(data.ok()) << data.status();
    profile_ = data->profiles.at("h100-sxm");
  }

  // Of a truth drawn from the plan's priors, rows that scatter about its times.
  void Try(uint64_t seed, const FitPlan& plan, std::vector<MeasuredCase> rows,
           Coverage& coverage) {
    Noise random(seed);
    const FitPlan truth = TruthOf(plan, random);
    model::KernelStackSpec spec = profile_->stacks().front().spec();
    for (const FitSlot& slot : truth.slots) {
      ASSERT_TRUE(Place(slot, spec).ok());
    }
    model::Violations violations;
    const auto stack = model::KernelStack::Create(spec, violations);
    ASSERT_TRUE(stack.has_value()) << violations.ToStatus();
    std::vector<const MeasuredCase*> cases;
    for (MeasuredCase& row : rows) {
      const model::HardwareView view{profile_->device(),
                                     profile_->fabrics().front(), *stack};
      const auto ops = row.ops(profile_->device(), *stack);
      double noise = std::exp(kNoise * random.Normal());
      if (random.Next() < kOutliers) noise *= 1.3 + 2 * random.Next();
      row.measured = noise * model::SumOfEstimates(*ops, view);
      cases.push_back(&row);
    }
    const auto fit =
        FitFamilies(cases, *profile_, profile_->stacks().front(), plan);
    ASSERT_TRUE(fit.ok()) << fit.status();
    for (size_t i = 0; i < plan.slots.size(); ++i) {
      for (const FreeParameter& free : plan.slots[i].free) {
        Count(*fit, i, free.name, *ParameterOf(truth.slots[i].prior, free.name),
              coverage);
      }
    }
  }

  static FitPlan TruthOf(const FitPlan& plan, Noise& random) {
    FitPlan truth = plan;
    for (FitSlot& slot : truth.slots) {
      std::visit([](auto& family) { family.facts.sigma = .1; }, slot.prior);
      for (const FreeParameter& free : slot.free) {
        const double prior = *ParameterOf(slot.prior, free.name);
        const double drawn = prior * std::exp(free.log_sigma * random.Normal());
        const bool share = absl::EndsWith(free.name, "_ratio");
        const double most = prior * free.reach;
        Set(slot.prior, free.name,
            std::clamp(drawn, prior / free.reach,
                       share ? std::min(1.0, most) : most));
      }
    }
    return truth;
  }

  static void Count(const FamilyFit& fit, size_t slot, const std::string& name,
                    double known, Coverage& coverage) {
    const model::KernelFamily& family = fit.slots[slot].prior;
    const std::string full = absl::StrCat(model::FactsOf(family).id, ".", name);
    const double fitted = *ParameterOf(family, name);
    const auto [low, high] = fit.intervals.at(full);
    // Four digits.
    EXPECT_LE(low, fitted * 1.001);
    EXPECT_GE(high, fitted * .999);
    if (std::count(fit.weak.begin(), fit.weak.end(), full) > 0) return;
    const bool within = low <= known && known <= high;
    ++coverage.parameters;
    coverage.within += within;
    coverage.within_wide +=
        fitted * std::pow(low / fitted, kToOnePercent) <= known &&
        known <= fitted * std::pow(high / fitted, kToOnePercent);
    if (within) return;
    absl::StrAppend(&coverage.text, full, " is ", known, ", fitted ", fitted,
                    ", ", low, " to ", high, "\n");
  }

  std::shared_ptr<const model::HardwareProfile> profile_;
};

// Eight of ten are to lie within; so many parameters tell it to some percent,
// and not every search ends at the least loss.
void Expect(const Coverage& coverage, int least_parameters) {
  EXPECT_GE(coverage.parameters, least_parameters);
  EXPECT_GE(coverage.within, .65 * coverage.parameters) << coverage.text;
  EXPECT_LE(coverage.within, .95 * coverage.parameters);
  EXPECT_GE(coverage.within_wide, .88 * coverage.parameters) << coverage.text;
}

TEST_F(RecoveryTest, TiledGemm) {
  const auto rows = GemmRows();
  Coverage coverage;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    Try(seed, GemmPlans(profile_->device(), rows[0])[0], rows, coverage);
  }
  Expect(coverage, 30);
}

TEST_F(RecoveryTest, DecodeAttention) {
  const auto rows = DecodeRows();
  Coverage coverage;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Try(seed, DecodePlans(profile_->device(), rows[0])[0], rows, coverage);
  }
  Expect(coverage, 60);
}

TEST_F(RecoveryTest, Elementwise) {
  const auto rows = NormRows();
  Coverage coverage;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto plans = ElementwisePlans(profile_->device(), rows[0]);
    ASSERT_EQ(plans.size(), 1u);
    Try(seed, plans[0], rows, coverage);
  }
  Expect(coverage, 100);
}

}  // namespace
}  // namespace mansard::calibrate
