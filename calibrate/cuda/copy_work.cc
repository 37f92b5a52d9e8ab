#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

// Compared from the start, and as many at the end.
constexpr int64_t kComparedBytes = 1 << 20;

absl::Status Compare(const std::vector<uint8_t>& expected,
                     const std::vector<uint8_t>& copied, int64_t first) {
  const auto wrong =
      std::mismatch(expected.begin(), expected.end(), copied.begin());
  if (wrong.first == expected.end()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("byte ", first + (wrong.first - expected.begin()), " is ",
                   static_cast<int>(*wrong.second), ", must be ",
                   static_cast<int>(*wrong.first)));
}

// Both can be read through the gpu: the driver knows whose memory it is.
absl::Status CompareEnds(Gpu& gpu, const void* from, const void* to,
                         int64_t bytes) {
  const int64_t size = std::min(bytes, kComparedBytes);
  std::vector<uint8_t> expected(static_cast<size_t>(size));
  std::vector<uint8_t> copied(expected.size());
  for (const int64_t first : {int64_t{0}, bytes - size}) {
    RETURN_IF_ERROR(gpu.Read(static_cast<const char*>(from) + first,
                             expected.data(), size));
    RETURN_IF_ERROR(
        gpu.Read(static_cast<const char*>(to) + first, copied.data(), size));
    RETURN_IF_ERROR(Compare(expected, copied, first));
  }
  return absl::OkStatus();
}

// What is copied to, so that nothing of an earlier copy is left.
absl::Status Clear(Gpu& gpu, Gpu* peer, void* to, int64_t bytes,
                   bool on_device) {
  if (on_device) return gpu.SetBytes(to, 0, bytes);
  if (peer == nullptr) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(peer->MakeCurrent());
  absl::Status cleared = peer->SetBytes(to, 0, bytes);
  cleared.Update(peer->Synchronize());
  cleared.Update(gpu.MakeCurrent());
  return cleared;
}

absl::StatusOr<void*> HoldHost(Gpu& gpu, int64_t bytes, CudaWork& work) {
  ASSIGN_OR_RETURN(GpuMemory memory, GpuMemory::MakeHost(gpu, bytes));
  work.memory.push_back(std::make_shared<GpuMemory>(std::move(memory)));
  return work.memory.back()->data();
}

}  // namespace

absl::StatusOr<CudaWork> MakeCopyWork(Gpu& gpu, Gpu* peer,
                                      const Case& measured) {
  const int64_t bytes = measured.bytes;
  CudaWork work;
  ASSIGN_OR_RETURN(void* const here,
                   HoldRandom(gpu, model::Format::kFp32, bytes, 16, work));
  RETURN_IF_ERROR(gpu.Synchronize());
  void* there = nullptr;
  if (peer == nullptr) {
    ASSIGN_OR_RETURN(there, HoldHost(gpu, bytes, work));
  } else {
    RETURN_IF_ERROR(gpu.AllowPeer(*peer));
    RETURN_IF_ERROR(peer->MakeCurrent());
    absl::StatusOr<void*> held = Hold(*peer, bytes, work);
    RETURN_IF_ERROR(gpu.MakeCurrent());
    ASSIGN_OR_RETURN(there, std::move(held));
  }
  const bool inwards = measured.kind == CaseKind::kHostToDevice;
  const void* const from = inwards ? there : here;
  void* const to = inwards ? here : there;
  if (inwards) {
    // What is random here goes there first.
    RETURN_IF_ERROR(gpu.Read(here, there, bytes));
  }
  work.enqueue = [&gpu, from, to, bytes](int64_t) {
    return gpu.EnqueueCopy(from, to, bytes);
  };
  work.verify = [&gpu, peer, from, to, bytes, inwards,
                 run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(Clear(gpu, peer, to, bytes, inwards));
    RETURN_IF_ERROR(run(0));
    return CompareEnds(gpu, from, to, bytes);
  };
  return work;
}

}  // namespace mansard::calibrate
