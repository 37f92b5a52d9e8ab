// The ranks of a layout together do the unsharded work and hold the unsharded
// weights, and what they do or hold several times is what the layout says.

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/memory.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Op;
using model::Parallelism;
using model::Part;
using model::Role;

struct Sums {
  double flops = 0, held = 0, kv_read = 0, kv_write = 0;
};
using SumsByPart = std::map<std::string, Sums>;

void Add(const model::OpList& ops, double ranks, SumsByPart& sums) {
  for (const Op& op : ops) {
    Sums& sum = sums[std::string(model::PartName(op.part))];
    const double n = op.repeat * ranks;
    sum.flops += n * op.work.tensor.value();
    sum.held += n * op.held.value();
    sum.kv_read += n * op.work.kv_read.value();
    sum.kv_write += n * op.work.kv_write.value();
  }
}

// Of all devices: what the busiest rank of each stage does, times its ranks.
// Requests, positions and rows divide evenly here, so that all are as busy.
SumsByPart OfAllRanks(const model::Target& target,
                      const model::ForwardPass& pass) {
  const model::Layout& layout = target.layout();
  SumsByPart sums;
  for (int stage = 0; stage < layout.pipeline(); ++stage) {
    Add(model::Lower(target.graph(), pass, layout, target.formats(),
                     target.fusion(), {stage, 1, 0}),
        layout.stage_devices(), sums);
  }
  return sums;
}

// How many ranks do or hold the same.
class Copies {
 public:
  Copies(const model::Layout& layout, Role role)
      : tensor_(layout.tensor()),
        data_(layout.data()),
        context_(layout.context()),
        decode_(role == Role::kDecode) {}

  // Context ranks all compute a decode but for its attention, and the head and
  // the keys and values of a prompt.
  double OfFlops(const std::string& part) const {
    const bool everywhere = decode_ ? part != "attention"
                                    : part == "kv_expand" || part == "lm_head";
    return OfTensor(part) * (everywhere ? context_ : 1);
  }
  double OfHeld(const std::string& part) const {
    const bool expert = part == "expert_up" || part == "expert_down";
    return OfTensor(part) * context_ * (expert ? 1 : data_);
  }
  double OfKv(bool latent, bool read) const {
    return (latent ? tensor_ : 1) * (read && !decode_ ? context_ : 1);
  }

 private:
  double OfTensor(const std::string& part) const {
    static const std::set<std::string> kShared = {
        "embedding", "qkv_proj",    "q_proj",    "kv_expand",   "absorb_q",
        "absorb_v",  "attention",   "o_proj",    "up_proj",     "down_proj",
        "expert_up", "expert_down", "shared_up", "shared_down", "lm_head"};
    return kShared.contains(part) ? 1 : tensor_;
  }

  double tensor_;
  double data_;
  double context_;
  bool decode_;
};

void ExpectNear(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, 1e-9 * expected) << what;
}

void ExpectWholeModel(const SumsByPart& all, const SumsByPart& whole,
                      const model::Layout& layout, Role role, bool latent) {
  const Copies copies(layout, role);
  for (const auto& [part, one] : whole) {
    ASSERT_TRUE(all.contains(part)) << part;
    const Sums& sum = all.at(part);
    ExpectNear(sum.flops, one.flops * copies.OfFlops(part), part + " flops");
    ExpectNear(sum.held, one.held * copies.OfHeld(part), part + " held");
    ExpectNear(sum.kv_read, one.kv_read * copies.OfKv(latent, true),
               part + " kv read");
    ExpectNear(sum.kv_write, one.kv_write * copies.OfKv(latent, false),
               part + " kv write");
  }
  // What is beyond moves bytes between ranks.
  for (const auto& [part, sum] : all) {
    if (whole.contains(part)) continue;
    EXPECT_EQ(sum.flops, 0) << part;
    EXPECT_EQ(sum.held, 0) << part;
    EXPECT_EQ(sum.kv_read, 0) << part;
  }
}

// Latent attention and experts, as DeepSeek-V3's.
model::ModelGraphSpec TinyDeepSeek() {
  model::ModelGraphSpec spec = TinyLatentGraph();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "moe";
  spec.layer_kinds[1].feed_forward = TinyMoeGraph().layer_kinds[0].feed_forward;
  spec.layer_kind_indexes = {0, 1, 1, 1, 1};
  return spec;
}

// Eight a node, and a network.
std::shared_ptr<const model::HardwareProfile> Cluster() {
  ToyHardware toy;
  model::Link network = toy.fabric.links[0];
  network.tier = model::LinkTier::kRdma;
  network.domain_devices = 0;
  toy.fabric.links.push_back(network);
  auto& collectives = toy.stack.collectives;
  collectives[static_cast<size_t>(model::LinkTier::kRdma)] =
      collectives[static_cast<size_t>(model::LinkTier::kNvlink)];
  return toy.Build();
}

std::vector<Parallelism> Layouts(bool experts, int layers) {
  std::vector<Parallelism> layouts;
  for (int tensor : {1, 2}) {
    for (int data : {1, 2, 4}) {
      for (int context : {1, 2}) {
        for (int pipeline : {1, 2, 5}) {
          for (int expert : {0, 1, 2, 4}) {
            if (pipeline > layers) continue;
            if (expert > 0 && (!experts || tensor * data % expert != 0)) {
              continue;
            }
            layouts.push_back({.tensor = tensor,
                               .pipeline = pipeline,
                               .expert = expert,
                               .data = data,
                               .context = context});
          }
        }
      }
    }
  }
  return layouts;
}

TEST(LayoutSums, RanksSumToTheUnshardedModel) {
  const auto hardware = Cluster();
  const model::ForwardPass passes[] = {
      BuildPass({{Role::kDecode, 8, 1, 15}}),
      BuildPass({{Role::kDecode, 8, 2, 30}, {Role::kDecode, 16, 1, 7}}),
      BuildPass({{Role::kPrefill, 8, 16, 0}}),
      BuildPass({{Role::kPrefill, 4, 8, 6}, {Role::kPrefill, 8, 4, 0}}),
  };
  int compared = 0;
  for (const model::ModelGraphSpec& spec :
       {TinyGraph(), TinyMoeGraph(), TinyLatentGraph(), TinyDeepSeek()}) {
    const auto graph = BuildGraph(spec);
    const bool latent = std::holds_alternative<model::LatentAttention>(
        *spec.layer_kinds[0].attention);
    for (const model::ForwardPass& base : passes) {
      model::Violations violations;
      const model::ForwardPass pass =
          *base.WithRouting({model::ExpertRouting::Kind::kSpread, {}},
                            graph->ExpertCount(), violations);
      const SumsByPart whole =
          OfAllRanks(BuildTarget(TargetOn(graph, hardware)), pass);
      for (const Parallelism& parallelism :
           Layouts(graph->ExpertCount() > 0, graph->layer_count())) {
        model::TargetSpec target = TargetOn(graph, hardware);
        target.parallelism = parallelism;
        SCOPED_TRACE(::testing::Message()
                     << spec.layer_kinds[0].name << " tp " << parallelism.tensor
                     << " pp " << parallelism.pipeline << " dp "
                     << parallelism.data << " ep " << parallelism.expert
                     << " cp " << parallelism.context << " pass "
                     << (&base - passes));
        const model::Target built = BuildTarget(target);
        ExpectWholeModel(OfAllRanks(built, pass), whole, built.layout(),
                         pass.groups()[0].role, latent);
        ++compared;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(compared, 700);
}

// By hand: 61 layers of 512 + 64 elements of two bytes, on every tensor rank
// (a cache that were shared would have 70272 / tensor).
TEST(LayoutSums, LatentCacheOfEveryTensorRank) {
  const auto graph = BuildGraph(DeepSeekV3());
  const auto hardware = Cluster();
  for (const Parallelism& parallelism :
       std::vector<Parallelism>{{.tensor = 8},
                                {.tensor = 8, .expert = 16, .data = 2},
                                {.tensor = 4, .data = 4},
                                {.expert = 32, .data = 32}}) {
    model::TargetSpec spec = TargetOn(graph, hardware);
    spec.parallelism = parallelism;
    const model::MemoryFootprint memory =
        EstimatePass(BuildTarget(spec), DecodePass(32, 1000)).memory;
    model::Bytes per_token;
    for (const model::LayerMemory& layer : memory.layers) {
      per_token += layer.per_token;
    }
    EXPECT_EQ(per_token.value(), 70272);
    const int data = parallelism.data == 0 ? 1 : parallelism.data;
    EXPECT_EQ(memory.kv_cache.value(), 70272.0 * 1000 * 32 / data);
  }
}

// DeepSeek-V3 by hand, bf16: experts are 58 layers of 256 x 3 x 2048 x 7168,
// spread over tensor x data; all else of a data rank is as with tensor alone.
TEST(LayoutSums, WeightsOfOneRank) {
  const auto graph = BuildGraph(DeepSeekV3());
  const auto hardware = Cluster();
  const auto weights = [&](const Parallelism& parallelism) {
    model::TargetSpec spec = TargetOn(graph, hardware);
    spec.parallelism = parallelism;
    return EstimatePass(BuildTarget(spec), DecodePass(1, 10))
        .memory.weights_by_class;
  };
  constexpr double kExperts = 58.0 * 256 * 3 * 2048 * 7168 * 2;
  const auto plain = weights({.tensor = 4});
  EXPECT_EQ(plain[model::TensorClass::kExperts].value(), kExperts / 4);
  for (const Parallelism& parallelism :
       std::vector<Parallelism>{{.tensor = 4, .data = 8},
                                {.tensor = 4, .expert = 32, .data = 8},
                                {.tensor = 4, .expert = 8, .data = 8}}) {
    const auto mine = weights(parallelism);
    EXPECT_EQ(mine[model::TensorClass::kExperts].value(), kExperts / 32);
    for (model::TensorClass other :
         {model::TensorClass::kAttention, model::TensorClass::kFeedForward,
          model::TensorClass::kSharedExperts, model::TensorClass::kEmbedding,
          model::TensorClass::kHead, model::TensorClass::kRouter}) {
      EXPECT_EQ(mine[other].value(), plain[other].value());
    }
  }
}

}  // namespace
}  // namespace mansard::testing
