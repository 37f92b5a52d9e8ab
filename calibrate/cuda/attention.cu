#include <cmath>

#include "calibrate/cuda/attention_kernels.cuh"
#include "calibrate/cuda/device_code.h"

namespace mansard::calibrate::device_code {
namespace {

constexpr double kLog2E = 1.4426950408889634;

using Bf16 = __nv_bfloat16;

float ScaleOf(int head_size) {
  return static_cast<float>(kLog2E / std::sqrt(head_size));
}

bool IsValid(const Attention& shape) {
  return shape.requests > 0 && shape.requests <= 65535 && shape.tokens > 0 &&
         shape.kv_heads > 0 && shape.query_heads % shape.kv_heads == 0 &&
         shape.query_heads / shape.kv_heads <= kTileRows &&
         shape.query_heads <= 65535;
}

// More than 48 KiB have to be asked for, once for each device.
template <class Kernel>
cudaError_t AllowShared(Kernel* kernel, int bytes) {
  return cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <int kHead>
cudaError_t PrefillAs(const Place& place, const Attention& shape,
                      const void* queries, const void* keys, const void* values,
                      void* outputs) {
  constexpr int kShared = AttentionSharedBytes<kHead>();
  const cudaError_t allowed = AllowShared(&PrefillKernel<kHead>, kShared);
  if (allowed != cudaSuccess) return allowed;
  const int64_t tiles = (shape.tokens + kPrefillRows - 1) / kPrefillRows;
  const dim3 grid(static_cast<unsigned>(tiles),
                  static_cast<unsigned>(shape.query_heads),
                  static_cast<unsigned>(shape.requests));
  PrefillKernel<kHead><<<grid, kAttentionThreads, kShared, place.stream>>>(
      static_cast<const Bf16*>(queries), static_cast<const Bf16*>(keys),
      static_cast<const Bf16*>(values), static_cast<Bf16*>(outputs),
      shape.tokens, shape.query_heads, shape.kv_heads, ScaleOf(kHead));
  return cudaGetLastError();
}

template <int kHead>
cudaError_t DecodeAs(const Place& place, const Attention& shape, int64_t parts,
                     const void* queries, const void* keys, const void* values,
                     void* outputs, float* room) {
  constexpr int kShared = AttentionSharedBytes<kHead>();
  const cudaError_t allowed = AllowShared(&DecodeKernel<kHead>, kShared);
  if (allowed != cudaSuccess) return allowed;
  const int64_t tiles = (shape.tokens + kTilePositions - 1) / kTilePositions;
  const int64_t part_tiles = (tiles + parts - 1) / parts;
  // None is empty.
  const int64_t used = (tiles + part_tiles - 1) / part_tiles;
  const int64_t heads = shape.requests * shape.query_heads;
  const DecodeParts split{
      room, reinterpret_cast<float2*>(room + heads * used * kHead)};
  const dim3 grid(static_cast<unsigned>(used),
                  static_cast<unsigned>(shape.kv_heads),
                  static_cast<unsigned>(shape.requests));
  DecodeKernel<kHead><<<grid, kAttentionThreads, kShared, place.stream>>>(
      static_cast<const Bf16*>(queries), static_cast<const Bf16*>(keys),
      static_cast<const Bf16*>(values), static_cast<Bf16*>(outputs), split,
      shape.tokens, part_tiles * kTilePositions, shape.query_heads,
      shape.kv_heads, ScaleOf(kHead));
  const cudaError_t launched = cudaGetLastError();
  if (launched != cudaSuccess || used == 1) return launched;
  CombineKernel<kHead>
      <<<static_cast<unsigned>(heads), kHead, 0, place.stream>>>(
          split, static_cast<int>(used), static_cast<Bf16*>(outputs));
  return cudaGetLastError();
}

}  // namespace

cudaError_t Prefill(const Place& place, const Attention& shape,
                    const void* queries, const void* keys, const void* values,
                    void* outputs) {
  if (!IsValid(shape)) return cudaErrorInvalidValue;
  if (shape.head_size == 64) {
    return PrefillAs<64>(place, shape, queries, keys, values, outputs);
  }
  if (shape.head_size == 128) {
    return PrefillAs<128>(place, shape, queries, keys, values, outputs);
  }
  return cudaErrorInvalidValue;
}

cudaError_t Decode(const Place& place, const Attention& shape, int64_t parts,
                   const void* queries, const void* keys, const void* values,
                   void* outputs, float* room) {
  if (!IsValid(shape) || parts < 1 || (parts > 1 && room == nullptr)) {
    return cudaErrorInvalidValue;
  }
  if (shape.head_size == 64) {
    return DecodeAs<64>(place, shape, parts, queries, keys, values, outputs,
                        room);
  }
  if (shape.head_size == 128) {
    return DecodeAs<128>(place, shape, parts, queries, keys, values, outputs,
                         room);
  }
  return cudaErrorInvalidValue;
}

}  // namespace mansard::calibrate::device_code
