#include "model/estimate/kv_transfer.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/estimate/cache_bytes.h"
#include "model/estimate/step_time.h"
#include "model/io/shipped.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/published_recurrent.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using namespace model;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    auto data = LoadShippedData();
    if (!data.ok()) std::abort();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

// Llama-3.1-70B: 80 layers, 8 KV heads of 128, two bytes each for key and
// value: 327,680 bytes a token.
constexpr double kTokenBytes = 80 * 2 * 8 * 128 * 2;

Target Llama70b(Parallelism parallelism,
                std::optional<KvSend> send = std::nullopt) {
  TargetSpec spec = TargetOn(Shipped().graphs.at("llama-3.1-70b"),
                             Shipped().profiles.at("h100-sxm"));
  spec.parallelism = parallelism;
  spec.kv_send = send;
  return BuildTarget(spec);
}

KvTransferPlan PlanOf(const Target& target, const KvTransferSpec& spec) {
  Violations violations;
  CheckKvTransfer(spec, target.graph().spec().max_context, violations);
  CheckKvSources(target, spec, violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return *PlanKvTransfer(target, spec, [] { return true; });
}

KvTransferSpec From(std::vector<KvSource> sources, int64_t tokens = 8192) {
  KvTransferSpec spec;
  spec.prefix_tokens = tokens;
  spec.sources = std::move(sources);
  return spec;
}

KvTransferSpec FromStorage(double bytes_per_second, double seconds) {
  KvTransferSpec spec = From({KvSource::kStorage});
  spec.storage_bandwidth = BytesPerSecond::Of(bytes_per_second);
  spec.storage_latency = Seconds::Of(seconds);
  return spec;
}

std::vector<std::string> FieldsOf(const Violations& violations) {
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) {
    fields.push_back(violation.field);
  }
  return fields;
}

// 2.684 GB over NICs of 50 GB/s.
TEST(KvTransfer, FloorsOfLlama70b) {
  for (Parallelism layout : {Parallelism{.tensor = 8}, Parallelism{.tensor = 4},
                             Parallelism{.tensor = 4, .pipeline = 2}}) {
    const Target target = Llama70b(layout);
    for (const auto& [nics, milliseconds] :
         {std::pair{1, 53.687}, std::pair{8, 6.711}}) {
      KvTransferSpec spec = From({KvSource::kRdma});
      spec.nics = nics;
      const KvTransferPlan plan = PlanOf(target, spec);
      EXPECT_DOUBLE_EQ(plan.instance.value(), 8192 * kTokenBytes);
      EXPECT_NEAR(plan.instance.value(), 2.684e9, 1e6);
      const KvFetch& fetch = plan.fetches[0];
      EXPECT_NEAR(ToMilliseconds(fetch.floor), milliseconds, 1e-3);
      EXPECT_GT(fetch.estimate, fetch.floor);
      EXPECT_LE(fetch.exposed, fetch.estimate);
    }
  }
  // One a rank by default.
  const KvTransferPlan plan =
      PlanOf(Llama70b({.tensor = 8}), From({KvSource::kRdma}));
  EXPECT_NEAR(ToMilliseconds(plan.fetches[0].floor), 6.711, 1e-3);
}

TEST(KvTransfer, RanksHoldCopiesOfReplicatedHeads) {
  const Target target = Llama70b({.tensor = 16, .nodes = 2});
  const KvTransferPlan plan = PlanOf(target, From({KvSource::kRdma}));
  EXPECT_DOUBLE_EQ(plan.rank.value(), 8192 * kTokenBytes / 8);
  EXPECT_DOUBLE_EQ(plan.instance.value(), 2 * 8192 * kTokenBytes);
}

TEST(KvTransfer, WhatIsCachedIsNotMoved) {
  const Target target = Llama70b({.tensor = 8});
  KvTransferSpec spec = From({KvSource::kHost, KvSource::kHbm});
  spec.cached_tokens = 6144;
  const KvTransferPlan plan = PlanOf(target, spec);
  EXPECT_DOUBLE_EQ(plan.instance.value(), 2048 * kTokenBytes);
  // PCIe 5 x16, 63 GB/s a device.
  EXPECT_NEAR(plan.fetches[0].floor.value(), 2048 * kTokenBytes / 8 / 63e9,
              1e-9);
  EXPECT_EQ(plan.fetches[0].exposed, plan.fetches[0].estimate);
  EXPECT_EQ(plan.fetches[0].preferences[0].from_tokens, 6145);
  EXPECT_EQ(plan.fetches[1].estimate, Seconds::Zero());
  EXPECT_EQ(plan.fetches[1].instance, Bytes::Zero());
  const Estimate again =
      EstimatePass(target, BuildPass({{Role::kPrefill, 1, 2048, 6144}}));
  EXPECT_EQ(plan.recompute, again.phase.estimate);
}

TEST(KvTransfer, StorageIsWhatTheCallerSays) {
  const Target target = Llama70b({.tensor = 8});
  const KvTransferPlan plan = PlanOf(target, FromStorage(10e9, 0.5));
  EXPECT_DOUBLE_EQ(plan.fetches[0].floor.value(), 8192 * kTokenBytes / 10e9);
  EXPECT_DOUBLE_EQ(plan.fetches[0].estimate.value(),
                   0.5 + 8192 * kTokenBytes / 10e9);
}

// Where an answer changes, one token less has the other.
TEST(KvTransfer, PreferencesChangeWhereTheCurvesCross) {
  const Target target = Llama70b({.tensor = 8});
  const auto fetch_wins = [&](KvTransferSpec spec, int64_t tokens) {
    spec.prefix_tokens = tokens;
    const KvTransferPlan plan = PlanOf(target, spec);
    return plan.fetches[0].estimate <= plan.recompute;
  };
  // So fast that latency decides; so slow that only the quadratic part of
  // prefill makes up for it.
  for (const auto& [rate, latency, changes] :
       {std::tuple{200e9, 0.2, 1}, std::tuple{6e9, 0.0, 2},
        std::tuple{1e9, 1.0, 0}, std::tuple{200e9, 0.0, 0}}) {
    const KvTransferSpec spec = FromStorage(rate, latency);
    const auto preferences = PlanOf(target, spec).fetches[0].preferences;
    EXPECT_EQ(preferences.size(), changes + 1u) << rate;
    EXPECT_EQ(preferences[0].from_tokens, 1);
    for (size_t i = 0; i < preferences.size(); ++i) {
      const int64_t from = preferences[i].from_tokens;
      EXPECT_EQ(fetch_wins(spec, from), preferences[i].fetch) << from;
      if (i > 0) {
        EXPECT_NE(fetch_wins(spec, from - 1), preferences[i].fetch) << from;
      }
    }
  }
}

TEST(KvTransfer, ChecksEveryRuleAtOnce) {
  KvTransferSpec spec = From({KvSource::kHost, KvSource::kHost}, 0);
  spec.cached_tokens = -1;
  spec.nics = 4;
  spec.storage_bandwidth = BytesPerSecond::Of(-1);
  spec.storage_latency = Seconds::Of(1);
  Violations violations;
  CheckKvTransfer(spec, 131072, violations);
  EXPECT_THAT(
      FieldsOf(violations),
      ElementsAre("prefix_token_count", "cached_token_count", "source_tiers[1]",
                  "nic_count", "storage_bandwidth_bytes_per_second",
                  "storage_latency_seconds"));
  Violations missing;
  CheckKvTransfer(From({KvSource::kStorage}), 131072, missing);
  EXPECT_THAT(FieldsOf(missing),
              ElementsAre("storage_bandwidth_bytes_per_second",
                          "storage_latency_seconds"));
  // Eight ranks leave no room for peers among eight devices.
  spec = From({KvSource::kRdma, KvSource::kNvlink});
  spec.nics = -2;
  Violations of_fabric;
  CheckKvSources(Llama70b({.tensor = 8}), spec, of_fabric);
  EXPECT_THAT(FieldsOf(of_fabric), ElementsAre("nic_count", "source_tiers[1]"));
}

// The width of the cache is memory's: all that a request keeps.
TEST(KvSend, NothingPriorLacksAllThatMemoryCounts) {
  for (const auto& graph :
       {BuildGraph(DeepSeekV3()), BuildGraph(GptOss20bAttention()),
        BuildGraph(DeepSeekV32Attention()),
        BuildGraph(DeepSeekV4FlashAttention()),
        BuildGraph(LlamaVisionAttention()), BuildGraph(Jamba15Mini()),
        BuildGraph(Qwen3Next80b())}) {
    const Target target =
        BuildTarget(TargetOn(graph, Shipped().profiles.at("h100-sxm")));
    const RequestCache cache(target.graph(), target.layout(), 0,
                             target.formats(), nullptr);
    for (int64_t tokens : {1, 100, 5000}) {
      const RequestGroup whole = {Role::kPrefill, 1, tokens, 0, 30};
      const double all = cache.OfRequest(whole).total().value();
      EXPECT_NEAR(cache.Missing(whole).value(), all, all * 1e-9);
      // No part is more than the whole.
      const RequestGroup part = {Role::kPrefill, 1, tokens, 7000, 0};
      const RequestGroup end = {Role::kPrefill, 1, tokens + 7000, 0, 0};
      EXPECT_LE(cache.Missing(part), cache.OfRequest(end).total());
      EXPECT_GT(cache.Missing(part), Bytes::Zero());
    }
  }
}

TEST(KvSend, ExposureIsWhatComputingDoesNotHide) {
  const auto exposed = [](double transfer, double compute, int layers) {
    return ExposedBehind(Seconds::Of(transfer), Seconds::Of(compute), layers)
        .value();
  };
  // The last layer's transfer where computing is slower; all but the first
  // layer's computing where it is faster.
  EXPECT_DOUBLE_EQ(exposed(1, 4, 10), 1);
  EXPECT_DOUBLE_EQ(exposed(4, 1, 10), 10 * 4 - 9 * 1);
  EXPECT_DOUBLE_EQ(exposed(4, 1, 1), 4);
  EXPECT_DOUBLE_EQ(exposed(0, 1, 5), 0);
  // Layer by layer by hand.
  for (double transfer : {0.5, 1.0, 1.5, 7.0}) {
    double computed = 0, sent = 0;
    for (int layer = 0; layer < 6; ++layer) {
      computed += 1;
      sent = std::max(sent, computed) + transfer;
    }
    EXPECT_DOUBLE_EQ(exposed(transfer, 1, 6), sent - computed);
  }
}

TEST(KvSend, EndsThePassOfAPrefillPool) {
  const ForwardPass pass = BuildPass({{Role::kPrefill, 2, 4096, 0}});
  for (Parallelism layout :
       {Parallelism{.tensor = 8}, Parallelism{.tensor = 4, .pipeline = 2},
        Parallelism{.tensor = 2, .pipeline = 4, .micro_batches = 2}}) {
    const Seconds alone = EstimatePass(Llama70b(layout), pass).phase.estimate;
    Seconds longest = Seconds::Infinity();
    for (const bool layer_wise : {false, true}) {
      const Target target = Llama70b(
          layout, KvSend{.tier = LinkTier::kRdma, .layer_wise = layer_wise});
      const Estimate estimate = EstimatePass(target, pass);
      const Op& op = estimate.ops.back();
      const OpTime& time = estimate.times.back();
      ASSERT_EQ(op.part, Part::kKvTransfer);
      // Two prompts over eight NICs of 50 GB/s.
      EXPECT_DOUBLE_EQ(op.work.message.value(), 2 * 4096 * kTokenBytes / 8);
      EXPECT_DOUBLE_EQ((alone + time.estimate).value(),
                       estimate.phase.estimate.value());
      EXPECT_LE(time.floor, time.overlapped);
      EXPECT_LE(time.overlapped, time.estimate);
      EXPECT_LE(time.estimate, time.serial);
      EXPECT_LT(time.estimate, longest);
      longest = time.estimate;
      if (!layer_wise) {
        EXPECT_GT(ToMilliseconds(time.estimate), 6.71);
      }
      Seconds rows;
      for (const WaterfallTier& row : estimate.phase.waterfall) {
        EXPECT_GE(row.exposed, Seconds::Zero());
        rows += row.exposed;
      }
      EXPECT_NEAR(rows / estimate.phase.estimate, 1, 1e-12);
      const WaterfallTier& rdma =
          estimate.phase.waterfall[static_cast<size_t>(WaterfallRow::kRdma)];
      EXPECT_NEAR(rdma.kv / op.work.message, 1, 1e-12);
      StepTimer timer;
      EXPECT_EQ(timer.Estimate(target, pass), estimate.phase.estimate);
    }
  }
}

TEST(KvSend, DecodesSendNothingAndChunksSendThemselves) {
  const Target target = Llama70b({.tensor = 8}, KvSend{});
  const Estimate decode = EstimatePass(target, DecodePass(8, 2000));
  EXPECT_EQ(decode.ops.back().kind, OpKind::kHost);
  const Estimate chunk =
      EstimatePass(target, BuildPass({{Role::kPrefill, 1, 512, 4096}}));
  EXPECT_DOUBLE_EQ(chunk.ops.back().work.message.value(),
                   512 * kTokenBytes / 8);
}

}  // namespace
}  // namespace mansard::testing
