// What attention in bf16 on mma.sync is made of: tiles of keys and values in
// shared memory, rows of queries in registers, an online softmax.
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

}  // namespace mansard::calibrate
