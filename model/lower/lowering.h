// One pass on its way from graph to ops. Internal to model/lower: layers'
// attention is in lower_attention.cc, their feed-forward in
// lower_feed_forward.cc, the rest in lowering.cc.
#pragma once

#include <cstdint>

#include "model/graph/model_graph.h"
#include "model/hardware/kernel_stack.h"
#include "model/lower/pass_formats.h"
#include "model/ops/op.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Builds the list in execution order. One instance a pass; its arguments
// outlive it.
class Lowering {
 public:
  Lowering(const ModelGraph& graph, const ForwardPass& pass,
           const Layout& layout, const PassFormats& formats,
           const Fusion& fusion)
      : graph_(graph),
        pass_(pass),
        layout_(layout),
        formats_(formats),
        fusion_(fusion),
        tokens_(pass.total_new_tokens()),
        hidden_(graph.spec().hidden_size) {}

  OpList Run();

 private:
  ElementwiseShape HiddenShape() const;

  Op& Emit(Op op, Part part);

  // The parts of a layer GEMM: its own, and of the quantisation before it.
  struct LinearParts {
    Part gemm;
    Part quantize;
  };

  // The input of layer GEMMs, in their format; quantised first where that is
  // narrower than the residual stream.
  void EmitQuantize(Part part, int64_t rows, int64_t columns);

  GemmShape LinearShape(int64_t m, int64_t n, int64_t k) const;

  void EmitLinear(LinearParts parts, int64_t n, int64_t k, bool bias);

  void EmitAllReduce(Part part);

  // A norm that takes the residual add with it where the stack fuses them.
  void EmitNorm(Part norm, Part residual);

  // The vocabulary is sharded: each rank looks its rows up, the sum is the
  // embedding. The first norm has no residual to add. A tied table is held as
  // the head.
  void EmitInput();

  void EmitLayers(size_t index);

  void EmitAttention(const GroupedQueryAttention& attention);

  void EmitForGroup(Op op, size_t group);

  // Down-projections and latent vectors are on every rank, heads are shared.
  void EmitAttention(const LatentAttention& attention);

  int64_t TokensOf(Role role, bool with_prior) const;

  // Keys and values of the prompts, prefix included, out of latent vectors. The
  // prefix's come from the cache; narrow inputs are quantised first.
  void EmitExpansion(const LatentAttention& mine);

  // What an op reads: latent vectors of this pass and of the cache.
  void ReadLatents(Op& op, int64_t computed, int64_t cached,
                   const LatentAttention& mine) const;

  // One side of the absorbed expansion, a matrix a head, over the decoded
  // tokens. The weights are those of the expansion, and held as such: once, at
  // the first use.
  void EmitAbsorbed(const LatentAttention& mine, Part part, int64_t n,
                    int64_t k);

  struct FeedForwardParts {
    Part up;
    Part activation;
    LinearParts down;
  };

  // The input is quantised already: routed and shared experts read the same.
  void EmitDense(const FeedForwardParts& parts, int64_t full_width, bool gated,
                 bool bias);

  void EmitFeedForward(const DenseFeedForward& feed_forward);

  // Every rank holds its share of every expert; the router is replicated.
  void EmitFeedForward(const MixtureOfExperts& experts);

  void EmitExperts(Part part, const MixtureOfExperts& experts, int64_t n,
                   int64_t k, int64_t input_rows);

  void EmitOutput();

  const ModelGraph& graph_;
  const ForwardPass& pass_;
  const Layout& layout_;
  const PassFormats& formats_;
  const Fusion& fusion_;
  const int64_t tokens_;
  const int64_t hidden_;
  OpList ops_;
  int layer_kind_ = -1;
  int repeat_ = 1;
};

}  // namespace mansard::model
