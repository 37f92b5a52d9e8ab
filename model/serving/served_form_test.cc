// How long requests are held back, against engines that are run pass by pass.

#include "model/serving/served_form.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

struct Rule {
  Admission admission;
  double prompts_of_budget = 1e9;
  int64_t batch = 1;
  double output_tokens = 1000;
};

// Places that are refilled as they come free; passes with prompts take no time.
// Outputs are 1/2 to 3/2 of their mean.
class Simulation {
 public:
  explicit Simulation(const Rule& rule) : rule_(rule) {
    for (int64_t place = 0; place < rule.batch; ++place) {
      places_.push_back(static_cast<int64_t>(
          1 + rule.output_tokens * static_cast<double>(place) /
                  static_cast<double>(rule.batch)));
    }
  }

  Held Run(int64_t passes) {
    for (int64_t pass = 0; pass < passes; ++pass) {
      Decode();
      Look();
    }
    return {held_ / static_cast<double>(served_),
            others_ / static_cast<double>(served_)};
  }

 private:
  void Decode() {
    for (int64_t& left : places_) {
      if (left > 0 && --left == 0) came_.push_back(pass_);
    }
    ++pass_;
    ++since_poll_;
  }

  void Look() {
    if (since_poll_ >= rule_.admission.poll_passes) {
      since_poll_ = 0;
      read_.insert(read_.end(), came_.begin(), came_.end());
      came_.clear();
    }
    if (read_.empty()) return;
    const double enough =
        rule_.admission.batch_wait_token_share * rule_.prompts_of_budget;
    if (waited_ < rule_.admission.batch_wait_passes &&
        static_cast<double>(read_.size()) < enough) {
      ++waited_;
      return;
    }
    waited_ = 0;
    since_poll_ = 0;
    for (const int64_t since : read_) {
      held_ += static_cast<double>(pass_ - 1 - since);
      others_ += static_cast<double>(read_.size() - 1);
      ++served_;
      for (int64_t& left : places_) {
        if (left > 0) continue;
        left = static_cast<int64_t>(rule_.output_tokens * length_(random_));
        break;
      }
    }
    read_.clear();
  }

  Rule rule_;
  std::mt19937_64 random_{7};
  std::uniform_real_distribution<double> length_{0.5, 1.5};
  std::vector<int64_t> places_;
  std::vector<int64_t> came_;
  std::vector<int64_t> read_;
  int64_t pass_ = 0;
  int64_t since_poll_ = 0;
  int64_t waited_ = 0;
  int64_t served_ = 0;
  double held_ = 0;
  double others_ = 0;
};

ServedForm FormOf(const Rule& rule) {
  ServedForm form;
  form.output_tokens = rule.output_tokens;
  form.SetAdmission(rule.admission, 1'000'000, 1);
  form.batch_wait_prompts =
      rule.admission.batch_wait_token_share * rule.prompts_of_budget;
  return form;
}

TEST(ServedForm, RequestsAreHeldAsInEnginesRunPassByPass) {
  const std::vector<Rule> rules = {
      {{10, 0, 1}, 1e9, 16}, {{30, 0, 1}, 1e9, 4},    {{30, 0, 1}, 1e9, 128},
      {{1, 20, .9}, 1e9, 8}, {{1, 20, .9}, 1e9, 200}, {{1, 40, .8}, 5, 256},
      {{1, 0, 1}, 1e9, 64},
  };
  for (const Rule& rule : rules) {
    const double size = static_cast<double>(rule.batch);
    const Held held = HeldOf(FormOf(rule), size, size);
    const Held seen = Simulation(rule).Run(400'000);
    SCOPED_TRACE(testing::Message()
                 << rule.admission.poll_passes << " "
                 << rule.admission.batch_wait_passes << " " << rule.batch);
    // Held requests decode nothing: fewer come than from a full batch. Waits
    // end with a whole request.
    EXPECT_NEAR(held.passes, seen.passes, 0.06 * seen.passes + 0.05);
    EXPECT_NEAR(held.others, seen.others, 0.08 * seen.others + 0.1);
  }
}

TEST(ServedForm, NobodyIsHeldWhereNothingRuns) {
  const Rule rule = {{30, 20, .9}, 1e9, 1};
  EXPECT_EQ(HeldOf(FormOf(rule), 1, 1).passes, 0);
  EXPECT_GT(HeldOf(FormOf(rule), 2, 2).passes, 0);
}

// Bounds of searches over batches stand on it.
TEST(ServedForm, TimesOfRangesHoldThoseBetween) {
  for (const Admission& admission :
       {Admission{}, Admission{30, 0, 1}, Admission{1, 20, .9},
        Admission{10, 40, .5}}) {
    ServedForm form;
    form.output_tokens = 500;
    form.input_tokens = 1000;
    form.prompts_a_pass = 8;
    form.SetAdmission(admission, 8192, 1000);
    const ServedPassTimes passes = {Milliseconds(8), Milliseconds(30),
                                    Milliseconds(28)};
    for (const double first : {1., 2., 7., 64.}) {
      for (const double last : {first, 2 * first, 300.}) {
        const ServedTimesRange range =
            TimesOver(form, first, last, {passes, passes});
        for (double batch = first; batch <= last; batch += 1) {
          const ServedTimes times = TimesOf(form, batch, batch, passes);
          EXPECT_LE(range.least.first_token.Sum(),
                    1.000001 * times.first_token.Sum());
          EXPECT_GE(1.000001 * range.most.first_token.Sum(),
                    times.first_token.Sum());
        }
      }
    }
  }
}

}  // namespace
}  // namespace mansard::model
