// Passes made of sums have the sums.

#include "model/workload/pass_sums.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kContext = 100'000;

ForwardPass Made(const PassSums& sums) {
  Violations violations;
  auto pass = PassOfSums(sums, kContext, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return *std::move(pass);
}

struct Sums {
  int64_t requests = 0;
  int64_t fresh = 0;
  int64_t prior = 0;
  size_t groups = 0;
  double fresh_squares = 0;
  double prior_squares = 0;

  double FreshVariance() const { return Variance(fresh, fresh_squares); }
  double PriorVariance() const { return Variance(prior, prior_squares); }

 private:
  double Variance(int64_t sum, double squares) const {
    const auto n = static_cast<double>(requests);
    const double mean = static_cast<double>(sum) / n;
    return squares / n - mean * mean;
  }
};

Sums SumsOf(const ForwardPass& pass, Role role) {
  Sums sums;
  for (const RequestGroup& group : pass.groups()) {
    if (group.role != role) continue;
    ++sums.groups;
    const auto requests = static_cast<double>(group.request_count);
    sums.requests += group.request_count;
    sums.fresh += group.request_count * group.new_tokens;
    sums.prior += group.request_count * group.prior_tokens;
    sums.fresh_squares +=
        requests * std::pow(static_cast<double>(group.new_tokens), 2);
    sums.prior_squares +=
        requests * std::pow(static_cast<double>(group.prior_tokens), 2);
  }
  return sums;
}

TEST(PassSums, KeepsEverySum) {
  for (const int64_t prompts : {0, 1, 2, 7}) {
    for (const int64_t tokens : {7, 100, 8191}) {
      for (const int64_t decodes : {0, 1, 3, 64}) {
        for (const int64_t prior : {0, 1, 12345}) {
          for (const double variance : {0.0, 50.0, 1e4}) {
            if (prompts + decodes == 0) continue;
            PassSums sums;
            sums.prefill_requests = prompts;
            sums.prefill_tokens = prompts == 0 ? 0 : tokens;
            sums.prefill_prior_tokens = prompts == 0 ? 0 : prior;
            sums.prefill_token_variance = prompts < 2 ? 0 : variance;
            sums.decode_requests = decodes;
            sums.decode_prior_tokens = decodes == 0 ? 0 : prior;
            sums.decode_prior_token_variance = decodes < 2 ? 0 : variance;
            sums.decode_tokens_per_request = 1 + tokens % 3;
            const ForwardPass pass = Made(sums);
            const Sums prefill = SumsOf(pass, Role::kPrefill);
            EXPECT_EQ(prefill.requests, prompts);
            EXPECT_EQ(prefill.fresh, sums.prefill_tokens);
            EXPECT_EQ(prefill.prior, sums.prefill_prior_tokens);
            EXPECT_LE(prefill.groups, 5u);
            const Sums decode = SumsOf(pass, Role::kDecode);
            EXPECT_EQ(decode.requests, decodes);
            EXPECT_EQ(decode.fresh, decodes * sums.decode_tokens_per_request);
            EXPECT_EQ(decode.prior, sums.decode_prior_tokens);
            EXPECT_LE(decode.groups, 4u);
          }
        }
      }
    }
  }
}

TEST(PassSums, SplitsByTheLargestRemainder) {
  PassSums sums;
  sums.decode_requests = 4;
  sums.decode_prior_tokens = 4003;
  EXPECT_EQ(Made(sums).groups(), (RequestGroups{{Role::kDecode, 3, 1, 1001},
                                                {Role::kDecode, 1, 1, 1000}}));
  sums.decode_prior_tokens = 4000;
  EXPECT_EQ(Made(sums).groups(), (RequestGroups{{Role::kDecode, 4, 1, 1000}}));
  // Two of 34 new tokens, of which one has a cached token more.
  PassSums prompts;
  prompts.prefill_requests = 3;
  prompts.prefill_tokens = 101;
  prompts.prefill_prior_tokens = 31;
  EXPECT_EQ(Made(prompts).groups(),
            (RequestGroups{{Role::kPrefill, 1, 34, 11},
                           {Role::kPrefill, 1, 34, 10},
                           {Role::kPrefill, 1, 33, 10}}));
}

TEST(PassSums, KeepsMeanAndVariance) {
  PassSums sums;
  sums.decode_requests = 10;
  sums.decode_prior_tokens = 20000;
  sums.decode_prior_token_variance = 250'000;  // 500 each way.
  EXPECT_EQ(Made(sums).groups(), (RequestGroups{{Role::kDecode, 5, 1, 2500},
                                                {Role::kDecode, 5, 1, 1500}}));
  sums.decode_requests = 5;
  sums.decode_prior_tokens = 10000;
  // Three below, two above: 408 and 612 away.
  const Sums odd = SumsOf(Made(sums), Role::kDecode);
  EXPECT_NEAR(odd.PriorVariance() / 250'000, 1, .005);
  sums = {};
  sums.prefill_requests = 9;
  sums.prefill_tokens = 5000;
  sums.prefill_token_variance = 150 * 150;
  const Sums prompts = SumsOf(Made(sums), Role::kPrefill);
  EXPECT_NEAR(prompts.FreshVariance() / 22500, 1, .01);
  // More than there is room for below the mean: as far as one token.
  sums.prefill_token_variance = 1e8;
  const ForwardPass wide = Made(sums);
  EXPECT_EQ(wide.groups().back().new_tokens, 1);
  EXPECT_EQ(SumsOf(wide, Role::kPrefill).fresh, 5000);
}

TEST(PassSums, NamesEveryBrokenRule) {
  const auto fields_of = [](const PassSums& sums) {
    Violations violations;
    EXPECT_FALSE(PassOfSums(sums, kContext, violations).has_value());
    std::vector<std::string> fields;
    for (const Violation& violation : violations.all()) {
      fields.push_back(violation.field);
    }
    return fields;
  };
  using Fields = std::vector<std::string>;
  EXPECT_EQ(fields_of({}), Fields{"prefill_request_count"});
  PassSums sums;
  sums.prefill_requests = -1;
  sums.prefill_tokens = 5;
  sums.prefill_prior_tokens = 5;
  sums.prefill_token_variance = -1;
  sums.decode_requests = 1;
  sums.decode_prior_tokens = -1;
  sums.decode_prior_token_variance = 3;
  sums.decode_tokens_per_request = 0;
  EXPECT_EQ(fields_of(sums),
            (Fields{"prefill_request_count", "prefill_token_count",
                    "prefill_token_variance", "decode_prior_token_count",
                    "decode_prior_token_variance", "prefill_prior_token_count",
                    "decode_tokens_per_request_count"}));
  // A prompt without a new token; a context beyond the model's.
  sums = {};
  sums.prefill_requests = 3;
  sums.prefill_tokens = 2;
  EXPECT_EQ(fields_of(sums), Fields{"prefill_token_count"});
  sums = {};
  sums.decode_requests = 2;
  sums.decode_prior_tokens = 2 * kContext;
  EXPECT_EQ(fields_of(sums), Fields{"decode_prior_token_count"});
  Violations violations;
  PassOfSums(sums, kContext, violations);
  EXPECT_THAT(violations.all()[0].description, HasSubstr("100001"));
}

}  // namespace
}  // namespace mansard::model
