#include "calibrate/cpu/cpu_backend.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/cpu/prepared_cases.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr double kLeastSampleSeconds = 200e-6;
constexpr double kMostRepeats = 1e6;
// Caches do not forget in order, and a virtual machine's may be larger than it
// says: four times its size would still find some of it there.
constexpr int64_t kPoolCaches = 12;
constexpr int64_t kActivationCaches = 4;
constexpr double kElementBytes = 4;

double SecondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class CpuCase : public PreparedCase {
 public:
  CpuCase(CpuWork work, const Loops& loops)
      : work_(std::move(work)), loops_(loops) {}

  absl::Status Verify() override {
    RETURN_IF_ERROR(work_.verify());
    // So many repeats that the timer's grain does not show.
    const double once = std::max(TimedOnce(), 1e-9);
    repeats_ = static_cast<int64_t>(
        std::clamp(std::ceil(kLeastSampleSeconds / once), 1.0, kMostRepeats));
    return absl::OkStatus();
  }

  absl::StatusOr<Sample> Run() override {
    DisturbanceWatch watch;
    double seconds = 0;
    if (work_.before != nullptr) {
      for (int64_t i = 0; i < repeats_; ++i) seconds += TimedOnce();
    } else {
      const double start = SecondsNow();
      for (int64_t i = 0; i < repeats_; ++i) work_.once();
      seconds = SecondsNow() - start;
    }
    Sample sample{seconds / static_cast<double>(repeats_)};
    sample.clock_hertz = ProbeClock(loops_);
    sample.disturbance = watch.Check();
    return sample;
  }

 private:
  double TimedOnce() const {
    if (work_.before != nullptr) work_.before();
    const double start = SecondsNow();
    work_.once();
    return SecondsNow() - start;
  }

  const CpuWork work_;
  const Loops& loops_;
  int64_t repeats_ = 1;
};

DeviceIdentity IdentityOf(const Machine& machine, const Loops& loops,
                          const absl::StatusOr<CpuOps>& ops) {
  DeviceIdentity identity{
      .backend = "cpu",
      .name = machine.processor,
      .id_hash = machine.id_hash,
      .software = ops.ok() ? ops->blas().description()
                           : std::string(ops.status().message()),
      .clock_hertz = ProbeClock(loops),
      .memory_bytes = machine.memory_bytes,
      .last_level_cache_bytes = static_cast<double>(machine.cache_bytes)};
  identity.notes["cores"] = absl::StrCat(machine.cores);
  identity.notes["instruction_set"] = loops.instruction_set;
  identity.notes["kernel"] = machine.kernel;
  identity.notes["compiler"] = __VERSION__;
  return identity;
}

absl::StatusOr<CpuOps> LoadOps(const Loops& loops) {
  ASSIGN_OR_RETURN(OpenBlas blas, OpenBlas::Load());
  return CpuOps(loops, std::move(blas));
}

absl::Status CheckMemory(const Case& measured) {
  const double needed = 3 * static_cast<double>(measured.bytes);
  const double available = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) *
                           static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("needs %.0f MB of memory, %.0f MB are free",
                      needed * 1e-6, available * 1e-6));
}

}  // namespace

CpuBackend::CpuBackend()
    : machine_(ReadMachine()),
      loops_(BestLoops()),
      ops_(LoadOps(loops_)),
      identity_(IdentityOf(machine_, loops_, ops_)) {}

absl::StatusOr<CpuOps*> CpuBackend::ops() {
  if (!ops_.ok()) return ops_.status();
  return &*ops_;
}

ColdPool& CpuBackend::pool() {
  if (pool_ == nullptr) {
    pool_ = std::make_unique<ColdPool>(
        static_cast<size_t>(kPoolCaches * machine_.cache_bytes) / sizeof(float),
        PageSize::kLarge);
  }
  return *pool_;
}

ColdPool& CpuBackend::activation_pool() {
  if (activation_pool_ == nullptr) {
    activation_pool_ = std::make_unique<ColdPool>(
        static_cast<size_t>(kActivationCaches * machine_.cache_bytes) /
            sizeof(float),
        PageSize::kUsual);
  }
  return *activation_pool_;
}

absl::StatusOr<std::unique_ptr<PreparedCase>> CpuBackend::Prepare(
    const Case& measured) {
  if (measured.format != model::Format::kFp32) {
    return absl::UnimplementedError("the host measures fp32 alone");
  }
  RETURN_IF_ERROR(CheckMemory(measured));
  switch (measured.kind) {
    case CaseKind::kCopy:
    case CaseKind::kTriad:
    case CaseKind::kRead:
      return std::make_unique<CpuCase>(StreamWork(measured, loops_), loops_);
    case CaseKind::kMultiplyAdd:
      return std::make_unique<CpuCase>(MultiplyAddWork(loops_), loops_);
    case CaseKind::kGemm:
    case CaseKind::kNorm:
    case CaseKind::kActivation:
    case CaseKind::kResidual:
    case CaseKind::kDecodeAttention:
    case CaseKind::kPrefillAttention:
      break;
    case CaseKind::kCacheRead:
    case CaseKind::kSharedRead:
    case CaseKind::kPointerChase:
    case CaseKind::kTensorMultiplyAdd:
    case CaseKind::kExponential:
    case CaseKind::kLaunch:
    case CaseKind::kGraphLaunch:
    case CaseKind::kQuantize:
    case CaseKind::kHostToDevice:
    case CaseKind::kDeviceToHost:
    case CaseKind::kPeerCopy:
    case CaseKind::kAllReduce:
    case CaseKind::kAllGather:
    case CaseKind::kReduceScatter:
    case CaseKind::kAllToAll:
    case CaseKind::kSendReceive:
      return absl::UnimplementedError("is a case of other backends");
  }
  ASSIGN_OR_RETURN(CpuOps* const own, ops());
  const bool is_weights = measured.kind == CaseKind::kGemm ||
                          measured.kind == CaseKind::kDecodeAttention ||
                          measured.kind == CaseKind::kPrefillAttention;
  const ColdPool& fits = is_weights ? pool() : activation_pool();
  if (2 * MovedBytes(measured) >
      kElementBytes * static_cast<double>(fits.size())) {
    return absl::FailedPreconditionError(
        absl::StrFormat("is larger than %d times the last level's cache",
                        (is_weights ? kPoolCaches : kActivationCaches) / 2));
  }
  if (measured.kind == CaseKind::kGemm) {
    return std::make_unique<CpuCase>(GemmWork(measured, *own, pool()), loops_);
  }
  if (measured.kind == CaseKind::kDecodeAttention ||
      measured.kind == CaseKind::kPrefillAttention) {
    return std::make_unique<CpuCase>(AttentionWork(measured, *own, pool()),
                                     loops_);
  }
  return std::make_unique<CpuCase>(
      ElementwiseWork(measured, *own, activation_pool()), loops_);
}

double CpuBackend::RunOperations(const Case& measured) const {
  if (measured.kind != CaseKind::kMultiplyAdd) return Operations(measured);
  return 2.0 * static_cast<double>(kMultiplyAddSteps) *
         loops_.multiply_add_lanes;
}

double CpuBackend::Now() { return SecondsNow(); }

void CpuBackend::Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace mansard::calibrate
