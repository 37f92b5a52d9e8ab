#include "calibrate/cuda/cuda_backend.h"

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

// What frameworks give the library on recent devices.
constexpr int64_t kWorkspaceBytes = 64 << 20;

std::string ReasonOr(const absl::Status& status, const std::string& text) {
  return status.ok() ? text : std::string(status.message());
}

std::string CapabilityText(const GpuFacts& facts) {
  return absl::StrCat(facts.major, ".", facts.minor);
}

void Note(const char* key, const std::optional<bool>& value,
          DeviceIdentity& identity) {
  if (value.has_value()) identity.notes[key] = *value ? "on" : "off";
}

DeviceIdentity IdentityOf(const CudaMachine& machine,
                          const std::string& contention) {
  const GpuFacts& facts = machine.gpus.front()->facts();
  DeviceIdentity identity{
      .backend = "cuda",
      .name = facts.name,
      .id_hash = facts.id_hash,
      .software =
          machine.blas.ok()
              ? machine.blas->description()
              : absl::StrCat("no cuBLASLt: ", machine.blas.status().message()),
      .clock_hertz = facts.clock_hertz,
      .memory_bytes = static_cast<double>(facts.memory_bytes),
      .last_level_cache_bytes = static_cast<double>(facts.l2_bytes),
      .threads = facts.multiprocessors};
  identity.notes["compute_capability"] = CapabilityText(facts);
  identity.notes["multiprocessors"] = absl::StrCat(facts.multiprocessors);
  identity.notes["shared_bytes_per_multiprocessor"] =
      absl::StrCat(facts.shared_bytes_per_multiprocessor);
  identity.notes["cuda"] = facts.runtime;
  identity.notes["devices"] = absl::StrCat(machine.gpus.size());
  identity.notes["attention"] =
      absl::StrCat("own kernels (mma.sync, bf16); ", machine.attention_library);
  identity.notes["elementwise"] = "own kernels";
  identity.notes["collectives"] =
      ReasonOr(machine.nccl.status(),
               machine.nccl.ok() ? machine.nccl->description() : "");
  identity.notes["compiler"] = __VERSION__;
  identity.notes["driver"] = ReasonOr(
      machine.nvml.status(), machine.nvml.ok() ? machine.nvml->driver : "");
  if (!contention.empty()) identity.notes["contended"] = contention;
  const GpuState& state = machine.at_start;
  if (machine.nvml.ok()) identity.notes["state_at_start"] = StateText(state);
  Note("ecc", state.ecc, identity);
  Note("mig", state.mig, identity);
  Note("persistence", state.persistence, identity);
  return identity;
}

bool IsCollective(CaseKind kind) {
  return kind == CaseKind::kAllReduce || kind == CaseKind::kAllGather ||
         kind == CaseKind::kReduceScatter || kind == CaseKind::kAllToAll ||
         kind == CaseKind::kSendReceive;
}

bool IsPeak(CaseKind kind) {
  return kind == CaseKind::kMultiplyAdd ||
         kind == CaseKind::kTensorMultiplyAdd || kind == CaseKind::kExponential;
}

absl::StatusOr<CudaWork> MakeOwnWork(Gpu& gpu, const Case& measured) {
  switch (measured.kind) {
    case CaseKind::kCopy:
    case CaseKind::kTriad:
    case CaseKind::kRead:
      return MakeStreamWork(gpu, measured);
    case CaseKind::kCacheRead:
    case CaseKind::kSharedRead:
      return MakeCacheWork(gpu, measured);
    case CaseKind::kPointerChase:
      return MakeChaseWork(gpu, measured);
    case CaseKind::kMultiplyAdd:
    case CaseKind::kTensorMultiplyAdd:
    case CaseKind::kExponential:
      return MakePeakWork(gpu, measured);
    case CaseKind::kLaunch:
    case CaseKind::kGraphLaunch:
      return MakeLaunchWork(gpu, measured);
    case CaseKind::kNorm:
    case CaseKind::kActivation:
    case CaseKind::kResidual:
    case CaseKind::kQuantize:
      return MakeElementwiseWork(gpu, measured);
    case CaseKind::kDecodeAttention:
      return MakeDecodeWork(gpu, measured);
    case CaseKind::kPrefillAttention:
      return MakePrefillWork(gpu, measured);
    case CaseKind::kHostToDevice:
    case CaseKind::kDeviceToHost:
      return MakeCopyWork(gpu, nullptr, measured);
    case CaseKind::kGemm:
    case CaseKind::kPeerCopy:
    case CaseKind::kAllReduce:
    case CaseKind::kAllGather:
    case CaseKind::kReduceScatter:
    case CaseKind::kAllToAll:
    case CaseKind::kSendReceive:
      break;
  }
  return absl::UnimplementedError("is no kernel of our own");
}

}  // namespace

CudaBackend::CudaBackend(CudaMachine machine)
    : machine_(std::move(machine)),
      contention_(ContentionOf(machine_.at_start)),
      identity_(IdentityOf(machine_, contention_)) {}

CudaLimits CudaBackend::limits() const {
  const GpuFacts& facts = gpu().facts();
  return {facts.l2_bytes, facts.memory_bytes, facts.multiprocessors,
          facts.major * 10 + facts.minor,
          static_cast<int>(machine_.gpus.size())};
}

std::vector<std::string> CudaBackend::Waived() const {
  std::vector<std::string> waived;
  const auto add = [&](const char* what, const absl::Status& status) {
    if (!status.ok()) {
      waived.push_back(absl::StrCat(what, ": ", status.message()));
    }
  };
  add("products (cuBLASLt)", machine_.blas.status());
  add("clocks, power and throttling (NVML)", machine_.nvml.status());
  if (machine_.gpus.size() > 1) {
    add("collectives (NCCL)", machine_.nccl.status());
  } else {
    waived.push_back("collectives and peer copies: one device is visible");
  }
  return waived;
}

ReadState CudaBackend::read_state() const {
  return machine_.nvml.ok() ? machine_.nvml->read : ReadState();
}

absl::StatusOr<std::unique_ptr<PreparedCase>> CudaBackend::Prepare(
    const Case& measured) {
  if (measured.kind == CaseKind::kGemm) return PrepareGemm(measured);
  if (measured.kind == CaseKind::kPeerCopy) return PreparePeerCopy(measured);
  if (IsCollective(measured.kind)) return PrepareCollective(measured);
  return PrepareOwn(measured);
}

absl::StatusOr<std::unique_ptr<PreparedCase>> CudaBackend::PrepareOwn(
    const Case& measured) {
  ASSIGN_OR_RETURN(CudaWork work, MakeOwnWork(gpu(), measured));
  return MakeCudaCase(gpu(), std::move(work), read_state());
}

absl::StatusOr<std::unique_ptr<PreparedCase>> CudaBackend::PrepareGemm(
    const Case& measured) {
  RETURN_IF_ERROR(machine_.blas.status());
  if (!workspace_.has_value()) {
    ASSIGN_OR_RETURN(GpuMemory workspace,
                     GpuMemory::Make(gpu(), kWorkspaceBytes));
    workspace_.emplace(std::move(workspace));
  }
  if (!one_.has_value()) {
    constexpr float kOne = 1;
    ASSIGN_OR_RETURN(GpuMemory one, GpuMemory::Make(gpu(), sizeof(kOne)));
    RETURN_IF_ERROR(gpu().Write(&kOne, one.data(), sizeof(kOne)));
    one_.emplace(std::move(one));
  }
  const BlasRoom room{.workspace = workspace_->data(),
                      .workspace_bytes = kWorkspaceBytes,
                      .one = one_->at<float>()};
  ASSIGN_OR_RETURN(CudaWork work,
                   MakeGemmWork(gpu(), measured, *machine_.blas, room));
  return MakeCudaCase(gpu(), std::move(work), read_state());
}

absl::StatusOr<std::unique_ptr<PreparedCase>> CudaBackend::PreparePeerCopy(
    const Case& measured) {
  if (measured.peer < 1 ||
      measured.peer >= static_cast<int64_t>(machine_.gpus.size())) {
    return absl::UnimplementedError(
        absl::StrCat("there is no device ", measured.peer));
  }
  Gpu& peer = *machine_.gpus[static_cast<size_t>(measured.peer)];
  ASSIGN_OR_RETURN(CudaWork work, MakeCopyWork(gpu(), &peer, measured));
  return MakeCudaCase(gpu(), std::move(work), read_state());
}

absl::StatusOr<std::unique_ptr<PreparedCase>> CudaBackend::PrepareCollective(
    const Case& measured) {
  RETURN_IF_ERROR(machine_.nccl.status());
  if (measured.ranks < 2 ||
      measured.ranks > static_cast<int64_t>(machine_.gpus.size())) {
    return absl::UnimplementedError(absl::StrCat(
        measured.ranks, " ranks; ", machine_.gpus.size(), " devices are here"));
  }
  std::unique_ptr<NcclGroup>& group = groups_[measured.ranks];
  if (group == nullptr) {
    ASSIGN_OR_RETURN(group,
                     machine_.nccl->Group(static_cast<int>(measured.ranks)));
  }
  std::vector<Gpu*> gpus;
  for (int64_t rank = 0; rank < measured.ranks; ++rank) {
    gpus.push_back(machine_.gpus[static_cast<size_t>(rank)].get());
  }
  return MakeCollectiveCase(gpus, *group, measured, read_state());
}

double CudaBackend::RunOperations(const Case& measured) const {
  if (!IsPeak(measured.kind)) return Operations(measured);
  return PeakOperations(measured, gpu().kernels().PeakThreads());
}

double CudaBackend::Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void CudaBackend::Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

absl::StatusOr<BlasLt> OpenBlasLt() {
  ASSIGN_OR_RETURN(
      const SharedLibrary library,
      SharedLibrary::Open({"libcublasLt.so.13", "libcublasLt.so.12"}));
  return BlasLt::Open(library);
}

absl::StatusOr<Nccl> OpenNccl() {
  ASSIGN_OR_RETURN(const SharedLibrary library,
                   SharedLibrary::Open({"libnccl.so.2"}));
  return Nccl::Open(library);
}

absl::StatusOr<Nvml> OpenInstalledNvml(const std::string& pci_address) {
  ASSIGN_OR_RETURN(const SharedLibrary library,
                   SharedLibrary::Open({"libnvidia-ml.so.1"}));
  return OpenNvml(library, pci_address);
}

std::string DescribeCudnn() {
  const absl::StatusOr<SharedLibrary> library =
      SharedLibrary::Open({"libcudnn.so.9"});
  size_t (*version)() = nullptr;
  if (!library.ok() || !library->Find("cudnnGetVersion", version).ok()) {
    return "no cuDNN";
  }
  // 91300 is 9.13.0.
  const size_t number = version();
  return absl::StrCat("cuDNN ", number / 10000, ".", number % 10000 / 100, ".",
                      number % 100, " is installed, and not measured");
}

std::vector<std::string> MissingCudaLibraries() {
  std::vector<std::string> missing;
  const auto add = [&](const char* what,
                       const std::vector<std::string>& names) {
    const absl::Status status = SharedLibrary::Open(names).status();
    if (!status.ok()) {
      missing.push_back(absl::StrCat(what, ": ", status.message()));
    }
  };
  add("cuBLASLt (products)", {"libcublasLt.so.13", "libcublasLt.so.12"});
  add("NCCL (collectives)", {"libnccl.so.2"});
  add("NVML (clocks, power, throttling)", {"libnvidia-ml.so.1"});
  return missing;
}

}  // namespace mansard::calibrate
