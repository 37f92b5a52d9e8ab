#include "gtest/gtest.h"
#include "model/ops/op.h"

namespace mansard::model {
namespace {

RecurrentShape Shape(StateRule rule, int heads, int key_heads, int key,
                     int value, const RequestGroup& group) {
  return {.group = group,
          .rule = rule,
          .heads = heads,
          .key_heads = key_heads,
          .key_size = key,
          .value_size = value};
}

RequestGroup Prompt(int64_t tokens, int64_t prior = 0) {
  return {Role::kPrefill, 1, tokens, prior};
}

// Two requests of two tokens, two heads of 3 x 5 (Mamba: of 3 x 1): a state of
// 30 elements (6), 60 bytes (12), read and written by each request once.
TEST(StateOp, UpdatesTokenByToken) {
  const RequestGroup group{Role::kDecode, 2, 2, 9};
  const struct {
    StateRule rule;
    int key_heads, value;
    // Of one token; weights of the op.
    double vector, special, in, out, weights;
  } kCases[] = {
      // SiLU of 6 + 10 inputs; no decays to compute.
      {StateRule::kDecay, 1, 5, 5 * 30 + 3 * 16, 16, 2 * 16, 20, 0},
      // Norms of 6 elements in 2 vectors; a decay (3) and a strength a head.
      {StateRule::kGatedDelta, 1, 5, 7 * 30 + 2 * 10 + 3 * 6, 2 * 4 + 2,
       2 * (16 + 4), 20, 8},
      // Six decays, 12 elements in 4 vectors.
      {StateRule::kKeyGatedDelta, 2, 5, 7 * 30 + 2 * 10 + 3 * 12, 3 * 6 + 2 + 4,
       2 * (22 + 8), 20, 2 * (2 + 6)},
      // Each state element's decay.
      {StateRule::kMamba, 1, 1, 6 * 6 + 3 * 2, 2 * 2 + 6, 2 * (6 + 2 + 2), 4,
       2 * (6 + 4)},
      {StateRule::kMamba2, 1, 5, 5 * 30 + 3 * 10, 2 * 3, 2 * (16 + 2), 20, 12},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(static_cast<int>(c.rule));
    const Op op = StateOp(Shape(c.rule, 2, c.key_heads, 3, c.value, group),
                          Format::kBf16);
    EXPECT_EQ(op.kind, OpKind::kStateUpdate);
    EXPECT_EQ(op.work.tensor.value(), 0);
    EXPECT_EQ(op.work.vector.value(), 4 * c.vector);
    EXPECT_EQ(op.work.special.value(), 4 * c.special);
    EXPECT_EQ(op.work.activations_in.value(), 4 * c.in);
    EXPECT_EQ(op.work.activations_out.value(), 4 * c.out);
    EXPECT_EQ(op.work.weights.value(), c.weights);
    EXPECT_EQ(op.held, op.work.weights);
    EXPECT_EQ(op.work.kv_read.value(), 2 * 2 * 2 * 3 * c.value);
    EXPECT_EQ(op.work.kv_write, op.work.kv_read);
  }
}

// Three tokens: 6 causal pairs, 3 strict ones, one triple; a head of 2 x 3.
TEST(StateOp, ScansAPromptInChunks) {
  const double decay = 2.0 * 2 * 6 + 2 * 3 * 6 + 4 * (2 * 3) * 3;
  const double delta =
      decay + 2 * 2 * 3 + 2 * 1 + 2 * (2 + 3) * 6 + 2 * (2 * 3) * 3;
  const struct {
    StateRule rule;
    double tensor;
  } kCases[] = {{StateRule::kDecay, decay},
                {StateRule::kMamba2, decay},
                {StateRule::kGatedDelta, delta},
                {StateRule::kKeyGatedDelta, delta}};
  for (const auto& c : kCases) {
    const Op op = StateOp(Shape(c.rule, 1, 1, 2, 3, Prompt(3)), Format::kBf16);
    EXPECT_EQ(op.kind, OpKind::kStateScan);
    EXPECT_EQ(op.work.tensor.value(), c.tensor) << static_cast<int>(c.rule);
  }
}

// Scores of queries and keys are of the key heads: heads share them.
TEST(StateOp, HeadsShareScores) {
  const auto tensor = [](int key_heads) {
    return StateOp(Shape(StateRule::kMamba2, 4, key_heads, 2, 3, Prompt(3)),
                   Format::kBf16)
        .work.tensor.value();
  };
  EXPECT_EQ(tensor(4) - tensor(1), 3 * 2 * 2 * 6);
}

TEST(StateOp, ChunksAddUp) {
  const struct {
    StateRule rule;
    int64_t chunk;
  } kCases[] = {{StateRule::kDecay, 128},
                {StateRule::kMamba2, 256},
                {StateRule::kGatedDelta, 64},
                {StateRule::kKeyGatedDelta, 64}};
  for (const auto& c : kCases) {
    const auto work = [&](int64_t tokens) {
      return StateOp(Shape(c.rule, 2, 2, 8, 4, Prompt(tokens)), Format::kBf16)
          .work;
    };
    SCOPED_TRACE(static_cast<int>(c.rule));
    for (int64_t rest : {int64_t{1}, c.chunk / 2, c.chunk}) {
      EXPECT_EQ(work(3 * c.chunk + rest).tensor.value(),
                3 * work(c.chunk).tensor.value() + work(rest).tensor.value());
      EXPECT_EQ(work(3 * c.chunk + rest).vector.value(),
                3 * work(c.chunk).vector.value() + work(rest).vector.value());
    }
    // Pairs within a chunk, none across.
    EXPECT_GT(work(c.chunk).tensor.value(),
              2 * work(c.chunk / 2).tensor.value());
    EXPECT_EQ(work(2 * c.chunk).tensor.value(),
              2 * work(c.chunk).tensor.value());
  }
}

// Mamba has one decay an element and so no products: vector units alone.
TEST(StateOp, MambaScansOnVectorUnits) {
  const Op scan =
      StateOp(Shape(StateRule::kMamba, 6, 1, 3, 1, Prompt(300)), Format::kBf16);
  const Op update =
      StateOp(Shape(StateRule::kMamba, 6, 1, 3, 1, {Role::kDecode, 300, 1, 7}),
              Format::kBf16);
  EXPECT_EQ(scan.kind, OpKind::kStateScan);
  EXPECT_EQ(scan.work.tensor.value(), 0);
  EXPECT_EQ(scan.work.vector, update.work.vector);
  EXPECT_EQ(scan.work.special, update.work.special);
}

TEST(StateOp, StateIsReadWhereThereIsOneAndWrittenOnce) {
  const auto work = [](const RequestGroup& group) {
    RecurrentShape shape = Shape(StateRule::kGatedDelta, 2, 1, 3, 5, group);
    shape.state = Format::kFp32;
    return StateOp(shape, Format::kBf16).work;
  };
  const double state = 2 * 3 * 5 * 4;
  EXPECT_EQ(work(Prompt(100)).kv_read.value(), 0);
  EXPECT_EQ(work(Prompt(100)).kv_write.value(), state);
  EXPECT_EQ(work(Prompt(100, 1)).kv_read.value(), state);
  EXPECT_EQ(work(Prompt(100, 1)).kv_write.value(), state);
  // However long the context, and however many tokens are drafted.
  for (int64_t prior : {0, 1, 5, 1'000'000}) {
    for (int64_t tokens : {1, 4}) {
      const Work decode = work({Role::kDecode, 3, tokens, prior});
      EXPECT_EQ(decode.kv_read.value(), 3 * state);
      EXPECT_EQ(decode.kv_write.value(), 3 * state);
      EXPECT_EQ(decode.vector, work({Role::kDecode, 3, tokens, 77}).vector);
    }
  }
}

TEST(ConvolutionOp, KeepsTheLastInputsOfEachSequence) {
  // Seven tokens of ten channels, four positions wide.
  const Op op = ConvolutionOp(
      {7, 10, Format::kBf16},
      {.kernel = 4, .bias = true, .filter_format = Format::kFp32}, 2, 3);
  EXPECT_EQ(op.work.vector.value(), 70 * (2 * 4 + 1 + 3));
  EXPECT_EQ(op.work.special.value(), 70);
  EXPECT_EQ(op.work.weights.value(), 4 * 10 * 5);
  EXPECT_EQ(op.held, op.work.weights);
  EXPECT_EQ(op.work.kv_read.value(), 2 * 2 * 3 * 10);
  EXPECT_EQ(op.work.kv_write.value(), 3 * 2 * 3 * 10);
  EXPECT_EQ(op.work.activations_in.value(), 140);
  EXPECT_EQ(op.work.activations_out.value(), 140);
  EXPECT_EQ(ConvolutionOp({7, 10, Format::kBf16}, {.kernel = 1}, 2, 3)
                .work.kv_write.value(),
            0);
}

TEST(GatedNormOp, ReadsTheGateBeside) {
  const ElementwiseShape shape{6, 4, Format::kBf16};
  const Op norm = NormOp(shape, false, Format::kBf16);
  const Op gated = GatedNormOp(shape, Format::kBf16);
  EXPECT_EQ(gated.kind, OpKind::kNorm);
  EXPECT_EQ(gated.work.activations_in.value(), 2 * 2 * 24);
  EXPECT_EQ(gated.work.activations_out.value(), 2 * 24);
  EXPECT_EQ(gated.work.weights.value(), 2 * 4);
  EXPECT_EQ(gated.held, norm.held);
  EXPECT_EQ(gated.work.special.value(), 6 + 24);
  EXPECT_GT(gated.work.vector, norm.work.vector);
}

}  // namespace
}  // namespace mansard::model
