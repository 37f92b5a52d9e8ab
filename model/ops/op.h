// The units of work that a step is made of: what Lower emits and Price times.
// Everything is per rank. No strings: names are made when an op is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/units.h"
#include "model/graph/model_graph.h"
#include "model/hardware/collective_algorithm.h"
#include "model/hardware/fabric.h"
#include "model/workload/forward_pass.h"

namespace mansard::model {

enum class OpKind : uint8_t {
  kEmbedding,
  kNorm,
  kGemm,
  kGroupedGemm,  // One GEMM for each expert's tokens.
  kRope,
  kAttentionDecode,
  kAttentionPrefill,
  kActivation,
  kResidual,
  kAdd,  // A constant, to each element.
  kQuantize,
  kDequantize,
  kRouting,      // Top-k choice of experts.
  kCombine,      // Weighted sum of the experts' outputs.
  kGate,         // A sigmoid of one tensor times another.
  kConvolution,  // Causal, a few positions wide, each channel alone.
  kStateUpdate,  // A recurrent state, token by token.
  kStateScan,    // A recurrent state, by chunks of a prompt.
  kIndexScores,  // Small heads against all that is cached.
  kSelect,       // The best of those.
  kCompress,     // Several positions pooled into one.
  kStreamMix,    // Of parallel residual streams.
  kSampling,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive,     // To the next stage, or between pools.
  kExpertDispatch,  // Tokens to the ranks of their experts.
  kExpertCombine,   // And their outputs back.
  kHost,
};
absl::string_view OpKindName(OpKind kind);

// Where in a layer or around the stack an op stands.
enum class Part : uint8_t {
  kEmbedding,
  kEmbeddingAllReduce,
  kPositionEmbedding,
  kEmbeddingProj,  // From the tables' width to the hidden size.
  kEmbeddingNorm,
  // A second embedding that enters every layer.
  kLayerInputEmbedding,
  kLayerInputProj,
  kLayerInputNorm,
  kEmbeddingStreams,  // The embedding, once for each residual stream.
  // Residual streams around mixer and feed-forward: their weights, and one
  // stream made of them.
  kMixerStreamWeights,
  kMixerStreamMix,
  kInputNorm,  // The first layer's: there is no residual to add yet.
  kAttentionNorm,
  kAttentionQuantize,
  kQkvProj,
  kEncoderKvProj,  // Keys and values of an encoder's positions, their norm.
  kEncoderKeyNorm,
  kQkNormAllReduce,  // Of sums of squares, for norms over all ranks' heads.
  kQkNorm,
  // Latent attention: down-projections to the latent vectors, their norms,
  // the queries; keys and values of prompts are expanded, decodes work on the
  // latent vectors instead, with the expansion absorbed on both sides.
  kLatentProj,
  kQueryLatentNorm,
  kKvLatentNorm,
  kQueryQuantize,
  kQueryProj,
  kRope,
  // Sparse attention: the indexer's queries, keys and weights, its scores of
  // the cached positions and the choice among them.
  kIndexQueryProj,
  kIndexKeyProj,
  kIndexKeyNorm,
  kIndexRope,
  kIndexPool,
  kIndexScores,
  kIndexSelect,
  // Compressed attention: what is pooled, and the pooling.
  kCompressProj,
  kCompressPool,
  kKvQuantize,
  kKvExpand,
  kAbsorbQuery,
  kContextGather,  // Of keys and values that context ranks made or hold.
  kAttention,
  kContextReduce,  // Of the context ranks' parts of the outputs.
  kAbsorbValue,
  kOutputRope,  // Back, where keys are values.
  kOutputGateProj,
  kOutputGate,
  kOutputDownQuantize,
  kOutputDownProj,  // Low-rank output projections: the first of the two.
  kOutputQuantize,
  kOutputProj,
  // Recurrent mixers: one projection of all they read, decays and gates of low
  // rank, the convolution, the state, and the way out.
  kRecurrentQuantize,
  kRecurrentProj,
  kGateQuantize,
  kGateProj,
  kConvolution,
  // Mamba: time steps, B and C out of what was convolved, a partial sum on
  // each rank; their norms.
  kStateProjQuantize,
  kStateProj,
  kStateProjAllReduce,
  kStateProjNorm,
  kDecayQuantize,
  kDecayProj,
  kRecurrentState,
  kRecurrentNormAllReduce,  // Of squares, where a norm spans the ranks.
  kRecurrentNorm,           // With its gate.
  kRecurrentGate,           // Where there is no norm.
  kRecurrentOutputQuantize,
  kRecurrentOutputProj,
  kMixerSum,  // Attention and recurrent mixer side by side.
  kAttentionAllReduce,
  kAttentionPostNorm,
  kAttentionResidual,
  kMixerStreamMerge,
  kFeedForwardStreamWeights,
  kFeedForwardStreamMix,
  kFeedForwardNorm,
  kFeedForwardQuantize,
  kUpProj,  // Gate and up in one GEMM where gated.
  kActivation,
  kDownQuantize,
  kDownProj,
  kRouterQuantize,
  kRouter,
  kTopK,
  kExpertInputNorm,
  kExpertGather,    // Of the tokens of ranks that share experts.
  kExpertDispatch,  // Tokens to the ranks of their experts, and back.
  kExpertReturn,
  kExpertScatter,  // Of the sums, after the gather.
  kLatentDownQuantize,
  kLatentDown,  // To the width that experts work on, and back.
  kExpertUp,
  kExpertActivation,
  kExpertDownQuantize,
  kExpertDown,
  kCombine,
  kLatentNorm,
  kLatentUpQuantize,
  kLatentUp,
  kExpertOutputNorm,
  kSharedUp,
  kSharedActivation,
  kSharedDownQuantize,
  kSharedDown,
  kSharedGateProj,
  kSharedGate,
  kSharedOutputNorm,
  kSharedSum,
  kParallelSum,  // Attention and feed-forward of a parallel layer.
  kFeedForwardAllReduce,
  kFeedForwardPostNorm,
  kFeedForwardResidual,
  kFeedForwardStreamMerge,
  kLayerGateProj,
  kLayerGate,
  kLayerProj,
  kLayerPostNorm,
  // Drafting: the module's input out of the hidden state and the last token's
  // embedding.
  kDraftEmbedding,
  kDraftNorms,
  kDraftProj,
  kFinalStreamWeights,
  kFinalStreamMix,
  kFinalNorm,
  kHeadProj,  // From the hidden size to the tables' width.
  kHeadQuantize,
  kHead,
  kLogitsAllGather,
  kStageTransfer,  // Hidden states, to the next pipeline stage.
  kStageGather,    // Of the shares that the tensor ranks were sent.
  kSampling,
  kKvTransfer,  // Keys and values of prompts, to the pool that decodes.
  kHost,
};

// Compulsory work, each byte once. Re-reads depend on tiles and belong to
// Price.
struct Work {
  Flops tensor;
  Flops vector;   // Approximate: a few per element.
  Flops special;  // Transcendental results.
  Bytes weights;
  Bytes kv_read;
  Bytes kv_write;
  Bytes activations_in;
  Bytes activations_out;
  Bytes message;  // Collectives: the buffer that is reduced or gathered.

  Bytes activations() const { return activations_in + activations_out; }

  bool operator==(const Work&) const = default;
};

// `batch` times [m, k] x [n, k]^T -> [m, n], each with weights of its own.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  Format input = Format::kBf16;
  Format weights = Format::kBf16;
  Format output = Format::kBf16;
  Format compute = Format::kBf16;

  bool operator==(const GemmShape&) const = default;
};

// `rows` token-expert pairs spread over experts that each hold [n, k] weights.
struct GroupedGemmShape {
  double rows = 0;              // On the busiest rank.
  double distinct_experts = 0;  // Expected number that see a row.
  int experts = 0;              // Held.
  int64_t n = 0;
  int64_t k = 0;
  Format input = Format::kBf16;
  Format weights = Format::kBf16;
  Format output = Format::kBf16;
  Format compute = Format::kBf16;
  bool even = false;  // Each distinct expert sees as many rows.

  bool operator==(const GroupedGemmShape&) const = default;
};

struct AttentionShape {
  RequestGroup group;
  int query_heads = 0;  // Per rank, as all heads here.
  int kv_heads = 0;
  int head_size = 0;        // Of queries and keys.
  int value_head_size = 0;  // 0: as wide.
  int64_t window = 0;
  int64_t chunk = 0;
  bool shared_kv = false;     // Another layer's cache.
  bool cross = false;         // Over the encoder's positions.
  bool causal = true;         // False: every new token sees the whole context.
  bool with_prompts = false;  // In a pass that has prompts and decodes.
  bool fused = true;  // False: scores are written to memory and read back.
  Format input = Format::kBf16;
  Format kv_cache = Format::kBf16;

  int value_size() const {
    return value_head_size == 0 ? head_size : value_head_size;
  }

  bool operator==(const AttentionShape&) const = default;
};

// Decode, and prompts whose positions an indexer chose: on latent vectors
// (absorbed). Other prompts: on expanded keys and values.
struct LatentAttentionShape {
  RequestGroup group;
  int query_heads = 0;  // Per rank.
  int kv_lora_rank = 0;
  int nope_head_size = 0;
  int rope_head_size = 0;
  int value_head_size = 0;
  int64_t top_k = 0;  // Cached positions that an indexer leaves; 0: all.
  bool fused = true;
  Format input = Format::kBf16;
  Format kv_cache = Format::kBf16;

  int key_head_size() const { return nope_head_size + rope_head_size; }
  bool absorbed() const { return top_k != 0 || group.role == Role::kDecode; }

  bool operator==(const LatentAttentionShape&) const = default;
};

// Over a window of positions and over compressed entries; one head is key and
// value at once.
struct CompressedAttentionShape {
  RequestGroup group;
  int query_heads = 0;  // Per rank.
  int head_size = 0;
  int64_t window = 0;
  int ratio = 0;      // Positions an entry; 0: no entries.
  int64_t top_k = 0;  // Entries that an indexer leaves; 0: all.
  bool fused = true;
  Format input = Format::kBf16;
  Format kv_cache = Format::kBf16;

  bool operator==(const CompressedAttentionShape&) const = default;
};

// Scores of cached index keys, one head of them, by `heads` query heads.
struct IndexShape {
  RequestGroup group;
  int heads = 0;  // On every rank.
  int head_size = 0;
  int ratio = 1;      // Positions a key.
  int64_t top_k = 0;  // Kept of each token's.
  Format input = Format::kBf16;
  Format kv_cache = Format::kBf16;

  bool operator==(const IndexShape&) const = default;
};

// A state of key_size x value_size a head, updated by each new token.
struct RecurrentShape {
  RequestGroup group;
  StateRule rule = StateRule::kMamba2;
  int heads = 0;  // Per rank, as key_heads.
  int key_heads = 0;
  int key_size = 0;
  int value_size = 0;
  Format input = Format::kBf16;
  Format state = Format::kBf16;

  bool operator==(const RecurrentShape&) const = default;
};

// rows x columns elements.
struct ElementwiseShape {
  int64_t rows = 0;
  int64_t columns = 0;
  Format format = Format::kBf16;
  std::optional<Format> made = std::nullopt;  // Of the result, if another.
  // Of experts' weights, inside a layer of them.
  std::optional<Format> experts = std::nullopt;

  bool operator==(const ElementwiseShape&) const = default;
};

struct CollectiveShape {
  int ranks = 1;
  LinkTier tier = LinkTier::kNvlink;  // The outermost that they span.
  int node_ranks = 0;                 // Of them in one node; 0: all.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  // Of the tier, that a sending rank has to itself; below 1 where ranks share
  // one.
  double links = 1;

  int nodes() const { return node_ranks == 0 ? 1 : ranks / node_ranks; }

  bool operator==(const CollectiveShape&) const = default;
};

// Kernels for few tokens and for many, or an all-to-all. Only a wish, as of
// collectives.
enum class ExchangeKernels : uint8_t {
  kAuto,
  kLowLatency,
  kThroughput,
  kDirect,
};

// Tokens on their way to the ranks of their experts, or back.
struct ExchangeShape {
  int ranks = 1;
  LinkTier tier = LinkTier::kNvlink;  // As of CollectiveShape.
  int node_ranks = 0;
  double tokens = 0;  // Of one rank.
  int experts_per_token = 1;
  int64_t columns = 0;
  Format format = Format::kBf16;  // On the wire.
  // What the busiest rank has of the mean.
  double imbalance = 1;
  int experts = 0;          // Of all ranks; 0: not known.
  int multiprocessors = 0;  // That move tokens; 0: as the library does.
  ExchangeKernels kernels = ExchangeKernels::kAuto;

  int nodes() const { return node_ranks == 0 ? 1 : ranks / node_ranks; }

  bool operator==(const ExchangeShape&) const = default;
};

struct HostShape {
  int64_t requests = 0;
  int64_t prefill_tokens = 0;

  bool operator==(const HostShape&) const = default;
};

struct Op {
  OpKind kind;
  Part part;
  int layer_kind = -1;  // Index into the graph's kinds; -1: not in a layer.
  int group = -1;       // Index into the pass's groups; -1: all of it.
  bool draft = false;   // Of the modules that draft tokens.
  int repeat = 1;
  std::variant<GemmShape, GroupedGemmShape, AttentionShape,
               LatentAttentionShape, CompressedAttentionShape, IndexShape,
               RecurrentShape, ElementwiseShape, CollectiveShape, ExchangeShape,
               HostShape>
      shape;
  Work work = {};   // Of one repeat.
  Bytes held = {};  // Weights that the rank holds for one repeat.
};

using OpList = std::vector<Op>;

// Shape -> op with its work; formulas and their sources at the definitions.
// The caller sets part, layer kind, group and repeat.
Op GemmOp(const GemmShape& shape, bool bias);
// `input_rows`: rows that are read at least once: tokens where each is sent to
// several experts, else all rows.
Op GroupedGemmOp(const GroupedGemmShape& shape, double input_rows,
                 bool bias = false);
// One role's group. Scores reach memory only where the shape says unfused.
Op AttentionOp(const AttentionShape& shape);
Op LatentAttentionOp(const LatentAttentionShape& shape);
Op CompressedAttentionOp(const CompressedAttentionShape& shape);
// What `rows` x `columns` values and gates are pooled into.
struct Pooling {
  int64_t decoded_rows = 0;  // Of the rows; they wait in a state.
  double entries = 0;        // Completed by all rows.
  int entry_size = 0;
  int ratio = 1;  // Positions an entry.
  Format weights = Format::kBf16;
  Format state = Format::kBf16;
  Format kv_cache = Format::kBf16;
};
Op CompressOp(const ElementwiseShape& shape, const Pooling& pooling);
// Scores of one group, and the choice of the best `top_k` for each token.
Op IndexScoresOp(const IndexShape& shape);
Op SelectOp(const IndexShape& shape);
// Top-k of `columns` router logits.
Op RoutingOp(const ElementwiseShape& shape);
// Sums `per_token` expert outputs of each row.
Op CombineOp(const ElementwiseShape& shape, int per_token);
// RMSNorm over rows of `columns`; with_residual: adds the residual and writes
// the sum back as well. `weight_format`: of the columns' scale vector.
Op NormOp(const ElementwiseShape& shape, bool with_residual,
          Format weight_format);
// RMSNorm of a branch, and the residual added to it: reads both, writes the
// sum.
Op NormThenAddOp(const ElementwiseShape& shape, Format weight_format);
Op RopeOp(const ElementwiseShape& shape);
// `columns` outputs; gated: reads twice as many.
Op ActivationOp(const ElementwiseShape& shape, bool gated);
Op ResidualOp(const ElementwiseShape& shape);
// A gate times its tensor, each of the shape.
Op GateOp(const ElementwiseShape& shape);
// One gate a row, times the row.
Op RowGateOp(const ElementwiseShape& shape);
Op AddOp(const ElementwiseShape& shape);
// From `shape.format` to `output`.
Op QuantizeOp(const ElementwiseShape& shape, Format output);
// From `input` to `shape.format`.
Op DequantizeOp(const ElementwiseShape& shape, Format input);
// Gathers `rows` rows of a table in `table` format.
Op EmbeddingOp(const ElementwiseShape& shape, Format table);
// The same, added to rows that were computed.
Op AddedEmbeddingOp(const ElementwiseShape& shape, Format table);
// Reads `rows` x `columns` logits and picks one of each row.
Op SamplingOp(const ElementwiseShape& shape);
// A causal convolution `kernel` positions wide and SiLU of its result;
// `filter_format`: of the kernel and its bias.
struct ConvolutionFilter {
  int kernel = 0;
  bool bias = false;
  Format filter_format = Format::kBf16;
};
// `states_read`, `states_written`: sequences whose last kernel - 1 inputs are
// read before and kept after, in the shape's format.
Op ConvolutionOp(const ElementwiseShape& shape, const ConvolutionFilter& filter,
                 int64_t states_read, int64_t states_written);
// One role's group; reads decays in their raw form and norms or activates its
// inputs as the rule has it. `vector_format`: of the rule's weight vectors.
Op StateOp(const RecurrentShape& shape, Format vector_format);
// Weights of a rule's vectors: decay rates, biases of time steps, skips.
int64_t StateVectorElements(StateRule rule, int heads, int key_size);
// RMSNorm over rows of `columns`, times a gate as large as the shape; each
// column's scale is shared by all rows.
Op GatedNormOp(const ElementwiseShape& shape, Format weight_format);
// Parallel residual streams (manifold-constrained hyper-connections), `streams`
// rows of `shape` a token. Weights, and what is made of them, are fp32.
// The embedding as every stream.
Op StreamsOp(const ElementwiseShape& shape, int streams);
// Columns of a token's stream weights: in and out of each stream, and between
// all of them.
int64_t StreamWeightColumns(int streams);
// The projection of all streams together to their weights, and their mean
// square; the shape's formats of input and compute count.
Op StreamWeightsOp(const GemmShape& shape);
// One stream made of all. `mixes`: around a mixer or feed-forward, where the
// weights out and between are normalised and handed on; else at the end.
Op StreamCollapseOp(const ElementwiseShape& shape, int streams, bool mixes);
// A branch's output and the streams, mixed to the new streams.
Op StreamMergeOp(const ElementwiseShape& shape, int streams);
// `message`: the full buffer, as in nccl-tests.
Op AllReduceOp(const CollectiveShape& shape, Bytes message);
// Reduce-scatter, all-gather and all-to-all: the whole buffer.
Op AllGatherOp(const CollectiveShape& shape, Bytes message);
Op ReduceScatterOp(const CollectiveShape& shape, Bytes message);
Op AllToAllOp(const CollectiveShape& shape, Bytes message);
// From one rank to all others: the buffer that each has then.
Op BroadcastOp(const CollectiveShape& shape, Bytes message);
// From one rank to one other, ranks = 2.
Op SendReceiveOp(const CollectiveShape& shape, Bytes message);
// From or to what a cache holds; between two ranks that share nothing else.
Op KvTransferOp(const CollectiveShape& shape, Bytes message);
Op ExpertDispatchOp(const ExchangeShape& shape);
Op ExpertCombineOp(const ExchangeShape& shape);
Op HostOp(const HostShape& shape);

// Sum over `new_tokens` of the positions each sees: causal, within a window or
// a chunk (0: none). Exact.
double CausalPairs(int64_t new_tokens, int64_t prior_tokens, int64_t window,
                   int64_t chunk = 0);
// Sum over `new_tokens` of the entries that each sees: those of `ratio`
// positions that are complete with it, at most `top_k` (0: all). Exact.
double EntryPairs(int64_t new_tokens, int64_t prior_tokens, int64_t ratio,
                  int64_t top_k);
// Entries that a group completes in this pass. A decoding request completes one
// every `ratio` tokens, on average: a longer context is never cheaper.
double EntriesMade(const RequestGroup& group, int64_t ratio);

// "qkv_proj".
absl::string_view PartName(Part part);
// "layers.dense.qkv_proj", "lm_head", "layers.dense.attention[1]" (the group,
// in passes that have several).
std::string OpName(const Op& op, const ModelGraph& graph);
// "m=1 n=6144 k=4096 bf16".
std::string ShapeText(const Op& op);

}  // namespace mansard::model
