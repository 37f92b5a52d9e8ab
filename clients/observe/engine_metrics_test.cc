#include "clients/observe/engine_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mansard::observe {
namespace {

using ::testing::HasSubstr;

// `n` requests of 1000 tokens in, 100 out, of 4 s each; 0.5 s to the first
// token, 35 ms for each further one.
std::string VllmPage(double n) {
  return absl::StrCat(
      "vllm:request_prompt_tokens_sum{model_name=\"m\"} ", 1000 * n,
      "\nvllm:request_prompt_tokens_count{model_name=\"m\"} ", n,
      "\nvllm:request_generation_tokens_sum ", 100 * n,
      "\nvllm:request_generation_tokens_count ", n,
      "\nvllm:e2e_request_latency_seconds_sum ", 4 * n,
      "\nvllm:e2e_request_latency_seconds_count ", n,
      "\nvllm:time_to_first_token_seconds_sum ", 0.5 * n,
      "\nvllm:time_to_first_token_seconds_count ", n,
      "\nvllm:request_time_per_output_token_seconds_sum ", 0.035 * n,
      "\nvllm:request_time_per_output_token_seconds_count ", n,
      // Of tokens, not of requests: it is not the one that is taken.
      "\nvllm:inter_token_latency_seconds_sum ", 9900 * n,
      "\nvllm:inter_token_latency_seconds_count ", 99 * n,
      "\nvllm:prefix_cache_queries_total ", 1000 * n,
      "\nvllm:prefix_cache_hits_total ", 250 * n, "\n");
}

// The same on two ranks.
std::string SglangPage(double n) {
  std::string page;
  for (const char* rank : {"0", "1"}) {
    const std::string labels = absl::StrCat("{dp_rank=\"", rank, "\"} ");
    const double half = n / 2;
    absl::StrAppend(
        &page, "sglang:prompt_tokens_total", labels, 1000 * half,
        "\nsglang:generation_tokens_total", labels, 100 * half,
        "\nsglang:num_requests_total", labels, half,
        "\nsglang:cached_tokens_total", labels, 250 * half,
        "\nsglang:e2e_request_latency_seconds_sum", labels, 4 * half,
        "\nsglang:e2e_request_latency_seconds_count", labels, half,
        "\nsglang:time_to_first_token_seconds_sum", labels, 0.5 * half,
        "\nsglang:time_to_first_token_seconds_count", labels, half,
        "\nsglang:inter_token_latency_seconds_sum", labels, 3.465 * half,
        "\nsglang:inter_token_latency_seconds_count", labels, 99 * half, "\n");
  }
  return page;
}

absl::StatusOr<EngineTotals> Totals(const std::string& page) {
  const auto samples = ParseMetrics(page);
  EXPECT_TRUE(samples.ok()) << samples.status();
  return TotalsOf(*samples);
}

void ExpectTheRun(const std::string& before, const std::string& after) {
  const auto first = Totals(before);
  const auto second = Totals(after);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  const auto run = RunBetween(*first, *second, absl::Seconds(60));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_DOUBLE_EQ(run->request_count, 120);
  EXPECT_DOUBLE_EQ(run->input_tokens, 1000);
  EXPECT_DOUBLE_EQ(run->output_tokens, 100);
  EXPECT_DOUBLE_EQ(run->prefix_cache_hit_ratio, 0.25);
  // 120 requests of 4 s in 60 s.
  EXPECT_DOUBLE_EQ(run->concurrency, 8);
  EXPECT_DOUBLE_EQ(run->requests_per_second, 2);
  ASSERT_TRUE(run->time_to_first_token.has_value());
  EXPECT_NEAR(absl::ToDoubleSeconds(*run->time_to_first_token), 0.5, 1e-9);
  ASSERT_TRUE(run->time_per_output_token.has_value());
  EXPECT_NEAR(absl::ToDoubleSeconds(*run->time_per_output_token), 0.035, 1e-9);
}

TEST(EngineMetrics, ReadsARunOfVllm) {
  ExpectTheRun(VllmPage(5), VllmPage(125));
}

TEST(EngineMetrics, ReadsARunOfSglangOverItsRanks) {
  ExpectTheRun(SglangPage(10), SglangPage(130));
}

TEST(EngineMetrics, TakesOlderNamesWhereThereAreNone) {
  const std::vector<std::pair<std::string, std::string>> older = {
      {"prefix_cache", "gpu_prefix_cache"},
      {"vllm:request_time_per_output", "vllm:time_per_output"},
      {"vllm:inter_token", "vllm:other"}};
  ExpectTheRun(absl::StrReplaceAll(VllmPage(5), older),
               absl::StrReplaceAll(VllmPage(125), older));
}

TEST(EngineMetrics, ARunOfOneTimeAlone) {
  const std::vector<std::pair<std::string, std::string>> without = {
      {"vllm:request_time", "vllm:x"}, {"vllm:inter_token", "vllm:y"}};
  const auto run = RunBetween(
      *Totals(absl::StrReplaceAll(VllmPage(0), without)),
      *Totals(absl::StrReplaceAll(VllmPage(50), without)), absl::Seconds(10));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->time_to_first_token.has_value());
  EXPECT_FALSE(run->time_per_output_token.has_value());
}

TEST(EngineMetrics, NamesWhatIsMissing) {
  const auto nothing = Totals("up 1\n");
  EXPECT_THAT(std::string(nothing.status().message()),
              HasSubstr("of no engine that is known"));
  const auto both = Totals(VllmPage(1) + SglangPage(1));
  EXPECT_THAT(std::string(both.status().message()),
              HasSubstr("of several engines"));
  const auto some =
      Totals(absl::StrReplaceAll(VllmPage(1), {{"vllm:e2e", "vllm:x"}}));
  EXPECT_THAT(std::string(some.status().message()),
              HasSubstr("lack vllm:e2e_request_latency_seconds_sum with "
                        "vllm:e2e_request_latency_seconds_count;"));
  const auto no_time = Totals(absl::StrReplaceAll(
      VllmPage(1), {{"token_seconds", "x"}, {"token_latency", "y"}}));
  EXPECT_THAT(std::string(no_time.status().message()),
              HasSubstr("vllm:time_to_first_token_seconds_sum or "));
}

TEST(EngineMetrics, TellsARestartAndTooFewRequests) {
  const auto few = RunBetween(*Totals(VllmPage(5)), *Totals(VllmPage(14)),
                              absl::Seconds(60));
  EXPECT_EQ(few.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(few.status().message()),
              HasSubstr("9 requests ended in 1m; needed: 10"));
  const auto fallen = RunBetween(*Totals(VllmPage(500)), *Totals(VllmPage(50)),
                                 absl::Seconds(60));
  EXPECT_EQ(fallen.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(fallen.status().message()),
              HasSubstr("has started anew"));
  // Also where more requests have ended since than before.
  const std::string shorter = absl::StrReplaceAll(
      VllmPage(600), {{"tokens_sum{model_name=\"m\"} 600000",
                       "tokens_sum{model_name=\"m\"} 499000"}});
  EXPECT_EQ(
      RunBetween(*Totals(VllmPage(500)), *Totals(shorter), absl::Seconds(60))
          .status()
          .code(),
      absl::StatusCode::kAborted);
}

// What a server of vLLM shows, shortened: histograms with their buckets, times
// of creation, gauges, its process and its HTTP server; two ranks. `n` requests
// of 512 tokens in and 128 out on each rank, of which the first token takes
// 0.2 s and each further one 10 ms.
std::string WholeVllmPage(int n) {
  std::string page =
      "# HELP python_gc_objects_collected_total Objects collected during gc\n"
      "# TYPE python_gc_objects_collected_total counter\n"
      "python_gc_objects_collected_total{generation=\"0\"} 11337.0\n"
      "process_resident_memory_bytes 6.1e+09\n"
      "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status="
      "\"2xx\"} 120.0\n"
      "# TYPE vllm:cache_config_info gauge\n"
      "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",engine="
      "\"0\",gpu_memory_utilization=\"0.9\",num_cpu_blocks=\"None\"} 1.0\n";
  for (const char* rank : {"0", "1"}) {
    const std::string labels =
        absl::StrCat("engine=\"", rank, "\",model_name=\"org/model\"");
    const auto gauge = [&](const char* name, double value) {
      absl::StrAppend(&page, "# TYPE vllm:", name, " gauge\nvllm:", name, "{",
                      labels, "} ", value, "\n");
    };
    const auto counter = [&](const char* name, double value) {
      absl::StrAppend(&page, "# TYPE vllm:", name,
                      "_total counter\nvllm:", name, "_total{", labels, "} ",
                      value, "\nvllm:", name, "_created{", labels,
                      "} 1.7e+09\n");
    };
    const auto histogram = [&](const char* name, double mean, double count) {
      absl::StrAppend(&page, "# TYPE vllm:", name, " histogram\n");
      for (const char* bound : {"0.001", "1.0", "+Inf"}) {
        absl::StrAppend(&page, "vllm:", name, "_bucket{", labels, ",le=\"",
                        bound, "\"} ", count, "\n");
      }
      absl::StrAppend(&page, "vllm:", name, "_count{", labels, "} ", count,
                      "\nvllm:", name, "_sum{", labels, "} ", mean * count,
                      "\nvllm:", name, "_created{", labels, "} 1.7e+09\n");
    };
    gauge("num_requests_running", 7);
    gauge("num_requests_waiting", 0);
    gauge("kv_cache_usage_perc", 0.31);
    counter("prefix_cache_queries", 512.0 * n);
    counter("prefix_cache_hits", 128.0 * n);
    counter("num_preemptions", 0);
    counter("prompt_tokens", 512.0 * n);
    counter("generation_tokens", 128.0 * n);
    counter("request_success", n);
    histogram("iteration_tokens_total", 12, 500.0 * n);
    histogram("time_to_first_token_seconds", 0.2, n);
    histogram("inter_token_latency_seconds", 0.010, 127.0 * n);
    histogram("request_time_per_output_token_seconds", 0.010, n);
    histogram("e2e_request_latency_seconds", 1.47, n);
    histogram("request_queue_time_seconds", 0.001, n);
    histogram("request_inference_time_seconds", 1.46, n);
    histogram("request_prefill_time_seconds", 0.19, n);
    histogram("request_decode_time_seconds", 1.27, n);
    histogram("request_prompt_tokens", 512, n);
    histogram("request_generation_tokens", 128, n);
  }
  return page;
}

TEST(EngineMetrics, FindsARunInAllThatVllmShows) {
  const auto run = RunBetween(*Totals(WholeVllmPage(100)),
                              *Totals(WholeVllmPage(400)), absl::Seconds(50));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_DOUBLE_EQ(run->request_count, 600);
  EXPECT_DOUBLE_EQ(run->input_tokens, 512);
  EXPECT_DOUBLE_EQ(run->output_tokens, 128);
  EXPECT_DOUBLE_EQ(run->prefix_cache_hit_ratio, 0.25);
  // 12 requests a second of 1.47 s.
  EXPECT_NEAR(run->concurrency, 17.64, 1e-9);
  EXPECT_NEAR(absl::ToDoubleSeconds(*run->time_to_first_token), 0.2, 1e-9);
  EXPECT_NEAR(absl::ToDoubleSeconds(*run->time_per_output_token), 0.01, 1e-9);
}

}  // namespace
}  // namespace mansard::observe
