#include <iterator>

#include "model/estimate/advice.h"

namespace mansard::model {

namespace {

using C = OpClass;
using R = Resource;
using S = Situation;

// Directions after the roofline literature: raise reuse where memory limits,
// cut work or narrow formats where compute does, cut rounds where latency does.
constexpr AdviceRow kRows[] = {
    {R::kTensor, C::kGemm, S::kFasterFormat,
     "enough rows share each weight, the tensor units are full",
     "8-bit weights and activations run faster here, else fewer tokens a "
     "step or more ranks"},
    {R::kTensor, C::kDecodeAttention, S::kAlways,
     "many queries share each KV read, the tensor units are full",
     "draft fewer tokens, or spread the query heads over more ranks"},
    {R::kTensor, C::kPrefillAttention, S::kAlways,
     "scores grow with new tokens times context",
     "reuse cached prefixes, use windows, or spread heads over more ranks"},
    {R::kTensor, C::kEvery, S::kAlways,
     "the tensor units are full at this precision",
     "only less work a rank helps: fewer tokens a step, or more ranks"},

    {R::kVector, C::kGemm, S::kWidenedWeights,
     "narrow weights are widened on the vector units",
     "use a format that the tensor units read, or more rows a weight"},
    {R::kVector, C::kEvery, S::kAlways,
     "arithmetic beside the tensor units takes longest",
     "drop or simplify element-wise work; fewer bytes will not help"},

    {R::kSfu, C::kEvery, S::kAlways, "exponentials take longest",
     "compute part of them on vector units, or fewer scores: windows, "
     "shorter contexts"},

    {R::kSmem, C::kEvery, S::kAlways,
     "operands do not reach the tensor units fast enough",
     "larger tiles, so that each operand is used more often"},

    {R::kL2, C::kGemm, S::kAlways,
     "tiles read their operands from L2 again and again",
     "larger tiles, or fewer rows a kernel"},
    {R::kL2, C::kDecodeAttention, S::kUnfusedScores,
     "scores are written and read back", "use a fused kernel (FlashAttention)"},
    {R::kL2, C::kElementwise, S::kAlways,
     "data crosses L2 with little work on it",
     "fuse it with the op before or after: that saves the trip"},
    {R::kL2, C::kEvery, S::kAlways, "data crosses L2 with little reuse",
     "fuse with neighbours, so that it stays in registers"},

    {R::kHbm, C::kDecodeAttention, S::kUnfusedScores,
     "scores go through memory", "use a fused kernel (FlashAttention)"},
    {R::kHbm, C::kPrefillAttention, S::kUnfusedScores,
     "scores go through memory", "use a fused kernel (FlashAttention)"},
    {R::kHbm, C::kGemm, S::kWideWeights, "each weight is read for few rows",
     "batch more tokens, or quantise the weights: 8 bits halve the bytes"},
    {R::kHbm, C::kGemm, S::kNarrowWeights,
     "each weight is read for few rows, narrow as it is",
     "batch more tokens, or share the weights among more ranks"},
    {R::kHbm, C::kGemm, S::kAlways, "input and output outweigh the weights",
     "narrower activations, or fuse the op that reads the output"},
    {R::kHbm, C::kDecodeAttention, S::kWideKv,
     "every token reads its whole KV cache",
     "quantise the KV cache: 8 bits halve it; or cache less: windows, fewer "
     "heads"},
    {R::kHbm, C::kDecodeAttention, S::kNarrowKv,
     "every token reads its whole KV cache, narrow as it is",
     "draft tokens to share the read, or cache less: windows, fewer heads"},
    {R::kHbm, C::kPrefillAttention, S::kWideKv,
     "few new tokens read a long cached prefix",
     "larger chunks, or quantise the KV cache"},
    {R::kHbm, C::kElementwise, S::kSpilled,
     "more data than L2 holds, with little work on it",
     "fuse with neighbours; recompute rather than store where bytes saved / "
     "bandwidth > FLOPs redone / rate"},
    {R::kHbm, C::kEvery, S::kAlways,
     "bytes come from memory with little work on each",
     "fewer bytes: fuse, batch, or a narrower format"},

    {R::kNvlink, C::kEvery, S::kAlways,
     "the buffer is large for the link between devices",
     "fewer ranks, narrower activations, or overlap it with GEMMs"},
    {R::kPcie, C::kEvery, S::kAlways, "the buffer crosses PCIe",
     "fewer ranks, or devices that a faster link joins"},
    {R::kRdma, C::kEvery, S::kAlways,
     "the buffer crosses the network between nodes",
     "keep these ranks inside one node"},

    {R::kLaunch, C::kElementwise, S::kAlways,
     "starting the kernel outweighs its work", "fuse it with a neighbour"},
    {R::kLaunch, C::kEvery, S::kAlways,
     "starting the kernel outweighs its work",
     "more work a launch: a larger batch, or fused kernels"},

    {R::kSync, C::kCollective, S::kAlways,
     "rounds between the ranks outweigh the bytes",
     "fewer ranks, or fewer and larger collectives"},
    {R::kSync, C::kGemm, S::kAlways, "prologue and epilogue outweigh the work",
     "a larger batch, or one GEMM in place of several"},
    {R::kSync, C::kDecodeAttention, S::kAlways,
     "combining the parts of the split KV outweighs the work",
     "more requests or longer contexts a kernel"},
    {R::kSync, C::kEvery, S::kAlways,
     "waiting for one another outweighs the work", "fewer, larger kernels"},

    {R::kHost, C::kEvery, S::kAlways,
     "the host prepares the step while devices wait",
     "CUDA graphs, asynchronous scheduling, or more tokens a step"},
};

}  // namespace

const std::vector<AdviceRow>& AdviceTable() {
  static const auto* const kTable =
      new std::vector<AdviceRow>(std::begin(kRows), std::end(kRows));
  return *kTable;
}

}  // namespace mansard::model
