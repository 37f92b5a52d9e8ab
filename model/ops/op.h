// The units of work that a step is made of: what Lower emits and Price times.
// Everything is per rank. No strings: names are made when an op is shown.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/units.h"
#include "model/graph/model_graph.h"
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
  kRouting,  // Top-k choice of experts.
  kCombine,  // Weighted sum of the experts' outputs.
  kSampling,
  kAllReduce,
  kAllGather,
  kHost,
};
absl::string_view OpKindName(OpKind kind);

// Where in a layer or around the stack an op stands.
enum class Part : uint8_t {
  kEmbedding,
  kEmbeddingAllReduce,
  kInputNorm,  // The first layer's: there is no residual to add yet.
  kAttentionNorm,
  kAttentionQuantize,
  kQkvProj,
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
  kKvQuantize,
  kKvExpand,
  kAbsorbQuery,
  kAttention,
  kAbsorbValue,
  kOutputQuantize,
  kOutputProj,
  kAttentionAllReduce,
  kAttentionResidual,
  kFeedForwardNorm,
  kFeedForwardQuantize,
  kUpProj,  // Gate and up in one GEMM where gated.
  kActivation,
  kDownQuantize,
  kDownProj,
  kRouter,
  kTopK,
  kExpertUp,
  kExpertActivation,
  kExpertDownQuantize,
  kExpertDown,
  kCombine,
  kSharedUp,
  kSharedActivation,
  kSharedDownQuantize,
  kSharedDown,
  kSharedSum,
  kParallelSum,  // Attention and feed-forward of a parallel layer.
  kFeedForwardAllReduce,
  kFeedForwardResidual,
  kFinalNorm,
  kHead,
  kLogitsAllGather,
  kSampling,
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
};

// `rows` token-expert pairs spread over experts that each hold [n, k] weights.
struct GroupedGemmShape {
  double rows = 0;
  double distinct_experts = 0;  // Expected number that see a row.
  int experts = 0;              // Held.
  int64_t n = 0;
  int64_t k = 0;
  Format input = Format::kBf16;
  Format weights = Format::kBf16;
  Format output = Format::kBf16;
  Format compute = Format::kBf16;
};

struct AttentionShape {
  RequestGroup group;
  int query_heads = 0;  // Per rank, as all heads here.
  int kv_heads = 0;
  int head_size = 0;
  int64_t window = 0;
  int64_t chunk = 0;
  bool causal = true;  // False: every new token sees the whole context.
  bool fused = true;   // False: scores are written to memory and read back.
  Format input = Format::kBf16;
  Format kv_cache = Format::kBf16;
};

// Decode: on latent vectors (absorbed). Prefill: on expanded keys and values.
struct LatentAttentionShape {
  RequestGroup group;
  LatentAttention attention;  // With the rank's query heads.
  bool fused = true;
  Format input = Format::kBf16;
  Format kv_cache = Format::kBf16;
};

// rows x columns elements.
struct ElementwiseShape {
  int64_t rows = 0;
  int64_t columns = 0;
  Format format = Format::kBf16;
};

struct CollectiveShape {
  int ranks = 1;
  LinkTier tier = LinkTier::kNvlink;
};

struct HostShape {
  int64_t requests = 0;
  int64_t prefill_tokens = 0;
};

struct Op {
  OpKind kind;
  Part part;
  int layer_kind = -1;  // Index into the graph's kinds; -1: not in a layer.
  int group = -1;       // Index into the pass's groups; -1: all of it.
  int repeat = 1;
  std::variant<GemmShape, GroupedGemmShape, AttentionShape,
               LatentAttentionShape, ElementwiseShape, CollectiveShape,
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
Op GroupedGemmOp(const GroupedGemmShape& shape, double input_rows);
// One role's group. Scores reach memory only where the shape says unfused.
Op AttentionOp(const AttentionShape& shape);
Op LatentAttentionOp(const LatentAttentionShape& shape);
// Top-k of `columns` router logits.
Op RoutingOp(const ElementwiseShape& shape);
// Sums `per_token` expert outputs of each row.
Op CombineOp(const ElementwiseShape& shape, int per_token);
// RMSNorm over rows of `columns`; with_residual: adds the residual and writes
// the sum back as well. `weight_format`: of the columns' scale vector.
Op NormOp(const ElementwiseShape& shape, bool with_residual,
          Format weight_format);
Op RopeOp(const ElementwiseShape& shape);
// `columns` outputs; gated: reads twice as many.
Op ActivationOp(const ElementwiseShape& shape, bool gated);
Op ResidualOp(const ElementwiseShape& shape);
Op AddOp(const ElementwiseShape& shape);
// From `shape.format` to `output`.
Op QuantizeOp(const ElementwiseShape& shape, Format output);
// From `input` to `shape.format`.
Op DequantizeOp(const ElementwiseShape& shape, Format input);
// Gathers `rows` rows of a table in `table` format.
Op EmbeddingOp(const ElementwiseShape& shape, Format table);
// Reads `rows` x `columns` logits and picks one of each row.
Op SamplingOp(const ElementwiseShape& shape);
// `message`: the full buffer, as in nccl-tests.
Op AllReduceOp(const CollectiveShape& shape, Bytes message);
Op AllGatherOp(const CollectiveShape& shape, Bytes message);
Op HostOp(const HostShape& shape);

// Sum over `new_tokens` of the positions each sees: causal, within a window or
// a chunk (0: none). Exact.
double CausalPairs(int64_t new_tokens, int64_t prior_tokens, int64_t window,
                   int64_t chunk = 0);

// "qkv_proj".
absl::string_view PartName(Part part);
// "layers.dense.qkv_proj", "lm_head", "layers.dense.attention[1]" (the group,
// in passes that have several).
std::string OpName(const Op& op, const ModelGraph& graph);
// "m=1 n=6144 k=4096 bf16".
std::string ShapeText(const Op& op);

}  // namespace mansard::model
