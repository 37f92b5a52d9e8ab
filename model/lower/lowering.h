// One pass on its way from graph to ops. Internal to model/lower: the flow of a
// layer is in lower_layer.cc, mixers are in lower_attention.cc,
// lower_latent.cc, lower_compressed.cc and lower_recurrent.cc, feed-forwards in
// lower_feed_forward.cc and lower_experts.cc, what context ranks exchange in
// lower_context.cc, what stands around the layers in lower_edges.cc,
// drafting in lower_draft.cc, what all of them use in lowering.cc.
#pragma once

#include <cstdint>

#include "model/graph/model_graph.h"
#include "model/hardware/kernel_stack.h"
#include "model/lower/pass_formats.h"
#include "model/lower/rank_passes.h"
#include "model/lower/stage_repeats.h"
#include "model/ops/op.h"
#include "model/workload/expert_load.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Builds the list in execution order. One instance a pass; its arguments
// outlive it.
class Lowering {
 public:
  Lowering(const ModelGraph& graph, const RankPasses& passes,
           const ExpertRouting& routing, const Layout& layout,
           const PassFormats& formats, const Fusion& fusion,
           const StageRepeats& stages)
      : graph_(graph),
        passes_(passes),
        pass_(passes.own()),
        routing_(routing),
        layout_(layout),
        formats_(formats),
        fusion_(fusion),
        stages_(stages),
        tokens_(passes.own().total_new_tokens()),
        hidden_(graph.spec().hidden_size),
        linears_(&formats.uniform) {}

  // In `buffer`, whose memory it keeps and whose content it drops.
  OpList Run(OpList buffer);

 private:
  ElementwiseShape HiddenShape() const;

  Op& Emit(Op op, Part part);

  // Weights that belong to no op of the list so far: held once.
  void Hold(Bytes weights);

  // --- Repeats.

  // Of what stands around the layers: before them, after them.
  int RepeatsBefore() const { return stages_.Of(0); }
  int RepeatsAfter() const { return stages_.Of(layout_.pipeline() - 1); }
  // Of all layers of a kind.
  int RepeatsOf(size_t kind) const;

  static CollectiveShape Among(const RankGroup& group) {
    return {group.ranks, group.tier, group.node_ranks};
  }

  // The parts of a layer GEMM: its own, and of the quantisation before it.
  struct LinearParts {
    Part gemm;
    Part quantize;
  };

  // Of the layer that is lowered.
  const GemmFormats& FormatsOf(LinearClass linear) const {
    return (*linears_)[static_cast<size_t>(linear)];
  }

  // The input of a class's GEMMs, in their format; quantised first where that
  // is narrower than the residual stream.
  void EmitQuantize(Part part, LinearClass linear, int64_t rows,
                    int64_t columns);
  // The layer's input, which several classes read. `input`: the format it is
  // there in, beside the residual stream's; becomes the class's.
  void EmitInputQuantize(Part part, LinearClass linear, Format& input);

  GemmShape LinearShape(LinearClass linear, int64_t m, int64_t n,
                        int64_t k) const;

  // A GEMM whose operands stay in the graph's own formats.
  Op WideGemm(int64_t m, int64_t n, int64_t k, bool bias) const;

  void EmitLinear(LinearClass linear, LinearParts parts, int64_t n, int64_t k,
                  bool bias);

  // Of the ranks' partial sums, `columns` a token; none with one rank.
  void EmitAllReduce(Part part, int64_t columns);
  void EmitAllReduce(Part part) { EmitAllReduce(part, hidden_); }

  // With a bias where the model's norms of the hidden size have one.
  Op WithNormBias(Op norm) const;
  void EmitPlainNorm(Part norm);
  // A norm that takes the add of an open branch with it where the stack fuses
  // them.
  void EmitNorm(Part norm, Part residual);
  // A branch's own norm, and its add to the residual; fused likewise.
  void EmitNormThenAdd(Part norm, Part residual);

  // --- lower_edges.cc

  int64_t TableWidth() const;
  // The vocabulary is sharded: each rank looks its rows up, the sum is the
  // embedding. The first norm has no residual to add. A tied table is held as
  // the head.
  void EmitInput();
  // A row for each token of a table of the vocabulary, up to the hidden size.
  // `rows_held`: of the table, on this rank.
  void EmitLookup(Part part, int64_t rows_held);
  int64_t ExtraRowsPerRank() const;
  void EmitLayerInputs();
  // From each stage to the next: what the residual stream is, of which each
  // tensor rank sends a share and gathers the rest.
  void EmitTransfers();
  void EmitFinalNorm(bool open);
  // Logits of `positions` and the choice among them. A module's run holds the
  // head where it is the module's own.
  void EmitHead(int64_t positions);
  void EmitOutput();

  // --- lower_layer.cc

  // A branch is the way through a mixer or a feed-forward and back to the
  // residual. It is left open where the next norm adds it.
  struct BranchParts {
    Part stream_weights;
    Part stream_mix;
    Part norm;
    Part all_reduce;
    Part post_norm;
    Part residual;
    Part stream_merge;
  };
  static const BranchParts kMixerParts;
  static const BranchParts kFeedForwardParts;

  // Layers of one kind, by what they find: an open branch, or none. The first
  // layer counts to neither where its norm stands at the input.
  struct Starts {
    int open = 0;
    int closed = 0;
  };
  bool LeavesOpen(const LayerKind& kind) const;
  bool Skips(const LayerKind& kind) const;
  // The norm before the first layer, of those that are not skipped, is the
  // input's.
  const LayerKind* FirstLayer() const;
  const LayerKind* LastLayer() const;
  bool HasInputNorm() const;
  Starts StartsOf(size_t index) const;

  // All layers of a kind. Those that the pass skips have no ops; their weights
  // are held by the embedding's.
  void EmitLayers(size_t index);
  // `count` layers in a row of the list.
  void EmitLayer(size_t index, int count, Starts starts);
  void EmitSequential(const LayerKind& kind, int count, Starts starts);
  void EmitParallel(const LayerKind& kind, int count, Starts starts);
  void EmitStart(const BranchParts& parts, NormPlacement norms, int count,
                 Starts starts);
  void EmitBetween(NormPlacement norms);
  // `reduced`: the ranks' sums are reduced already. `last`: of the layer.
  void EmitEnd(const BranchParts& parts, NormPlacement norms, bool reduced,
               bool last);
  void EmitMixer(const LayerKind& kind);
  void EmitStreamsIn(const BranchParts& parts);
  // The second embedding's way into a layer; the residual is complete.
  void EmitLayerInput();

  // --- lower_draft.cc

  // After the pass: the modules' runs. Those that are not run are not held.
  void EmitDrafts();
  // One run. This lowering's pass is the run's.
  void EmitDraft();

  // --- lower_attention.cc

  void EmitAttention(const GroupedQueryAttention& attention);
  // The widths of one rank's projections and heads.
  struct GroupedWidths {
    int query_heads = 0;
    int kv_heads = 0;  // That are projected and normed here.
    int64_t query = 0;
    int64_t output = 0;
    int64_t kv = 0;
  };
  GroupedWidths WidthsOf(const GroupedQueryAttention& attention) const;
  // Of queries, and of the keys that are projected here, in one kernel. A norm
  // over the heads of all ranks needs the sum of their squares: two numbers a
  // token are reduced, which is how vLLM runs MiniMax-M2.
  void EmitQkNorm(Part part, QkNorm norm, int64_t rows, int query_heads,
                  int kv_heads, int64_t head_size);
  // The rotated parts of `heads` heads; none where nothing is rotated.
  void EmitRope(Part part, int64_t heads, int64_t rotated);
  Op& EmitForGroup(Op op, Part part, size_t group);
  // --- lower_context.cc

  // Context ranks share the positions of a request. A prompt's queries stay
  // where they are and every rank gathers all keys and values; of a decode each
  // rank attends to the positions that it holds, and the parts are summed.
  // `entry`: elements of one position.
  void EmitContextGather(size_t group, double entry, int64_t window);
  // One rank's share of `whole`; `own` has its shape. `common`: what of a
  // prompt's input every rank reads whole.
  Op OnContextRank(Op own, const Op& whole, Bytes common) const;
  void EmitContextReduce(size_t group, int64_t heads, int64_t value_size);

  // A logit a query head, held once.
  void AddSinks(int query_heads, Op& op, bool held) const;

  // Queries see all of an encoder's positions. Every rank projects its heads of
  // them, in the pass that finds a prompt's first tokens.
  void EmitAttention(const CrossAttention& attention);
  void EmitEncoderKv(const CrossAttention& attention, int kv_heads,
                     int64_t rows);

  // --- lower_latent.cc

  // Down-projections and latent vectors are on every rank, heads are shared.
  // Positions that an indexer chose are attended to on latent vectors, prompts
  // too, which is how vLLM runs DeepSeek-V3.2: no expansion.
  void EmitAttention(const LatentAttention& attention);

  // What an indexer works on.
  struct IndexInputs {
    int64_t query_width = 0;  // Of the vectors its queries are made from.
    int rope_size = 0;
    // Set: it chooses among compressed entries.
    const CompressedAttention* pooled = nullptr;
  };
  // On every rank, as the common engines have it: the heads' scores are summed,
  // and small. Its inputs are quantised already. None of its own where an
  // earlier layer's choice is taken.
  void EmitIndexer(const SparseIndexer& indexer, const IndexInputs& inputs);
  void EmitIndexKeys(const SparseIndexer& indexer, const IndexInputs& inputs);

  // --- lower_compressed.cc

  // The query's down-projection, the head that is key and value, compressor and
  // indexer are on every rank, query heads and output groups are shared.
  void EmitAttention(const CompressedAttention& attention);
  // Values and gates of one position, before they are pooled.
  static int64_t PooledWidth(const CompressedAttention& attention,
                             int64_t entry_size);
  void EmitPooling(Part part, const CompressedAttention& attention,
                   int entry_size);
  // Low-rank, block-diagonal over groups of heads; then back to the hidden
  // size.
  void EmitGroupedOutput(const CompressedAttention& attention, int64_t heads);

  // In lower_recurrent.cc.
  void EmitRecurrent(const RecurrentMixer& mixer);
  void EmitRecurrentInput(const RecurrentMixer& mine);
  void EmitConvolution(const RecurrentMixer& mine);
  void EmitDecays(const RecurrentMixer& mine);
  void EmitStateInput(const RecurrentMixer& mine);
  void EmitStates(const RecurrentMixer& mine);
  void EmitRecurrentNorm(const RecurrentMixer& mixer,
                         const RecurrentMixer& mine);

  // Of all context ranks.
  int64_t TokensOf(Role role, bool with_prior) const;

  // Keys and values of the prompts, prefix included, out of latent vectors. The
  // prefix's come from the cache; narrow inputs are quantised first.
  void EmitExpansion(const LatentAttention& mine);

  // What an op reads: latent vectors of this pass and of the cache.
  void ReadLatents(Op& op, int64_t computed, int64_t cached,
                   const LatentAttention& mine) const;

  // One side of the absorbed expansion, a matrix a head, over the decoded
  // tokens, or all where an indexer chose positions. The weights are those of
  // the expansion, and held as such: once, at the first use.
  void EmitAbsorbed(const LatentAttention& mine, Part part, int64_t n,
                    int64_t k);

  struct FeedForwardParts {
    Part up;
    Part activation;
    LinearParts down;
  };

  // The input is quantised already: routed and shared experts read the same.
  void EmitDense(LinearClass linear, const FeedForwardParts& parts,
                 int64_t full_width, bool gated, bool bias);

  // Of its own ranks' sums: norms on the way out need whole vectors.
  static bool ReducesItself(const FeedForward& feed_forward);

  void EmitFeedForward(const NoFeedForward& /*none*/) {}
  void EmitFeedForward(const DenseFeedForward& feed_forward);

  // The router, latent projections and gates are on every rank, for the rank's
  // own tokens.
  void EmitFeedForward(const MixtureOfExperts& experts);
  // `input`: as EmitInputQuantize.
  void EmitRouted(const MixtureOfExperts& experts, Format& input);
  void EmitLatentUp(const MixtureOfExperts& experts);
  void EmitShared(const MixtureOfExperts& experts, Format& input);

  // Experts are shared by width among `moe_tensor` ranks, whole ones among
  // `expert` ranks. Data ranks that share a width gather their tokens first and
  // scatter the sums; where experts lie with other data ranks, tokens travel
  // there and back. Tensor ranks have the same tokens: each runs what it holds
  // for them, or sends its share of them; their all-reduce comes later.
  ExpertLoad LoadOf(const MixtureOfExperts& experts) const;
  void EmitToExperts(const MixtureOfExperts& experts, const ExpertLoad& load,
                     int64_t columns, Format input);
  void EmitFromExperts(const MixtureOfExperts& experts, const ExpertLoad& load,
                       int64_t columns);
  ExchangeShape ExchangeOf(const MixtureOfExperts& experts,
                           const ExpertLoad& load, int64_t columns,
                           Format format) const;
  int64_t GatheredTokens() const {
    return tokens_ * layout_.gather_group().ranks;
  }
  // Rows that the rank's element-wise kernels of the experts pass over.
  double RowsPassed(const MixtureOfExperts& experts,
                    const ExpertLoad& load) const;
  void EmitExpertLayers(const MixtureOfExperts& experts, const ExpertLoad& load,
                        int64_t across);
  void EmitExperts(Part part, const MixtureOfExperts& experts,
                   const ExpertLoad& load, int64_t n, int64_t k,
                   double input_rows);

  const ModelGraph& graph_;
  const RankPasses& passes_;
  const ForwardPass& pass_;  // The rank's own.
  const ExpertRouting& routing_;
  const Layout& layout_;
  const PassFormats& formats_;
  const Fusion& fusion_;
  const StageRepeats stages_;
  const int64_t tokens_;
  const int64_t hidden_;
  OpList ops_;
  bool draft_ = false;  // A module's run; its ops are marked.
  int layer_kind_ = -1;
  int repeat_ = 1;
  Bytes pending_;  // Held by the next op.
  const LinearTable* linears_;
};

}  // namespace mansard::model
