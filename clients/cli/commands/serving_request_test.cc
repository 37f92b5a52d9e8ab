#include "clients/cli/commands/serving_request.h"

#include <string>

#include "clients/cli/command_status.h"
#include "gtest/gtest.h"

namespace mansard::cli {
namespace {

TEST(BatchRequest, ContextsAndTargets) {
  ServingFlags flags;
  flags.context = "1024=3,8192=0.5";
  flags.itl = "20ms";
  flags.e2e = "1m30s";
  flags.kv_budget = 0;
  const auto request = BatchRequestOf(flags);
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->contexts_size(), 2);
  EXPECT_EQ(request->contexts(1).context_token_count(), 8192);
  EXPECT_EQ(request->contexts(1).weight(), 0.5);
  EXPECT_EQ(request->context_token_count(), 0);
  EXPECT_EQ(request->slo().inter_token_latency_seconds(), 0.02);
  EXPECT_EQ(request->slo().end_to_end_latency_seconds(), 90);
  EXPECT_FALSE(request->slo().has_time_to_first_token_seconds());
  // A budget of nothing is not a budget that is not given.
  EXPECT_TRUE(request->has_kv_token_budget_count());
  EXPECT_FALSE(request->has_shape());
  EXPECT_FALSE(request->has_acceptance_rate());
}

TEST(BatchRequest, WordsThatAreNone) {
  for (const char* context : {"", "x", "1024=", "=1", "1024=3,", "1024=inf"}) {
    ServingFlags flags;
    flags.context = context;
    EXPECT_EQ(ExitCodeOf(BatchRequestOf(flags).status()), ExitCode::kUsage)
        << context;
  }
  for (const char* time : {"20", "0s", "-1s", "inf", "soon"}) {
    ServingFlags flags;
    flags.context = "1";
    flags.ttft = time;
    EXPECT_EQ(ExitCodeOf(BatchRequestOf(flags).status()), ExitCode::kUsage)
        << time;
  }
}

TEST(ServingFields, NameTheirFlags) {
  ServingFlags flags;
  flags.itl = "20ms";
  flags.input = 0;
  flags.kv_usage = "2";
  const struct {
    const char* field;
    const char* flag;
  } kTable[] = {
      {"slo.inter_token_latency_seconds", "--itl 20ms"},
      {"slo.end_to_end_latency_seconds", "--e2e"},
      {"shape.input_token_count", "--input-tokens 0"},
      {"input_token_count", "--input-tokens 0"},
      {"state.kv_cache_usage_ratio", "--kv-usage 2"},
      {"max_batch_request_count", "--max-batch"},
      {"something_else", ""},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(FlagOfServingField(flags, row.field), row.flag) << row.field;
  }
}

TEST(Queries, OfATable) {
  const auto request =
      ReadQueries("q.csv",
                  "engine,input_token_count,kv_cache_usage_ratio,"
                  "time_to_first_token_seconds\r\n,2048,0.5,1\r\nb,1,,\r\n",
                  "a");
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->queries_size(), 2);
  EXPECT_EQ(request->queries(0).engine(), "engines/a");
  EXPECT_EQ(request->queries(0).input_token_count(), 2048);
  EXPECT_EQ(request->queries(0).state().kv_cache_usage_ratio(), 0.5);
  EXPECT_EQ(request->queries(0).slo().time_to_first_token_seconds(), 1);
  EXPECT_EQ(request->queries(1).engine(), "engines/b");
  EXPECT_FALSE(request->queries(1).has_slo());
}

}  // namespace
}  // namespace mansard::cli
