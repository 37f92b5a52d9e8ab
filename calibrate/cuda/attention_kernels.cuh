// Attention in bf16 on mma.sync: simple kernels of our own. What they reach
// belongs to them, not to any engine.
#pragma once

#include <cstdint>

#include "calibrate/cuda/attention_tiles.cuh"

namespace mansard::calibrate {

// Causal attention of prompts; queries and outputs [request][token][query
// head][kHead], keys and values the same over KV heads. A block takes
// kPrefillRows tokens of one query head. Grid: tiles of tokens, query heads,
// requests. `scale`: of scores, times log2(e).
template <int kHead>
__global__ void __launch_bounds__(kAttentionThreads)
    PrefillKernel(const __nv_bfloat16* queries, const __nv_bfloat16* keys,
                  const __nv_bfloat16* values, __nv_bfloat16* outputs,
                  int64_t tokens, int query_heads, int kv_heads, float scale) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int head = static_cast<int>(blockIdx.y);
  const int64_t request = blockIdx.z;
  // The longest first.
  const int64_t first_row = int64_t{gridDim.x - 1 - blockIdx.x} * kPrefillRows;
  const int64_t row = first_row + warp * kTileRows;
  const int64_t query_stride = int64_t{query_heads} * kHead;
  const int64_t query_offset =
      (request * tokens + row) * query_stride + int64_t{head} * kHead;
  QueryRows<kHead> held;
  LoadQueries<kHead>(queries + query_offset, query_stride, tokens - row, held);
  const int64_t stride = int64_t{kv_heads} * kHead;
  const int64_t offset = request * tokens * stride +
                         int64_t{head / (query_heads / kv_heads)} * kHead;
  const int64_t end =
      first_row + kPrefillRows < tokens ? first_row + kPrefillRows : tokens;
  int64_t visible[2];
  for (int half = 0; half < 2; ++half) {
    const int64_t seen = row + lane / 4 + half * 8 + 1;
    visible[half] = seen < end ? seen : end;
  }
  ForEachTile<kHead>(keys + offset, values + offset, stride, 0, end,
                     [&](uint4* k, uint4* v, int64_t first) {
                       Attend<kHead, kTilePositions / 16>(held, k, v, 0, first,
                                                          visible, scale);
                     });
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float inverse = 1 / RowSum(held.sum[half]);
    const int64_t own = lane / 4 + half * 8;
    if (row + own >= tokens) continue;
    __nv_bfloat16* const to =
        outputs + query_offset + own * query_stride + (lane % 4) * 2;
#pragma unroll
    for (int tile = 0; tile < kHead / 8; ++tile) {
      *reinterpret_cast<Word*>(to + tile * 8) =
          PackBf16(held.output[tile][2 * half] * inverse,
                   held.output[tile][2 * half + 1] * inverse);
    }
  }
}

// Of the warps of a block that attended to other positions of the same rows.
template <int kHead>
struct WarpParts {
  float output[kAttentionWarps][kTileRows][kHead];
  float largest[kAttentionWarps][kTileRows];
  float sum[kAttentionWarps][kTileRows];
};

template <int kHead>
__device__ inline void StoreParts(const QueryRows<kHead>& held,
                                  WarpParts<kHead>& parts) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + half * 8;
    const float sum = RowSum(held.sum[half]);
    if (lane % 4 == 0) {
      parts.largest[warp][row] = held.largest[half];
      parts.sum[warp][row] = sum;
    }
#pragma unroll
    for (int tile = 0; tile < kHead / 8; ++tile) {
      float* const to = &parts.output[warp][row][tile * 8 + (lane % 4) * 2];
      to[0] = held.output[tile][2 * half];
      to[1] = held.output[tile][2 * half + 1];
    }
  }
}

// What one part of a cache leaves for CombineKernel, of a request and query
// head: unnormalised outputs, and {largest, sum}.
struct DecodeParts {
  float* outputs;   // [request][query head][part][kHead].
  float2* weights;  // [request][query head][part].
};

// One new token a request over `context` positions; queries and outputs
// [request][query head][kHead], keys and values [request][position][KV
// head][kHead]. Up to kTileRows query heads of a KV head. A block takes
// `part_positions` positions, a whole number of tiles. Grid: parts, KV heads,
// requests. With one part the outputs are written, otherwise the parts.
template <int kHead>
__global__ void __launch_bounds__(kAttentionThreads)
    DecodeKernel(const __nv_bfloat16* queries, const __nv_bfloat16* keys,
                 const __nv_bfloat16* values, __nv_bfloat16* outputs,
                 DecodeParts parts, int64_t context, int64_t part_positions,
                 int query_heads, int kv_heads, float scale) {
  static_assert(sizeof(WarpParts<kHead>) <= AttentionSharedBytes<kHead>());
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int group = query_heads / kv_heads;
  const int part = static_cast<int>(blockIdx.x);
  const int64_t request = blockIdx.z;
  const int64_t first_head =
      request * query_heads + int64_t{blockIdx.y} * group;
  QueryRows<kHead> held;
  LoadQueries<kHead>(queries + first_head * kHead, kHead, group, held);
  const int64_t stride = int64_t{kv_heads} * kHead;
  const int64_t offset =
      request * context * stride + int64_t{blockIdx.y} * kHead;
  const int64_t begin = part * part_positions;
  const int64_t end =
      begin + part_positions < context ? begin + part_positions : context;
  const int64_t visible[2] = {end, end};
  ForEachTile<kHead>(keys + offset, values + offset, stride, begin, end,
                     [&](uint4* k, uint4* v, int64_t first) {
                       Attend<kHead, 1>(held, k, v, warp * 16, first, visible,
                                        scale);
                     });
  auto& warps = *reinterpret_cast<WarpParts<kHead>*>(DynamicShared());
  StoreParts<kHead>(held, warps);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < group * kHead;
       i += kAttentionThreads) {
    const int row = i / kHead;
    const int column = i % kHead;
    // Warp 0 has seen the first position.
    float largest = warps.largest[0][row];
    for (int w = 1; w < kAttentionWarps; ++w) {
      largest = fmaxf(largest, warps.largest[w][row]);
    }
    float sum = 0;
    float output = 0;
    for (int w = 0; w < kAttentionWarps; ++w) {
      const float weight = Exp2(warps.largest[w][row] - largest);
      sum += warps.sum[w][row] * weight;
      output += warps.output[w][row][column] * weight;
    }
    const int64_t head = first_head + row;
    if (gridDim.x == 1) {
      outputs[head * kHead + column] = __float2bfloat16(output / sum);
      continue;
    }
    const int64_t slot = head * gridDim.x + part;
    parts.outputs[slot * kHead + column] = output;
    if (column == 0) parts.weights[slot] = make_float2(largest, sum);
  }
}

// Adds up the parts. A block of kHead threads for each request's query head.
template <int kHead>
__global__ void CombineKernel(DecodeParts parts, int count,
                              __nv_bfloat16* outputs) {
  const int64_t head = blockIdx.x;
  const int column = static_cast<int>(threadIdx.x);
  float largest = -INFINITY;
  for (int part = 0; part < count; ++part) {
    largest = fmaxf(largest, parts.weights[head * count + part].x);
  }
  float sum = 0;
  float output = 0;
  for (int part = 0; part < count; ++part) {
    const int64_t slot = head * count + part;
    const float weight = Exp2(parts.weights[slot].x - largest);
    sum += parts.weights[slot].y * weight;
    output += parts.outputs[slot * kHead + column] * weight;
  }
  outputs[head * kHead + column] = __float2bfloat16(output / sum);
}

}  // namespace mansard::calibrate
