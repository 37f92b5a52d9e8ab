#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr int64_t kBlockThreads = 512;
constexpr int64_t kLoadBytes = 16;
constexpr double kReadBytes = 4e9;  // Of a launch on L2: about a millisecond.
constexpr uint32_t kSharedWords = 8192;  // Of 32 bits, which count up.
constexpr int64_t kLineBytes = 128;
constexpr int64_t kLineWords = kLineBytes / 4;
constexpr int64_t kNearBytes = 64 << 10;
// Loads of a launch: where they are near, the list has to come near first.
constexpr int kNearLoads = 1 << 16;
constexpr int kFarLoads = 1 << 12;
constexpr int64_t kSubmitted = 1000;  // Empty kernels of a sample.
constexpr int64_t kGraphs = 20;       // At least.

absl::Status ExpectSum(Gpu& gpu, const uint32_t* sum, uint32_t expected) {
  uint32_t read = 0;
  RETURN_IF_ERROR(gpu.Read(sum, &read, sizeof(read)));
  if (read == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the sum is ", read, ", must be ", expected));
}

absl::StatusOr<CudaWork> SharedWork(Gpu& gpu, const Case& measured) {
  const int64_t step_bytes =
      gpu.kernels().CacheBlocks() * kBlockThreads * kLoadBytes;
  // Whole rounds through shared memory, which take four steps.
  const int64_t rounds = std::max<int64_t>(measured.bytes / step_bytes / 4, 1);
  CudaWork work;
  ASSIGN_OR_RETURN(void* const room, Hold(gpu, kLoadBytes, work));
  auto* const sum = static_cast<uint32_t*>(room);
  work.runs = static_cast<double>(4 * rounds * step_bytes) /
              static_cast<double>(measured.bytes);
  work.enqueue = [&gpu, rounds, sum](int64_t) {
    return gpu.kernels().SharedRead(static_cast<int>(4 * rounds), sum);
  };
  work.verify = [&gpu, rounds, sum, run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(sum, 0, sizeof(*sum)));
    RETURN_IF_ERROR(run(0));
    const uint32_t round = kSharedWords * (kSharedWords - 1) / 2;
    return ExpectSum(gpu, sum,
                     round * static_cast<uint32_t>(rounds) *
                         static_cast<uint32_t>(gpu.kernels().CacheBlocks()));
  };
  return work;
}

absl::StatusOr<CudaWork> L2Work(Gpu& gpu, const Case& measured) {
  const double round = static_cast<double>(measured.bytes) *
                       static_cast<double>(gpu.kernels().CacheBlocks());
  const int passes = static_cast<int>(std::max(kReadBytes / round, 1.0));
  CudaWork work;
  ASSIGN_OR_RETURN(void* const from, HoldRandom(gpu, model::Format::kFp32,
                                                measured.bytes, 5, work));
  ASSIGN_OR_RETURN(void* const room, Hold(gpu, kLoadBytes, work));
  auto* const sum = static_cast<uint32_t*>(room);
  // A run moves the case's bytes once.
  work.runs = passes * static_cast<double>(gpu.kernels().CacheBlocks());
  work.enqueue = [&gpu, measured, from, passes, sum](int64_t) {
    return gpu.kernels().CacheRead(from, measured.bytes, passes, sum);
  };
  work.verify = [&gpu, measured, from, passes, sum,
                 run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(sum, 0, sizeof(*sum)));
    RETURN_IF_ERROR(run(0));
    ASSIGN_OR_RETURN(const uint32_t once,
                     SumOfWords(gpu, from, measured.bytes));
    return ExpectSum(gpu, sum,
                     once * static_cast<uint32_t>(passes) *
                         static_cast<uint32_t>(gpu.kernels().CacheBlocks()));
  };
  return work;
}

// One cycle through all entries, in no order: what comes next is far away.
std::vector<uint32_t> RandomCycle(int64_t entries) {
  std::vector<uint32_t> order(static_cast<size_t>(entries));
  std::iota(order.begin(), order.end(), 0u);
  CheckedPlaces places;
  for (int64_t i = entries - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)],
              order[static_cast<size_t>(places.Below(i))]);
  }
  return order;
}

}  // namespace

absl::StatusOr<CudaWork> MakeCacheWork(Gpu& gpu, const Case& measured) {
  return measured.kind == CaseKind::kSharedRead ? SharedWork(gpu, measured)
                                                : L2Work(gpu, measured);
}

absl::StatusOr<CudaWork> MakeChaseWork(Gpu& gpu, const Case& measured) {
  const int64_t entries = std::max<int64_t>(measured.bytes / kLineBytes, 2);
  const int loads = measured.bytes <= kNearBytes ? kNearLoads : kFarLoads;
  // Sattolo's shuffle leaves one cycle.
  const auto next =
      std::make_shared<const std::vector<uint32_t>>(RandomCycle(entries));
  CudaWork work;
  ASSIGN_OR_RETURN(void* const list, Hold(gpu, entries * kLineBytes, work));
  ASSIGN_OR_RETURN(void* const room, Hold(gpu, kLineBytes, work));
  auto* const at = static_cast<uint32_t*>(room);
  {
    std::vector<uint32_t> lines(static_cast<size_t>(entries * kLineWords), 0);
    for (size_t i = 0; i < next->size(); ++i) {
      lines[i * static_cast<size_t>(kLineWords)] = (*next)[i];
    }
    RETURN_IF_ERROR(gpu.Write(lines.data(), list, entries * kLineBytes));
  }
  RETURN_IF_ERROR(gpu.SetBytes(at, 0, sizeof(*at)));
  work.runs = loads;
  // Each launch goes on where the last one stood, so that a long list is never
  // known.
  work.enqueue = [&gpu, list, loads, at](int64_t) {
    return gpu.kernels().Chase(static_cast<const uint32_t*>(list), loads, at);
  };
  work.verify = [&gpu, next, loads, at, run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(at, 0, sizeof(*at)));
    RETURN_IF_ERROR(run(0));
    uint32_t expected = 0;
    for (int load = 0; load < loads; ++load) expected = (*next)[expected];
    uint32_t read = 0;
    RETURN_IF_ERROR(gpu.Read(at, &read, sizeof(read)));
    if (read == expected) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the chain of ", loads,
                                            " loads ends at ", read,
                                            ", must at ", expected));
  };
  return work;
}

absl::StatusOr<CudaWork> MakeLaunchWork(Gpu& gpu, const Case& measured) {
  CudaWork work;
  if (measured.kind == CaseKind::kLaunch) {
    work.submitted = kSubmitted;
    work.enqueue = [&gpu](int64_t) { return gpu.kernels().Empty(); };
  } else {
    ASSIGN_OR_RETURN(
        std::unique_ptr<GpuGraph> graph,
        gpu.Capture([&gpu, nodes = measured.nodes]() -> absl::Status {
          for (int64_t i = 0; i < nodes; ++i) {
            RETURN_IF_ERROR(gpu.kernels().Empty());
          }
          return absl::OkStatus();
        }));
    work.submitted = std::max<int64_t>(kSubmitted / measured.nodes, kGraphs);
    work.enqueue = [&gpu, graph = std::shared_ptr<GpuGraph>(std::move(graph))](
                       int64_t) { return gpu.Enqueue(*graph); };
  }
  work.verify = [run = work.enqueue] { return run(0); };
  return work;
}

}  // namespace mansard::calibrate
