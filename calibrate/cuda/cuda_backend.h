// CUDA devices as a backend: one device, and its peers for copies and
// collectives. Kernels of our own; products by cuBLASLt, collectives by NCCL,
// the device's state by NVML, each where it is installed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/cuda/cublas_lt.h"
#include "calibrate/cuda/cuda_cases.h"
#include "calibrate/cuda/gpu.h"
#include "calibrate/cuda/nccl.h"
#include "calibrate/cuda/nvml.h"
#include "calibrate/measure/backend.h"

namespace mansard::calibrate {

// The visible devices; of what they have no library for, why.
struct CudaMachine {
  std::vector<std::unique_ptr<Gpu>> gpus;  // Not empty; the first is measured.
  absl::StatusOr<BlasLt> blas;
  absl::StatusOr<Nccl> nccl;
  absl::StatusOr<Nvml> nvml;
  GpuState at_start = {};  // Before anything of ours ran.
  // Of cuDNN, which is told in the record alone: attention is measured on
  // kernels of our own.
  std::string attention_library;
};

// FAILED_PRECONDITION: no device, no driver, or built without CUDA, and which.
// Implemented by cuda_gpu.cc; by none.cc in a build without CUDA.
absl::StatusOr<CudaMachine> OpenCudaMachine();
// Why each library is waived where there is no device to ask: "cuBLASLt:
// cannot be opened: ...", a line for each that is missing.
std::vector<std::string> MissingCudaLibraries();

// NVIDIA's, in the order they are tried.
absl::StatusOr<BlasLt> OpenBlasLt();
absl::StatusOr<Nccl> OpenNccl();
absl::StatusOr<Nvml> OpenInstalledNvml(const std::string& pci_address);
// "cuDNN 9.13.0", or why there is none.
std::string DescribeCudnn();

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(CudaMachine machine);

  const DeviceIdentity& identity() const override { return identity_; }
  CudaLimits limits() const;
  // What is missing, a line each; empty where all is there.
  std::vector<std::string> Waived() const;
  // Not empty: somebody else uses the device.
  const std::string& contention() const { return contention_; }

  absl::StatusOr<std::unique_ptr<PreparedCase>> Prepare(
      const Case& measured) override;
  double RunOperations(const Case& measured) const override;
  double Now() override;
  void Sleep(double seconds) override;

 private:
  Gpu& gpu() const { return *machine_.gpus.front(); }
  ReadState read_state() const;
  absl::StatusOr<std::unique_ptr<PreparedCase>> PrepareGemm(
      const Case& measured);
  absl::StatusOr<std::unique_ptr<PreparedCase>> PrepareCollective(
      const Case& measured);
  absl::StatusOr<std::unique_ptr<PreparedCase>> PreparePeerCopy(
      const Case& measured);
  absl::StatusOr<std::unique_ptr<PreparedCase>> PrepareOwn(
      const Case& measured);

  CudaMachine machine_;
  std::string contention_;
  DeviceIdentity identity_;
  // Made when first needed; below what they stand on.
  std::optional<GpuMemory> workspace_;
  std::optional<GpuMemory> one_;
  std::map<int64_t, std::unique_ptr<NcclGroup>> groups_;  // By ranks.
};

}  // namespace mansard::calibrate
