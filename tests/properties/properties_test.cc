// What physics demands of every estimate, over the shipped devices and models
// and a grid of passes.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/properties/checks.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Estimate;
using model::ForwardPass;
using model::Role;
using model::Seconds;

const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto data = model::LoadShippedData();
    if (!data.ok()) std::abort();
    return new model::ShippedData(*std::move(data));
  }();
  return *kData;
}

std::vector<ForwardPass> Passes() {
  std::vector<ForwardPass> passes;
  for (int64_t batch : {1, 3, 64, 700}) {
    for (int64_t context : {1, 127, 4096, 40000}) {
      passes.push_back(DecodePass(batch, context));
    }
  }
  for (int64_t tokens : {1, 100, 2048, 16384}) {
    passes.push_back(PrefillPass(1, tokens));
    passes.push_back(PrefillPass(3, tokens));
  }
  passes.push_back(BuildPass({{Role::kPrefill, 1, 512, 1024},
                              {Role::kDecode, 32, 1, 3000},
                              {Role::kDecode, 4, 4, 100}}));
  return passes;
}

// In the graph's own formats; in fp16 or fp32 where the device has no bf16
// units.
model::TargetSpec ComputableOn(
    const std::shared_ptr<const model::ModelGraph>& graph,
    const std::shared_ptr<const model::HardwareProfile>& profile,
    int tensor = 1) {
  model::TargetSpec spec = TargetOn(graph, profile, tensor);
  for (model::Format format :
       {model::Format::kBf16, model::Format::kFp16, model::Format::kFp32}) {
    if (!profile->device().HasTensor(format)) continue;
    spec.weights = spec.activations = spec.kv_cache = format;
    break;
  }
  return spec;
}

// Nothing where the layout is not legal: a size beyond the node's devices, or
// one that does not divide the model.
std::optional<model::Target> Layoutable(
    const std::shared_ptr<const model::ModelGraph>& graph,
    const std::shared_ptr<const model::HardwareProfile>& profile, int tensor) {
  model::Violations violations;
  absl::StatusOr<model::Target> target =
      model::Target::Create(ComputableOn(graph, profile, tensor), violations);
  EXPECT_EQ(target.ok(), violations.empty()) << target.status();
  if (!target.ok()) return std::nullopt;
  return *std::move(target);
}

// Calls `check` for every shipped model on every 13th device, another set for
// each model, with every legal tensor size and pass.
void ForAll(const std::function<void(const model::Target&, const ForwardPass&)>&
                check) {
  constexpr size_t kStride = 13;
  size_t pair = 0;
  std::set<std::string> devices;
  for (const auto& [graph_id, graph] : Shipped().graphs) {
    for (const auto& [profile_id, profile] : Shipped().profiles) {
      if (++pair % kStride != 0) continue;
      devices.insert(profile_id);
      for (int tensor : {1, 2, 8}) {
        const std::optional<model::Target> target =
            Layoutable(graph, profile, tensor);
        if (!target.has_value()) continue;
        for (const ForwardPass& pass : Passes()) {
          SCOPED_TRACE(::testing::Message()
                       << graph_id << " on " << profile_id << " tp " << tensor
                       << " " << model::PhaseName(pass.phase()) << " "
                       << pass.total_new_tokens() << " tokens, first context "
                       << pass.groups()[0].context());
          check(*target, pass);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
    // The sets move on from model to model.
    ++pair;
  }
  EXPECT_EQ(devices.size(), Shipped().profiles.size());
}

TEST(Properties, FloorOverlappedEstimateSerialAreInOrder) {
  ForAll([](const model::Target& target, const ForwardPass& pass) {
    ExpectInOrder(EstimatePass(target, pass), target.graph());
  });
}

TEST(Properties, AttributionAndWaterfallSumToTheStep) {
  ForAll([](const model::Target& target, const ForwardPass& pass) {
    ExpectSumsToTheStep(EstimatePass(target, pass));
  });
}

TEST(Properties, MonotoneInBatchContextAndTokens) {
  for (const auto& [id, profile] : Shipped().profiles) {
    SCOPED_TRACE(id);
    const model::Target target =
        BuildTarget(ComputableOn(Shipped().graphs.at("llama-3.1-8b"), profile));
    const auto check = [&](const std::function<ForwardPass(int64_t)>& pass,
                           const char* what) {
      Times last{};
      for (int64_t size = 1; size < 20000; size += 1 + size / 7) {
        const Times now = TimesOf(target, pass(size));
        EXPECT_GE(now.floor, last.floor) << what << " " << size;
        EXPECT_GE(now.estimate, last.estimate) << what << " " << size;
        last = now;
      }
    };
    check([](int64_t n) { return DecodePass(n, 1000); }, "batch");
    check([](int64_t n) { return DecodePass(4, n); }, "context");
    check([](int64_t n) { return PrefillPass(1, n); }, "prompt");
    check(
        [](int64_t n) {
          return BuildPass(
              {{Role::kPrefill, 1, n, 0}, {Role::kDecode, 16, 1, 2000}});
        },
        "mixed prompt");
    check(
        [](int64_t n) {
          return BuildPass({{Role::kDecode, 2, n, 100}});
        },
        "drafts");
  }
}

// `change` makes the hardware better: no pass may get slower.
void ExpectNeverSlower(const std::function<void(ToyHardware&)>& change,
                       const char* what) {
  ToyHardware plain;
  ToyHardware better;
  change(better);
  const auto graph = Shipped().graphs.at("llama-3.1-8b");
  for (int tensor : {1, 4}) {
    const model::Target before =
        BuildTarget(TargetOn(graph, plain.Build(), tensor));
    const model::Target after =
        BuildTarget(TargetOn(graph, better.Build(), tensor));
    for (const ForwardPass& pass : Passes()) {
      const Times slow = TimesOf(before, pass);
      const Times fast = TimesOf(after, pass);
      EXPECT_LE(fast.floor, slow.floor) << what;
      EXPECT_LE(fast.estimate.value(), slow.estimate.value() * (1 + kRounding))
          << what;
    }
  }
}

TEST(Properties, BetterHardwareIsNeverSlower) {
  ExpectNeverSlower(
      [](ToyHardware& toy) { toy.device.hbm.bandwidth->value *= 1.3; },
      "HBM bandwidth");
  ExpectNeverSlower(
      [](ToyHardware& toy) {
        for (auto& rate : toy.device.tensor_rates) {
          if (rate.has_value()) rate->value *= 1.3;
        }
      },
      "tensor peak");
  ExpectNeverSlower(
      [](ToyHardware& toy) {
        toy.device.vector_rates[static_cast<size_t>(model::Format::kFp32)]
            ->value *= 1.3;
        toy.device.special_function_rate->value *= 1.3;
      },
      "vector peak");
  ExpectNeverSlower(
      [](ToyHardware& toy) {
        toy.fabric.links[0].bandwidth.value *= 2;
        auto& family =
            toy.stack
                .collectives[static_cast<size_t>(model::LinkTier::kNvlink)];
        family->lines[0].bus *= 2;
      },
      "link");
  ExpectNeverSlower(
      [](ToyHardware& toy) { toy.device.l2->capacity.value *= 4; }, "L2 size");
}

TEST(Properties, DoublingLayersDoublesLayerTime) {
  model::ModelGraphSpec spec = Shipped().graphs.at("llama-3.1-8b")->spec();
  const auto hardware = Shipped().profiles.at("h100-sxm");
  const auto layer_time = [&](size_t layers, const ForwardPass& pass) {
    spec.layer_kind_indexes.assign(layers, 0);
    const Estimate estimate =
        EstimatePass(BuildTarget(TargetOn(BuildGraph(spec), hardware)), pass);
    Seconds total;
    for (size_t i = 0; i < estimate.ops.size(); ++i) {
      // The first layer's norm stands outside its kind, and without a
      // residual: the others are compared.
      if (estimate.ops[i].part == model::Part::kAttentionNorm) continue;
      if (estimate.ops[i].layer_kind < 0) continue;
      total += estimate.ops[i].repeat * estimate.times[i].estimate;
    }
    return total.value();
  };
  for (const ForwardPass& pass : Passes()) {
    ExpectSame(layer_time(64, pass), 2 * layer_time(32, pass), "layers");
  }
}

TEST(Properties, TensorParallelHalvesGemmsAndAddsItsMessages) {
  const auto graph = Shipped().graphs.at("llama-3.1-70b");
  const auto hardware = Shipped().profiles.at("h100-sxm");
  const ForwardPass pass = DecodePass(16, 1000);
  struct Sums {
    double gemm_flops = 0;
    int all_reduces = 0;
    double message_bytes = 0;
  };
  const auto sums = [&](int tensor) {
    Sums total;
    const model::Target target = BuildTarget(TargetOn(graph, hardware, tensor));
    for (const model::Op& op : EstimatePass(target, pass).ops) {
      if (op.kind == model::OpKind::kGemm) {
        total.gemm_flops += op.repeat * op.work.tensor.value();
      }
      if (op.kind == model::OpKind::kAllReduce) {
        total.all_reduces += op.repeat;
        total.message_bytes += op.repeat * op.work.message.value();
      }
    }
    return total;
  };
  EXPECT_DOUBLE_EQ(sums(2).gemm_flops * 2, sums(1).gemm_flops);
  EXPECT_DOUBLE_EQ(sums(8).gemm_flops * 8, sums(1).gemm_flops);
  EXPECT_EQ(sums(1).all_reduces, 0);
  // Two a layer and one after the embedding, each tokens x hidden x 2 bytes.
  EXPECT_EQ(sums(2).all_reduces, 2 * 80 + 1);
  EXPECT_DOUBLE_EQ(sums(2).message_bytes, 161.0 * 16 * 8192 * 2);
}

TEST(Properties, MixedPassIsCheaperThanItsParts) {
  constexpr int kPromptTokens = 128;
  // The GEMMs are fused over all tokens: weights are read once.
  const auto graph = Shipped().graphs.at("llama-3.1-8b");
  for (const auto& [id, hardware] : Shipped().profiles) {
    const model::Target target = BuildTarget(ComputableOn(graph, hardware));
    const model::RequestGroup prompt{Role::kPrefill, 1, kPromptTokens, 0};
    const model::RequestGroup decodes{Role::kDecode, 32, 1, 1000};
    const Seconds together =
        EstimatePass(target, BuildPass({prompt, decodes})).phase.estimate;
    const Seconds apart =
        EstimatePass(target, BuildPass({prompt})).phase.estimate +
        EstimatePass(target, BuildPass({decodes})).phase.estimate;
    // Where the prompt alone reaches the ridge point, the weights that are read
    // once hide behind its arithmetic and sharing them saves little.
    const model::Device& device = hardware->device();
    const double ridge =
        (device.TensorRate(target.formats().compute) / device.HbmBandwidth())
            .value();
    EXPECT_LT(together, (ridge < kPromptTokens ? 1 : 0.75) * apart) << id;
    EXPECT_GT(together,
              EstimatePass(target, BuildPass({decodes})).phase.estimate)
        << id;
  }
}

TEST(Properties, DevicesWithoutBf16UnitsRefuseBf16AndNoOthersDo) {
  std::vector<std::string> refused;
  std::vector<std::string> without_vector_rate;
  for (const auto& [id, hardware] : Shipped().profiles) {
    model::Violations violations;
    const absl::StatusOr<model::Target> target = model::Target::Create(
        TargetOn(Shipped().graphs.at("llama-3.1-8b"), hardware), violations);
    if (!target.ok()) {
      EXPECT_EQ(target.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_NE(std::string(target.status().message())
                    .find("tensor formats of this device: fp"),
                std::string::npos)
          << target.status();
      refused.push_back(id);
      continue;
    }
    EXPECT_GT(EstimatePass(*target, DecodePass(1, 10)).phase.estimate,
              Seconds::Zero())
        << id;
    for (const std::string& assumption : target->assumptions()) {
      if (assumption.find("vector work is not priced") != std::string::npos) {
        without_vector_rate.push_back(id);
      }
    }
  }
  EXPECT_EQ(refused,
            (std::vector<std::string>{"cpu-avx512", "t4", "v100-pcie-16gb",
                                      "v100-sxm-32gb"}));
  EXPECT_EQ(
      without_vector_rate,
      (std::vector<std::string>{"gaudi-2", "gaudi-3", "h20", "h800-sxm",
                                "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7"}));
}

// Two MI300X share one link of 64 GB/s, eight use all seven: 448 GB/s.
TEST(Properties, FloorOfAMeshKnowsItsLinks) {
  const auto graph = Shipped().graphs.at("llama-3.1-70b");
  const auto hardware = Shipped().profiles.at("mi300x");
  const ForwardPass pass = PrefillPass(1, 16384);
  struct {
    int tensor;
    double gigabytes_per_second;
  } const kCases[] = {{2, 64}, {4, 192}, {8, 448}};
  for (const auto& test : kCases) {
    const Estimate estimate =
        EstimatePass(BuildTarget(TargetOn(graph, hardware, test.tensor)), pass);
    int seen = 0;
    for (size_t i = 0; i < estimate.ops.size(); ++i) {
      const model::Op& op = estimate.ops[i];
      if (op.kind != model::OpKind::kAllReduce) continue;
      ++seen;
      ExpectSame(estimate.times[i].floor.value(),
                 2.0 * (test.tensor - 1) / test.tensor *
                     op.work.message.value() /
                     (test.gigabytes_per_second * 1e9),
                 "all-reduce");
    }
    EXPECT_GT(seen, 0);
  }
}

TEST(Properties, GroupsOfLikeRequestsMaySplit) {
  // One group of five requests does the work of groups of two and three.
  const model::Target target = BuildTarget(TargetOn(
      Shipped().graphs.at("llama-3.1-8b"), Shipped().profiles.at("h100-sxm")));
  const auto work = [&](const ForwardPass& pass) {
    const Estimate estimate = EstimatePass(target, pass);
    const auto& hbm =
        estimate.phase
            .waterfall[static_cast<size_t>(model::WaterfallRow::kHbm)];
    return std::pair(hbm.weights.value(), hbm.kv.value());
  };
  EXPECT_EQ(work(BuildPass({{Role::kDecode, 5, 1, 900}})),
            work(BuildPass(
                {{Role::kDecode, 2, 1, 900}, {Role::kDecode, 3, 1, 900}})));
}

}  // namespace
}  // namespace mansard::testing
