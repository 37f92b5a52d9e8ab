#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;

constexpr float kTriadScale = 3;
constexpr int64_t kWordBytes = 16;
// Of a sum that is added up on the host; what lies beyond is held against sums
// of as many bytes.
constexpr int64_t kSummedBytes = 64 << 20;

const char* Offset(const void* data, int64_t bytes) {
  return static_cast<const char*>(data) + bytes;
}
char* Offset(void* data, int64_t bytes) {
  return static_cast<char*>(data) + bytes;
}

// The first and the last number of a buffer, and some between.
template <class Check>
absl::Status AtPlaces(int64_t count, const Check& check) {
  CheckedPlaces places;
  RETURN_IF_ERROR(check(0));
  RETURN_IF_ERROR(check(count - 1));
  for (int i = 0; i < CheckedPlaces::kCount; ++i) {
    RETURN_IF_ERROR(check(places.Below(count)));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> NumberAt(Gpu& gpu, const void* from, int64_t at) {
  ASSIGN_OR_RETURN(const std::vector<double> number,
                   ReadNumbers(gpu, from, Format::kFp32, at, 1));
  return number.front();
}

absl::StatusOr<CudaWork> CopyWork(Gpu& gpu, const Case& measured) {
  const int64_t bytes = measured.bytes;
  CudaWork work;
  ASSIGN_OR_RETURN(work.sets, PlanColdSets(gpu, 2 * bytes));
  ASSIGN_OR_RETURN(void* const from,
                   HoldRandom(gpu, Format::kFp32, work.sets * bytes, 1, work));
  ASSIGN_OR_RETURN(void* const to, Hold(gpu, work.sets * bytes, work));
  work.enqueue = [&gpu, from, to, bytes](int64_t set) {
    return gpu.kernels().Copy(Offset(from, set * bytes),
                              Offset(to, set * bytes), bytes);
  };
  work.verify = [&gpu, from, to, bytes, run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(run(0));
    return AtPlaces(bytes / 4, [&](int64_t at) -> absl::Status {
      ASSIGN_OR_RETURN(const double expected, NumberAt(gpu, from, at));
      ASSIGN_OR_RETURN(const double copied, NumberAt(gpu, to, at));
      return CheckNear(absl::StrCat("copy[", at, "]"), copied, expected, 0);
    });
  };
  return work;
}

absl::StatusOr<CudaWork> TriadWork(Gpu& gpu, const Case& measured) {
  const int64_t bytes = measured.bytes;
  CudaWork work;
  ASSIGN_OR_RETURN(work.sets, PlanColdSets(gpu, 3 * bytes));
  const int64_t all = work.sets * bytes;
  ASSIGN_OR_RETURN(void* const a, HoldRandom(gpu, Format::kFp32, all, 2, work));
  ASSIGN_OR_RETURN(void* const b, HoldRandom(gpu, Format::kFp32, all, 3, work));
  ASSIGN_OR_RETURN(void* const to, Hold(gpu, all, work));
  const auto at = [bytes](void* data, int64_t set) {
    return reinterpret_cast<float*>(Offset(data, set * bytes));
  };
  work.enqueue = [&gpu, a, b, to, bytes, at](int64_t set) {
    return gpu.kernels().Triad(at(a, set), at(b, set), kTriadScale, at(to, set),
                               bytes);
  };
  work.verify = [&gpu, a, b, to, bytes, run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(run(0));
    return AtPlaces(bytes / 4, [&](int64_t i) -> absl::Status {
      ASSIGN_OR_RETURN(const double x, NumberAt(gpu, a, i));
      ASSIGN_OR_RETURN(const double y, NumberAt(gpu, b, i));
      ASSIGN_OR_RETURN(const double sum, NumberAt(gpu, to, i));
      return CheckNear(absl::StrCat("triad[", i, "]"), sum, x + kTriadScale * y,
                       1e-5);
    });
  };
  return work;
}

// A sum of the device's, of `bytes` from `from` on.
absl::StatusOr<uint32_t> DeviceSum(Gpu& gpu, const Case& measured,
                                   const void* from, int64_t bytes,
                                   uint32_t* sum) {
  RETURN_IF_ERROR(gpu.SetBytes(sum, 0, sizeof(*sum)));
  RETURN_IF_ERROR(
      gpu.kernels().Read(from, bytes, measured.blocks, measured.loads, sum));
  uint32_t read = 0;
  RETURN_IF_ERROR(gpu.Read(sum, &read, sizeof(read)));
  return read;
}

absl::Status VerifyRead(Gpu& gpu, const Case& measured, const void* from,
                        uint32_t* sum) {
  const int64_t first = std::min(measured.bytes, kSummedBytes);
  ASSIGN_OR_RETURN(const uint32_t expected, SumOfWords(gpu, from, first));
  uint32_t parts = 0;
  for (int64_t done = 0; done < measured.bytes; done += kSummedBytes) {
    ASSIGN_OR_RETURN(
        const uint32_t part,
        DeviceSum(gpu, measured, Offset(from, done),
                  std::min(kSummedBytes, measured.bytes - done), sum));
    if (done == 0 && part != expected) {
      return absl::DataLossError(absl::StrCat("the sum of the first ", first,
                                              " bytes is ", part, ", must be ",
                                              expected));
    }
    parts += part;
  }
  ASSIGN_OR_RETURN(const uint32_t whole,
                   DeviceSum(gpu, measured, from, measured.bytes, sum));
  if (whole == parts) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the sum of all bytes is ", whole,
                                          ", of their parts ", parts));
}

absl::StatusOr<CudaWork> ReadWork(Gpu& gpu, const Case& measured) {
  const int64_t bytes = measured.bytes;
  CudaWork work;
  ASSIGN_OR_RETURN(work.sets, PlanColdSets(gpu, bytes));
  ASSIGN_OR_RETURN(void* const from,
                   HoldRandom(gpu, Format::kFp32, work.sets * bytes, 4, work));
  ASSIGN_OR_RETURN(void* const room, Hold(gpu, kWordBytes, work));
  auto* const sum = static_cast<uint32_t*>(room);
  work.enqueue = [&gpu, measured, from, sum](int64_t set) {
    return gpu.kernels().Read(Offset(from, set * measured.bytes),
                              measured.bytes, measured.blocks, measured.loads,
                              sum);
  };
  work.verify = [&gpu, measured, from, sum] {
    return VerifyRead(gpu, measured, from, sum);
  };
  return work;
}

}  // namespace

absl::StatusOr<void*> Hold(Gpu& gpu, int64_t bytes, CudaWork& work) {
  ASSIGN_OR_RETURN(GpuMemory memory, GpuMemory::Make(gpu, bytes));
  work.memory.push_back(std::make_shared<GpuMemory>(std::move(memory)));
  return work.memory.back()->data();
}

absl::StatusOr<void*> HoldRandom(Gpu& gpu, Format format, int64_t bytes,
                                 uint64_t seed, CudaWork& work) {
  constexpr int64_t kFilled = 4;  // Whole words.
  const int64_t whole = (bytes + kFilled - 1) / kFilled * kFilled;
  ASSIGN_OR_RETURN(void* const data, Hold(gpu, whole, work));
  RETURN_IF_ERROR(gpu.kernels().FillRandom(format, data, whole, seed));
  return data;
}

absl::StatusOr<int64_t> PlanColdSets(Gpu& gpu, int64_t set_bytes) {
  ASSIGN_OR_RETURN(const int64_t free_bytes, gpu.FreeBytes());
  return PlanSets(set_bytes, gpu.facts().l2_bytes, free_bytes);
}

absl::StatusOr<uint32_t> SumOfWords(Gpu& gpu, const void* from, int64_t bytes) {
  std::vector<uint32_t> words(static_cast<size_t>(bytes) / 4);
  RETURN_IF_ERROR(gpu.Read(from, words.data(), bytes));
  uint32_t sum = 0;
  for (const uint32_t word : words) sum += word;
  return sum;
}

absl::StatusOr<CudaWork> MakeStreamWork(Gpu& gpu, const Case& measured) {
  if (measured.kind == CaseKind::kCopy) return CopyWork(gpu, measured);
  if (measured.kind == CaseKind::kTriad) return TriadWork(gpu, measured);
  return ReadWork(gpu, measured);
}

}  // namespace mansard::calibrate
