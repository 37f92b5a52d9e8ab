// No family of ids outgrows its limit, and the overflow counter says which
// would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/catalog.h"
#include "server/catalog/state.h"
#include "server/metric_family.h"
#include "server/metrics.h"
#include "server/metrics_testing.h"

namespace mansard::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricLimits, AFullFamilyOfEnginesCountsAsOther) {
  Metrics metrics;
  const auto observe = [&metrics](int engine) {
    metrics.engines().Observed(absl::StrCat("engine-", engine),
                               model::Phase::kDecode, model::Seconds::Of(1), 1);
  };
  for (int i = 0; i < 300; ++i) observe(i);
  // 197 have room beside the three "other" phases; a known one counts on.
  observe(0);
  EXPECT_EQ(Lines(metrics, "mansard_observations_total{").size(), 198u);
  const std::string text = metrics.Scrape();
  EXPECT_THAT(text, HasSubstr("mansard_observations_total{engine=\"engine-0\","
                              "phase=\"decode\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("mansard_observations_total{engine=\"other\","
                              "phase=\"decode\"} 103\n"));
  EXPECT_THAT(text, HasSubstr("mansard_metric_label_overflow_total{metric="
                              "\"mansard_observations_total\"} 103\n"));
}

TEST(MetricLimits, AFullFamilyCountsAsOther) {
  Metrics metrics;
  for (int i = 0; i < 500; ++i) {
    Record(metrics, absl::StrCat("model-", i), "h100-sxm", DecodeStep(1));
  }
  EXPECT_LE(Lines(metrics, "mansard_predicted_step_seconds_count{").size(),
            kMaxSeries);
  EXPECT_LE(Lines(metrics, "mansard_predicted_bound_seconds_total{").size(),
            kMaxSeries);
  // 197 of 500 have room beside the three "other" phases.
  EXPECT_THAT(metrics.Scrape(),
              HasSubstr("mansard_metric_label_overflow_total{metric="
                        "\"mansard_predicted_step_seconds\"} 303"));
  // Nothing is lost.
  double total = 0;
  for (const std::string& line :
       Lines(metrics, "mansard_predicted_step_seconds_count{")) {
    total += std::stod(line.substr(line.rfind(' ')));
  }
  EXPECT_EQ(total, 500);
}

// 300 models on 300 devices by 300 engines, in everything that counts them, and
// 150 engines of the catalog with two factors each.
void Flood(Metrics& metrics) {
  const model::Estimate step = StepOfThreeOps();
  v1::Calibration calibration;
  calibration.add_measurements()->set_outcome(v1::Measurement::OUTCOME_FAILED);
  for (int i = 0; i < 300; ++i) {
    const std::string id = absl::StrCat("id-", i);
    Record(metrics, id, id, step);
    metrics.engines().Recommended(id, {});
    metrics.engines().Observed(id, model::Phase::kMixed, model::Seconds::Of(1),
                               1);
    metrics.calibrations().Kept(id, calibration);
    metrics.calibrations().Applied(id, /*fits=*/true);
  }
  const auto shipped = Snapshot::Load("");
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  CatalogState state{.snapshot = *shipped};
  for (int i = 0; i < 150; ++i) {
    auto engine = std::make_shared<EngineEntry>();
    engine->observed.step_count = 3;
    engine->observed.first_token_count = 3;
    state.engines[absl::StrCat("id-", i)] = std::move(engine);
  }
  metrics.SetCatalog(state);
}

// "name{labels" -> its families' name; the three series of a histogram are one.
std::string FamilyOf(const std::string& line) {
  std::string name = line.substr(0, line.find_first_of("{ "));
  for (const char* suffix : {"_bucket", "_sum", "_count"}) {
    if (absl::EndsWith(name, suffix)) {
      name.resize(name.size() - std::string(suffix).size());
    }
  }
  return name;
}

TEST(MetricLimits, NoFamilyOfIdsHasMoreThanItsLimitAndEachSaysSo) {
  Metrics metrics;
  Flood(metrics);
  std::map<std::string, size_t> series;
  for (const std::string& line : Lines(metrics, "mansard_")) {
    const bool of_ids = absl::StrContains(line, "model=\"") ||
                        absl::StrContains(line, "hardware=\"") ||
                        absl::StrContains(line, "engine=\"");
    const bool once = !absl::StrContains(line, "_bucket{") &&
                      !absl::StrContains(line, "_sum{");
    if (of_ids && once) ++series[FamilyOf(line)];
  }
  const std::string text = metrics.Scrape();
  int full = 0;
  for (const auto& [name, count] : series) {
    EXPECT_LE(count, kMaxSeries) << name;
    // The shipped profiles have room.
    if (absl::StartsWith(name, "mansard_profile_") ||
        name == "mansard_calibration_residual_ratio") {
      continue;
    }
    ++full;
    const std::string overflow = absl::StrCat(
        "\nmansard_metric_label_overflow_total{metric=\"", name, "\"} ");
    EXPECT_THAT(text, HasSubstr(overflow)) << name;
    EXPECT_THAT(text, Not(HasSubstr(overflow + "0\n"))) << name;
  }
  EXPECT_EQ(full, 15);
  EXPECT_THAT(text, HasSubstr("mansard_metric_label_overflow_total{metric="
                              "\"mansard_engine_own_factor_ratio\"} 100\n"));
}

// Else the alert on it would fire from the start.
TEST(MetricLimits, TheShippedCatalogHasRoom) {
  const auto catalog = Catalog::OpenInMemory();
  ASSERT_TRUE(catalog.ok());
  Metrics metrics;
  metrics.SetCatalog(*(*catalog)->state());
  for (const std::string& line :
       Lines(metrics, "mansard_metric_label_overflow_total{")) {
    EXPECT_THAT(line, EndsWith(" 0"));
  }
}

}  // namespace
}  // namespace mansard::server
