// Runs device code on the host, thread by thread, for tests on machines without
// a device: what warp.cuh asks of the hardware, by the layouts that the
// instruction set defines. Threads are fibers that change at barriers alone, so
// that a missing barrier shows; copies into shared memory come when they are
// waited for, and shared memory starts as NaN.
#pragma once

#include <ucontext.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#undef __shared__
#define __shared__ static
#define __launch_bounds__(threads)

namespace mansard::calibrate {

struct AsyncCopy {
  void* to;
  const void* from;
  bool valid;
};

struct EmulatedThread {
  dim3 index;
  ucontext_t context;
  std::vector<char> stack;
  bool done = false;
  std::vector<std::vector<AsyncCopy>> groups = {{}};
};

struct EmulatedBarrier {
  int arrived = 0;
  int generation = 0;
};

// What a lane shows the others of its warp.
using Shown = std::array<uint64_t, 4>;

struct Emulator {
  dim3 grid;
  dim3 block_size;
  dim3 block;
  std::vector<std::unique_ptr<EmulatedThread>> threads;
  EmulatedThread* current = nullptr;
  ucontext_t scheduler;
  EmulatedBarrier all;
  std::vector<EmulatedBarrier> warps;
  std::vector<std::array<Shown, 32>> shown;
  std::vector<uint4> dynamic_shared;
  const std::function<void()>* body = nullptr;
};
inline Emulator& TheEmulator() {
  static Emulator& emulator = *new Emulator;
  return emulator;
}

inline void PassBarrier(EmulatedBarrier& barrier, int expected) {
  Emulator& emulator = TheEmulator();
  if (++barrier.arrived == expected) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  for (const int generation = barrier.generation;
       barrier.generation == generation;) {
    swapcontext(&emulator.current->context, &emulator.scheduler);
  }
}
inline size_t CurrentWarp() { return TheEmulator().current->index.x / 32; }
inline int CurrentLane() {
  return static_cast<int>(TheEmulator().current->index.x % 32);
}
inline void PassWarpBarrier() {
  PassBarrier(TheEmulator().warps[CurrentWarp()], 32);
}
// What all lanes of the warp show.
inline std::array<Shown, 32> Exchange(const Shown& own) {
  std::array<Shown, 32>& shown = TheEmulator().shown[CurrentWarp()];
  shown[static_cast<size_t>(CurrentLane())] = own;
  PassWarpBarrier();
  const std::array<Shown, 32> seen = shown;
  PassWarpBarrier();
  return seen;
}

inline void RunThread() {
  Emulator& emulator = TheEmulator();
  (*emulator.body)();
  emulator.current->done = true;
  swapcontext(&emulator.current->context, &emulator.scheduler);
}

// All blocks, one after the other. `threads`: below 32, or whole warps.
inline void RunGrid(const dim3& grid, int threads, int shared_bytes,
                    const std::function<void()>& body) {
  constexpr size_t kStackBytes = 256 << 10;
  Emulator& emulator = TheEmulator();
  emulator.grid = grid;
  emulator.block_size = dim3(static_cast<unsigned>(threads));
  emulator.body = &body;
  for (unsigned b = 0; b < grid.x * grid.y * grid.z; ++b) {
    emulator.block = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
    emulator.dynamic_shared.resize(static_cast<size_t>(shared_bytes) / 16);
    std::memset(emulator.dynamic_shared.data(), 0xff,
                static_cast<size_t>(shared_bytes));
    emulator.all = {};
    emulator.warps.assign(static_cast<size_t>(threads + 31) / 32, {});
    emulator.shown.resize(emulator.warps.size());
    emulator.threads.clear();
    for (int t = 0; t < threads; ++t) {
      auto thread = std::make_unique<EmulatedThread>();
      thread->index = dim3(static_cast<unsigned>(t), 0, 0);
      thread->stack.resize(kStackBytes);
      getcontext(&thread->context);
      thread->context.uc_stack.ss_sp = thread->stack.data();
      thread->context.uc_stack.ss_size = kStackBytes;
      thread->context.uc_link = nullptr;
      makecontext(&thread->context, &RunThread, 0);
      emulator.threads.push_back(std::move(thread));
    }
    for (bool running = true; running;) {
      running = false;
      for (const auto& thread : emulator.threads) {
        if (thread->done) continue;
        running = true;
        emulator.current = thread.get();
        swapcontext(&emulator.scheduler, &thread->context);
      }
    }
  }
}

inline uint4* DynamicShared() { return TheEmulator().dynamic_shared.data(); }

inline void CopyAsync(void* to, const void* from, bool valid) {
  TheEmulator().current->groups.back().push_back({to, from, valid});
}
inline void CommitCopies() { TheEmulator().current->groups.emplace_back(); }
template <int kPending>
inline void WaitForCopies() {
  auto& groups = TheEmulator().current->groups;
  // The last one is not committed.
  while (groups.size() > kPending + 1) {
    for (const AsyncCopy& copy : groups.front()) {
      if (copy.valid) {
        std::memcpy(copy.to, copy.from, 16);
      } else {
        std::memset(copy.to, 0, 16);
      }
    }
    groups.erase(groups.begin());
  }
}

inline float NumberOf(uint64_t word, int half) {
  const uint32_t bits = static_cast<uint32_t>(word >> (16 * half)) << 16;
  float number;
  std::memcpy(&number, &bits, 4);
  return number;
}

template <bool kTransposed>
inline void LoadMatrices(const void* row, Word (&loaded)[4]) {
  const auto rows = Exchange({reinterpret_cast<uint64_t>(row)});
  const int lane = CurrentLane();
  for (int i = 0; i < 4; ++i) {
    Word word = 0;
    for (int half = 0; half < 2; ++half) {
      const int pair = lane % 4 * 2 + half;
      const int from = kTransposed ? pair : lane / 4;
      const int column = kTransposed ? lane / 4 : pair;
      const auto* numbers = reinterpret_cast<const uint16_t*>(
          rows[static_cast<size_t>(8 * i + from)][0]);
      word |= static_cast<Word>(numbers[column]) << (16 * half);
    }
    loaded[i] = word;
  }
}

inline void MultiplyBf16(const Word (&a)[4], Word b0, Word b1,
                         float (&sum)[4]) {
  const auto pack = [](Word low, Word high) {
    return static_cast<uint64_t>(high) << 32 | low;
  };
  const auto shown =
      Exchange({pack(a[0], a[1]), pack(a[2], a[3]), pack(b0, b1), 0});
  const int lane = CurrentLane();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8;
    const int column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const auto& of_row = shown[static_cast<size_t>(row % 8 * 4 + k % 8 / 2)];
      const auto& of_column =
          shown[static_cast<size_t>(column * 4 + k % 8 / 2)];
      const uint64_t x = of_row[static_cast<size_t>(k / 8)] >> (row / 8 * 32);
      const uint64_t y = of_column[2] >> (k / 8 * 32);
      sum[i] += NumberOf(x, k % 2) * NumberOf(y, k % 2);
    }
  }
}

inline float Exp2(float x) { return std::exp2(x); }

}  // namespace mansard::calibrate

// What nvcc declares in the global namespace.
inline void __syncthreads() {
  auto& emulator = mansard::calibrate::TheEmulator();
  mansard::calibrate::PassBarrier(emulator.all,
                                  static_cast<int>(emulator.threads.size()));
}
template <class Value>
Value EmulatedShuffle(Value value, int from) {
  mansard::calibrate::Shown own = {};
  std::memcpy(&own[0], &value, sizeof(value));
  const auto shown = mansard::calibrate::Exchange(own);
  if (from >= 0 && from < 32) {
    std::memcpy(&value, &shown[static_cast<size_t>(from)][0], sizeof(value));
  }
  return value;
}
template <class Value>
Value __shfl_xor_sync(unsigned, Value value, int lanes) {
  return EmulatedShuffle(value, mansard::calibrate::CurrentLane() ^ lanes);
}
template <class Value>
Value __shfl_down_sync(unsigned, Value value, int lanes) {
  return EmulatedShuffle(value, mansard::calibrate::CurrentLane() + lanes);
}
inline void atomicAdd(uint32_t* to, uint32_t value) { *to += value; }
template <class Value>
Value __ldcs(const Value* from) {
  return *from;
}
template <class Value>
Value __ldcg(const Value* from) {
  return *from;
}
template <class Value>
void __stcs(Value* to, const Value& value) {
  *to = value;
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline int __float2int_rn(float x) {
  return static_cast<int>(std::nearbyint(x));
}
#define threadIdx (::mansard::calibrate::TheEmulator().current->index)
#define blockIdx (::mansard::calibrate::TheEmulator().block)
#define blockDim (::mansard::calibrate::TheEmulator().block_size)
#define gridDim (::mansard::calibrate::TheEmulator().grid)
