// Attention in bf16 on mma.sync, with an online softmax: a simple kernel of our
// own. What it reaches belongs to it, not to any engine.
#pragma once

#include <cstdint>

#include "calibrate/cuda/warp.cuh"

namespace mansard::calibrate {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kAttentionWarps = kAttentionThreads / 32;
inline constexpr int kTilePositions = 64;
inline constexpr int kTileRows = 16;  // Query rows of a warp.
inline constexpr int kPrefillRows = kAttentionWarps * kTileRows;

// Two stages of keys and values.
template <int kHead>
__host__ __device__ constexpr int AttentionSharedBytes() {
  return 2 * 2 * kTilePositions * kHead * 2;
}

// Rows of kHead numbers in chunks of 16 bytes, permuted so that eight rows'
// chunks of one column lie in different banks.
template <int kHead>
__device__ inline uint4* ChunkAt(uint4* tile, int row, int chunk) {
  return tile + row * (kHead / 8) + (chunk ^ (row & 7));
}

// Loads positions [first, first + kTilePositions) that are below `end`.
// `stride`: of positions, in numbers.
template <int kHead>
__device__ inline void LoadTile(const __nv_bfloat16* from, int64_t stride,
                                int64_t first, int64_t end, uint4* tile) {
  constexpr int kChunks = kHead / 8;
  for (int i = static_cast<int>(threadIdx.x); i < kTilePositions * kChunks;
       i += kAttentionThreads) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const bool valid = first + row < end;
    const int64_t position = valid ? first + row : first;
    CopyAsync(ChunkAt<kHead>(tile, row, chunk),
              from + position * stride + chunk * 8, valid);
  }
}

// Of kTileRows query rows, what a warp holds of them. Lane l has rows l / 4 and
// l / 4 + 8.
template <int kHead>
struct QueryRows {
  Word query[kHead / 16][4];
  float output[kHead / 8][4];
  float largest[2];  // Of the scores so far, in powers of two.
  float sum[2];      // Of this lane's columns.
};

// `rows` of them are there, `stride` numbers apart.
template <int kHead>
__device__ inline void LoadQueries(const __nv_bfloat16* from, int64_t stride,
                                   int64_t rows, QueryRows<kHead>& held) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int slice = 0; slice < kHead / 16; ++slice) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t row = lane / 4 + (i % 2) * 8;
      const int column = slice * 16 + (lane % 4) * 2 + (i / 2) * 8;
      held.query[slice][i] =
          row < rows
              ? *reinterpret_cast<const Word*>(from + row * stride + column)
              : 0;
    }
  }
#pragma unroll
  for (int tile = 0; tile < kHead / 8; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) held.output[tile][i] = 0;
  }
  held.largest[0] = held.largest[1] = -INFINITY;
  held.sum[0] = held.sum[1] = 0;
}

__device__ inline Word PackBf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const Word*>(&pair);
}

// Over the four lanes of a row.
__device__ inline float RowMaximum(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ inline float RowSum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

// Scores of the rows with 16 kSteps positions from row `first` of the tile on.
template <int kHead, int kSteps>
__device__ inline void Scores(const QueryRows<kHead>& held, uint4* keys,
                              int first, float (&scores)[2 * kSteps][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[2 * step][i] = scores[2 * step + 1][i] = 0;
    }
    const int row = first + step * 16 + lane % 8 + (lane / 16) * 8;
#pragma unroll
    for (int slice = 0; slice < kHead / 16; ++slice) {
      Word loaded[4];
      LoadMatrices<false>(ChunkAt<kHead>(keys, row, slice * 2 + (lane / 8) % 2),
                          loaded);
      MultiplyBf16(held.query[slice], loaded[0], loaded[1], scores[2 * step]);
      MultiplyBf16(held.query[slice], loaded[2], loaded[3],
                   scores[2 * step + 1]);
    }
  }
}

// The positions of a tile that rows may see: row r those below visible[r].
// `first` counts in the tile, `origin` is the tile's first position.
template <int kHead, int kSteps>
__device__ inline void Attend(QueryRows<kHead>& held, uint4* keys,
                              uint4* values, int first, int64_t origin,
                              const int64_t (&visible)[2], float scale) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float scores[2 * kSteps][4];
  Scores<kHead, kSteps>(held, keys, first, scores);
  float largest[2] = {held.largest[0], held.largest[1]};
#pragma unroll
  for (int tile = 0; tile < 2 * kSteps; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t position =
          origin + first + tile * 8 + (lane % 4) * 2 + i % 2;
      scores[tile][i] =
          position < visible[i / 2] ? scores[tile][i] * scale : -INFINITY;
      largest[i / 2] = fmaxf(largest[i / 2], scores[tile][i]);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    largest[half] = RowMaximum(largest[half]);
    // A row that sees nothing yet stays at no weight.
    const float shift = largest[half] == -INFINITY ? 0 : largest[half];
    const float fade = Exp2(held.largest[half] - shift);
    held.largest[half] = largest[half];
    held.sum[half] *= fade;
#pragma unroll
    for (int tile = 0; tile < kHead / 8; ++tile) {
      held.output[tile][2 * half] *= fade;
      held.output[tile][2 * half + 1] *= fade;
    }
#pragma unroll
    for (int tile = 0; tile < 2 * kSteps; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile][i] = Exp2(scores[tile][i] - shift);
        held.sum[half] += scores[tile][i];
      }
    }
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const Word weights[4] = {
        PackBf16(scores[2 * step][0], scores[2 * step][1]),
        PackBf16(scores[2 * step][2], scores[2 * step][3]),
        PackBf16(scores[2 * step + 1][0], scores[2 * step + 1][1]),
        PackBf16(scores[2 * step + 1][2], scores[2 * step + 1][3])};
    const int row = first + step * 16 + lane % 8 + (lane / 8) % 2 * 8;
#pragma unroll
    for (int tile = 0; tile < kHead / 8; tile += 2) {
      Word loaded[4];
      LoadMatrices<true>(ChunkAt<kHead>(values, row, tile + lane / 16), loaded);
      MultiplyBf16(weights, loaded[0], loaded[1], held.output[tile]);
      MultiplyBf16(weights, loaded[2], loaded[3], held.output[tile + 1]);
    }
  }
}

// Calls `attend(keys, values, first position)` for the tiles of [begin, end);
// the next one is on its way meanwhile. All threads of the block.
template <int kHead, class Attending>
__device__ inline void ForEachTile(const __nv_bfloat16* keys,
                                   const __nv_bfloat16* values, int64_t stride,
                                   int64_t begin, int64_t end,
                                   const Attending& attend) {
  constexpr int kTileChunks = kTilePositions * kHead / 8;
  uint4* const shared = DynamicShared();
  const auto load = [&](int64_t first, int stage) {
    uint4* const to = shared + stage * 2 * kTileChunks;
    LoadTile<kHead>(keys, stride, first, end, to);
    LoadTile<kHead>(values, stride, first, end, to + kTileChunks);
  };
  load(begin, 0);
  CommitCopies();
  int stage = 0;
  for (int64_t first = begin; first < end; first += kTilePositions) {
    if (first + kTilePositions < end) load(first + kTilePositions, 1 - stage);
    CommitCopies();
    WaitForCopies<1>();
    __syncthreads();
    uint4* const tile = shared + stage * 2 * kTileChunks;
    attend(tile, tile + kTileChunks, first);
    __syncthreads();
    stage = 1 - stage;
  }
  WaitForCopies<0>();
}

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
