#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/graph/layer_parameters.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/published_recurrent.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::DecodePass;
using mansard::testing::FalconH1_7b;
using mansard::testing::Find;
using mansard::testing::Jamba15Mini;
using mansard::testing::Mamba2_780m;
using mansard::testing::MiniMaxText01;
using mansard::testing::NemotronH56b;
using mansard::testing::PrefillPass;
using mansard::testing::Qwen3Next80b;
using mansard::testing::TargetOn;
using mansard::testing::TinyRecurrentGraph;
using mansard::testing::TinySideBySideGraph;
using mansard::testing::ToyHardware;

constexpr StateRule kRules[] = {StateRule::kDecay, StateRule::kGatedDelta,
                                StateRule::kKeyGatedDelta, StateRule::kMamba,
                                StateRule::kMamba2};

TargetSpec On(const ModelGraphSpec& graph, int tensor = 1) {
  return TargetOn(BuildGraph(graph), ToyHardware().Build(), tensor);
}

OpList Ops(const TargetSpec& spec, const ForwardPass& pass) {
  return EstimatePass(BuildTarget(spec), pass).ops;
}

bool IsRecurrent(Part part) {
  return part >= Part::kRecurrentQuantize && part <= Part::kRecurrentOutputProj;
}

Bytes HeldByMixer(const TargetSpec& spec, const ForwardPass& pass) {
  Bytes held;
  for (const Op& op : Ops(spec, pass)) {
    if (IsRecurrent(op.part)) held += op.repeat * op.held;
  }
  return held;
}

TEST(LowerRecurrent, HoldsEveryParameterOnceInEveryPass) {
  const ForwardPass kPasses[] = {
      DecodePass(3, 50), PrefillPass(1, 9),
      BuildPass({{Role::kPrefill, 1, 4, 2}, {Role::kDecode, 2, 1, 6}})};
  for (StateRule rule : kRules) {
    for (bool bias : {false, true}) {
      for (OutputGate gate :
           {OutputGate::kNone, OutputGate::kFull, OutputGate::kLowRank}) {
        ModelGraphSpec graph = TinyRecurrentGraph(rule);
        RecurrentMixer& mixer = *graph.layer_kinds[1].recurrent;
        mixer.projection_bias = bias;
        mixer.gate = gate;
        mixer.gate_rank = gate == OutputGate::kLowRank ? 5 : 0;
        const auto parameters =
            static_cast<double>(RecurrentParameters(mixer, graph.hidden_size) +
                                RecurrentNormParameters(mixer));
        for (const ForwardPass& pass : kPasses) {
          EXPECT_EQ(HeldByMixer(On(graph), pass).value(), 2 * 2 * parameters)
              << static_cast<int>(rule) << bias << static_cast<int>(gate);
        }
      }
    }
  }
}

// However long the context, a decoded token costs the same and the state of a
// sequence moves once each way, drafts or not.
TEST(LowerRecurrent, DecodeDoesNotDependOnTheContext) {
  for (StateRule rule : kRules) {
    const TargetSpec spec = On(TinyRecurrentGraph(rule), 2);
    const OpList shorter = Ops(spec, DecodePass(5, 1));
    const OpList longer = Ops(spec, DecodePass(5, 1000));
    const OpList drafts = Ops(spec, BuildPass({{Role::kDecode, 5, 4, 9}}));
    ASSERT_EQ(shorter.size(), longer.size());
    for (size_t i = 0; i < shorter.size(); ++i) {
      if (!IsRecurrent(shorter[i].part)) continue;
      EXPECT_EQ(shorter[i].work.kv_read, longer[i].work.kv_read);
      EXPECT_EQ(shorter[i].work.kv_write, longer[i].work.kv_write);
      EXPECT_EQ(shorter[i].work.vector, longer[i].work.vector);
      EXPECT_EQ(shorter[i].work.kv_read, drafts[i].work.kv_read);
      EXPECT_EQ(shorter[i].work.kv_write, drafts[i].work.kv_write);
    }
  }
}

// Mamba's B, C and time steps are partial sums; norms over all heads that a
// rank does not hold need the others' squares.
TEST(LowerRecurrent, RanksReduceWhatTheyShare) {
  const ForwardPass pass = DecodePass(3, 7);
  const OpList mamba = Ops(On(TinyRecurrentGraph(StateRule::kMamba), 4), pass);
  for (size_t i = 0; i < mamba.size(); ++i) {
    if (mamba[i].part != Part::kStateProj) continue;
    EXPECT_EQ(mamba[i + 1].part, Part::kStateProjAllReduce);
    EXPECT_EQ(mamba[i + 1].work.message.value(), 3 * (2 + 2 * 3) * 2);
  }
  EXPECT_EQ(Count(mamba, Part::kStateProjAllReduce), 2);
  const struct {
    StateRule rule;
    int tensor, all_reduces;  // Two groups of B and C on the ranks.
  } kCases[] = {{StateRule::kDecay, 1, 0},  {StateRule::kDecay, 2, 2},
                {StateRule::kMamba2, 1, 0}, {StateRule::kMamba2, 2, 0},
                {StateRule::kMamba2, 4, 2}, {StateRule::kGatedDelta, 4, 0}};
  for (const auto& c : kCases) {
    const OpList ops = Ops(On(TinyRecurrentGraph(c.rule), c.tensor), pass);
    EXPECT_EQ(Count(ops, Part::kRecurrentNormAllReduce), c.all_reduces);
    EXPECT_EQ(Count(ops, Part::kRecurrentNorm), 2);
  }
  EXPECT_EQ(Find(Ops(On(TinyRecurrentGraph(StateRule::kDecay), 2), pass),
                 Part::kRecurrentNormAllReduce)
                .work.message.value(),
            3 * 4);
}

TEST(LowerRecurrent, SideBySideReadsOneInputAndIsSummed) {
  TargetSpec spec = On(TinySideBySideGraph(), 2);
  spec.activations = Format::kFp8E4m3;
  spec.weights = Format::kFp8E4m3;
  const OpList beside = Ops(spec, DecodePass(3, 7));
  EXPECT_EQ(Count(beside, Part::kAttentionQuantize), 2);
  EXPECT_EQ(Count(beside, Part::kRecurrentQuantize), 0);
  EXPECT_EQ(Count(beside, Part::kMixerSum), 2);
  EXPECT_EQ(Count(beside, Part::kAttentionAllReduce), 2);

  spec.graph = BuildGraph(TinyRecurrentGraph(StateRule::kMamba2));
  const OpList alone = Ops(spec, DecodePass(3, 7));
  EXPECT_EQ(Count(alone, Part::kRecurrentQuantize), 2);
  EXPECT_EQ(Count(alone, Part::kMixerSum), 0);
  EXPECT_EQ(Count(alone, Part::kAttentionAllReduce), 3);
}

// Two key heads on four ranks: each is on two of them, convolved there too.
TEST(LowerRecurrent, KeyHeadsAreRepeatedLikeKvHeads) {
  const auto columns = [](int tensor) {
    const OpList ops = Ops(On(TinyRecurrentGraph(StateRule::kMamba2), tensor),
                           DecodePass(1, 1));
    return std::pair(
        std::get<GemmShape>(Find(ops, Part::kRecurrentProj).shape).n,
        std::get<ElementwiseShape>(Find(ops, Part::kConvolution).shape)
            .columns);
  };
  // x, B and C; z; time steps.
  EXPECT_EQ(columns(1), std::pair(int64_t{8 + 2 * 6 + 8 + 4}, int64_t{20}));
  EXPECT_EQ(columns(2), std::pair(int64_t{4 + 2 * 3 + 4 + 2}, int64_t{10}));
  EXPECT_EQ(columns(4), std::pair(int64_t{2 + 2 * 3 + 2 + 1}, int64_t{8}));
}

// A state of 32 heads x 128 x 128 in fp32, 3 positions of 8192 channels in
// bf16: what 36 layers of Qwen3-Next read and write a token and sequence.
TEST(LowerRecurrent, QwenNextMovesItsStates) {
  const OpList ops = Ops(On(Qwen3Next80b()), DecodePass(4, 1000));
  EXPECT_EQ(Count(ops, Part::kRecurrentState), 36);
  const Work& state = Find(ops, Part::kRecurrentState).work;
  EXPECT_EQ(state.kv_read.value(), 4.0 * 32 * 128 * 128 * 4);
  EXPECT_EQ(state.kv_write, state.kv_read);
  EXPECT_EQ(state.vector.value(),
            4.0 * (7 * 32 * 128 * 128 + 2 * 32 * 128 + 6 * 16 * 128));
  const Work& convolution = Find(ops, Part::kConvolution).work;
  EXPECT_EQ(convolution.kv_read.value(), 4.0 * 3 * 8192 * 2);
  EXPECT_EQ(convolution.weights.value(), 4.0 * 8192 * 2);
  // q, k, v, z, b and a.
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kRecurrentProj).shape).n,
            2048 + 2048 + 4096 + 4096 + 32 + 32);
}

// Tensor work of one token is two operations an active weight of a matrix, and
// the state's is on vector units.
TEST(LowerRecurrent, PublishedModelsDoTwoOperationsAnActiveParameter) {
  const struct {
    ModelGraphSpec spec;
    double active_without_tables;
    double head;  // Weights of the head.
    // Operations a state element and token, elements of all states.
    double update, states;
  } kCases[] = {
      {Qwen3Next80b(), 3252599552, 151936.0 * 2048, 7, 36 * 524288.0},
      {NemotronH56b(), 54176866816, 131072.0 * 8192, 5, 54 * 4194304.0},
      {FalconH1_7b(), 6786633824, 130049.0 * 3072, 5, 44 * 786432.0},
      {Mamba2_780m(), 702918912, 50288.0 * 1536, 5, 48 * 393216.0},
  };
  for (const auto& c : kCases) {
    double tensor = 0, states = 0;
    for (const Op& op : Ops(On(c.spec), DecodePass(1, 1))) {
      tensor += op.repeat * op.work.tensor.value();
      if (op.kind == OpKind::kStateUpdate) {
        states += op.repeat * op.work.vector.value();
      }
    }
    EXPECT_NEAR(tensor / (2 * (c.active_without_tables + c.head)), 1, 0.002);
    EXPECT_NEAR(states / (c.update * c.states), 1, 0.03);
  }
}

// Within a prompt the state costs a few operations an element and token, and
// nothing that grows with the prompt.
TEST(LowerRecurrent, PromptsAreLinear) {
  for (const ModelGraphSpec& spec :
       {Qwen3Next80b(), NemotronH56b(), FalconH1_7b(), MiniMaxText01(),
        Jamba15Mini()}) {
    const auto scan = [&](int64_t tokens) {
      return Find(Ops(On(spec), PrefillPass(1, tokens)), Part::kRecurrentState)
          .work;
    };
    EXPECT_EQ(scan(8192).tensor.value(), 8 * scan(1024).tensor.value());
    EXPECT_EQ(scan(8192).vector.value(), 8 * scan(1024).vector.value());
    EXPECT_EQ(scan(8192).kv_write, scan(1024).kv_write);
    EXPECT_EQ(scan(1024).kv_read, Bytes::Zero());
  }
}

}  // namespace
}  // namespace mansard::model
