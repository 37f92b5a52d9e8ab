#include "calibrate/tables/serving_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibrate/tables/serving_rules.h"

namespace mansard::calibrate {
namespace {

constexpr char kHeader[] =
    "device,n_gpus,model,precision,kv_dtype,serving_mode,tp,pp,dp,ep,moe_tp,"
    "prefill_workers,prefill_tp,prefill_dp,prefill_ep,prefill_moe_tp,"
    "decode_workers,decode_tp,decode_dp,decode_ep,decode_moe_tp,isl,osl,batch,"
    "concurrency,request_rate_rps,ttft_ms,tpot_ms,request_latency_ms,load_type,"
    "framework,framework_version,quality_flag,source\n";

// A row as fields that differ from a sound one.
std::string Line(const std::map<std::string, std::string>& fields) {
  std::map<std::string, std::string> cells = {
      {"device", "H200_SXM"},
      {"n_gpus", "8"},
      {"model", "Llama-3.1-70B"},
      {"precision", "fp8"},
      {"serving_mode", "aggregated"},
      {"tp", "8"},
      {"pp", "1"},
      {"dp", "1"},
      {"ep", "1"},
      {"moe_tp", "8"},
      {"isl", "1024"},
      {"osl", "1024"},
      {"batch", "16"},
      {"concurrency", "16"},
      {"ttft_ms", "100"},
      {"tpot_ms", "10"},
      {"load_type", "fixed_concurrency_online"},
      {"framework", "vLLM"},
      {"framework_version", "0.12.0"},
      {"source", "a/b@12345678:c.csv"}};
  for (const auto& [name, value] : fields) cells[name] = value;
  std::string line;
  std::string name;
  for (const char* at = kHeader;; ++at) {
    if (*at == ',' || *at == '\n') {
      absl::StrAppend(&line, cells[name], *at == ',' ? "," : "\n");
      name.clear();
      if (*at == '\n') return line;
    } else {
      name += *at;
    }
  }
}

std::vector<ServingRow> Read(const std::vector<std::string>& lines) {
  std::string csv = kHeader;
  for (const std::string& line : lines) csv += line;
  const auto rows = ReadServingRows(csv);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.value_or(std::vector<ServingRow>{});
}

TEST(ServingRows, ColumnsAreRead) {
  const std::vector<ServingRow> rows =
      Read({Line({{"request_rate_rps", "2.5"}, {"request_latency_ms", "900"}}),
            Line({{"serving_mode", "disaggregated"},
                  {"tp", ""},
                  {"dp", ""},
                  {"prefill_workers", "3"},
                  {"prefill_tp", "4"},
                  {"decode_workers", "2"},
                  {"decode_tp", "8"},
                  {"decode_ep", "8"}})});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].row, 0u);
  EXPECT_EQ(rows[0].layout.tensor, 8);
  EXPECT_EQ(rows[0].layout.moe_tensor, 8);
  EXPECT_EQ(rows[0].in_flight(), 16);
  EXPECT_EQ(rows[0].requests_per_second, 2.5);
  EXPECT_EQ(rows[0].latency_ms, 900);
  EXPECT_EQ(rows[0].load, LoadType::kFixedConcurrency);
  EXPECT_TRUE(rows[0].CountsForCoverage());
  EXPECT_EQ(rows[1].mode, ServingMode::kDisaggregated);
  EXPECT_EQ(rows[1].prefill.workers, 3);
  EXPECT_EQ(rows[1].prefill.tensor, 4);
  EXPECT_EQ(rows[1].decode.workers, 2);
  EXPECT_EQ(rows[1].decode.expert, 8);
  EXPECT_FALSE(rows[1].CountsForCoverage());
}

TEST(ServingRows, CoverageNeedsTimePrecisionAndLoad) {
  const std::vector<ServingRow> rows =
      Read({Line({{"tpot_ms", ""}}), Line({{"precision", ""}}),
            Line({{"batch", ""}, {"concurrency", ""}}),
            Line({{"concurrency", ""}})});
  EXPECT_FALSE(rows[0].CountsForCoverage());
  EXPECT_FALSE(rows[1].CountsForCoverage());
  EXPECT_FALSE(rows[2].CountsForCoverage());
  EXPECT_TRUE(rows[3].CountsForCoverage());
}

TEST(ServingRows, UnknownModesAndMissingColumnsAreErrors) {
  const auto mode =
      ReadServingRows(absl::StrCat(kHeader, Line({{"serving_mode", "x"}})));
  EXPECT_EQ(mode.status().message(),
            "row 0: serving_mode is \"x\"; allowed: aggregated, disaggregated, "
            "prefill_only, decode_only");
  const auto columns = ReadServingRows("device,model\n");
  EXPECT_FALSE(columns.ok());
  EXPECT_TRUE(IsServingTable(kHeader));
  EXPECT_FALSE(IsServingTable("m,n,k,dtype_weight\n"));
}

TEST(ServingRules, StandingsByColumns) {
  struct Case {
    const char* what;
    std::map<std::string, std::string> fields;
    RowStanding standing;
  };
  const std::vector<Case> cases = {
      {"sound", {}, RowStanding::kCore},
      {"flag",
       {{"quality_flag", "repeat_spread_50pct"}},
       RowStanding::kFlagged},
      {"another load",
       {{"load_type", "static_batch_offline"}},
       RowStanding::kOtherKind},
      {"one token", {{"osl", "1"}}, RowStanding::kOtherKind},
      {"gap", {{"model", "Qwen3-235B-A22B"}}, RowStanding::kGap},
      {"gap", {{"model", "Llama-3.1-8B"}}, RowStanding::kGap},
      {"drafts",
       {{"model", "DeepSeek-V3"},
        {"framework", "TensorRT-LLM"},
        {"framework_version", "1.2.0rc6.post3"}},
       RowStanding::kDraftsSuspected},
      {"its neighbour",
       {{"model", "DeepSeek-V3"},
        {"framework", "TensorRT-LLM"},
        {"framework_version", "1.2.0rc6.post2"}},
       RowStanding::kCore},
      {"flattened",
       {{"model", "DeepSeek-R1"},
        {"tp", "1"},
        {"dp", "64"},
        {"ep", "8"},
        {"moe_tp", "8"}},
       RowStanding::kFlattened},
      {"no data ranks to flatten",
       {{"model", "DeepSeek-R1"},
        {"tp", "1"},
        {"dp", "8"},
        {"ep", "8"},
        {"moe_tp", "1"}},
       RowStanding::kCore},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(StandingsOf(Read({Line(one.fields)})).front(), one.standing)
        << one.what;
  }
}

TEST(ServingRules, TheSameRunUnderTwoNamesCountsOnce) {
  const std::vector<ServingRow> rows =
      Read({Line({{"model", "DeepSeek-R1"}}), Line({{"model", "DeepSeek-V3"}}),
            Line({{"model", "DeepSeek-V3"}, {"tpot_ms", "10.1"}}),
            Line({{"model", "DeepSeek-V3"}, {"quality_flag", "x"}})});
  const std::vector<RowStanding> standings = StandingsOf(rows);
  EXPECT_EQ(standings[0], RowStanding::kCore);
  EXPECT_EQ(standings[1], RowStanding::kDuplicate);
  EXPECT_EQ(standings[2], RowStanding::kCore);
  EXPECT_EQ(standings[3], RowStanding::kFlagged);
  EXPECT_EQ(ConfigurationOf(rows[0]), ConfigurationOf(rows[1]));
}

TEST(ServingRules, LimitsOnSlotsAndStartUp) {
  const std::vector<ServingRow> rows = Read(
      {Line({{"concurrency", "512"}, {"ttft_ms", "6000"}, {"tpot_ms", "10"}})});
  // Half of 1024 tokens at 10 ms is 5.12 s.
  EXPECT_TRUE(IsSlotLimited(rows[0], 768));
  EXPECT_FALSE(IsSlotLimited(rows[0], 767));
  ServingRow few = rows[0];
  few.concurrency = 255;
  EXPECT_FALSE(IsSlotLimited(few, 768));
  ServingRow quick = rows[0];
  quick.ttft_ms = 5000;
  EXPECT_FALSE(IsSlotLimited(quick, 768));
  EXPECT_TRUE(HoldsStartUp(rows[0], 999));
  EXPECT_FALSE(HoldsStartUp(rows[0], 1000));
}

TEST(ServingRules, FoldsAreEvenAndStable) {
  std::vector<int> counts(5);
  for (int i = 0; i < 5000; ++i) {
    ++counts[static_cast<size_t>(FoldOf(absl::StrCat("configuration ", i), 5))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 120);
  EXPECT_EQ(FoldOf("a", 5), FoldOf("a", 5));
}

}  // namespace
}  // namespace mansard::calibrate
