// What each kind of case runs on a device, with its check. Internal to
// calibrate/cuda. Errors: RESOURCE_EXHAUSTED, too little memory; UNIMPLEMENTED,
// no kernel for the sizes; the device's.
#pragma once

#include "absl/status/statusor.h"
#include "calibrate/cuda/cublas_lt.h"
#include "calibrate/cuda/cuda_work.h"
#include "calibrate/cuda/gpu.h"
#include "calibrate/cuda/nccl.h"
#include "calibrate/measure/case.h"

namespace mansard::calibrate {

// Copy, triad, read.
absl::StatusOr<CudaWork> MakeStreamWork(Gpu& gpu, const Case& measured);
// Reads of L2 and of shared memory, chains of loads, launches.
absl::StatusOr<CudaWork> MakeCacheWork(Gpu& gpu, const Case& measured);
absl::StatusOr<CudaWork> MakeChaseWork(Gpu& gpu, const Case& measured);
absl::StatusOr<CudaWork> MakeLaunchWork(Gpu& gpu, const Case& measured);
// Multiply-adds, tensor units, exponentials.
absl::StatusOr<CudaWork> MakePeakWork(Gpu& gpu, const Case& measured);
// Of one launch of such a case: a multiply-add is two.
double PeakOperations(const Case& measured, int threads);

absl::StatusOr<CudaWork> MakeGemmWork(Gpu& gpu, const Case& measured,
                                      const BlasLt& blas, const BlasRoom& room);
// Norm, activation, residual, quantisation. Operands stay where the last run
// left them, as a layer's do.
absl::StatusOr<CudaWork> MakeElementwiseWork(Gpu& gpu, const Case& measured);
// Kernels of our own. Caches are cold, prompts' operands are not.
absl::StatusOr<CudaWork> MakeDecodeWork(Gpu& gpu, const Case& measured);
absl::StatusOr<CudaWork> MakePrefillWork(Gpu& gpu, const Case& measured);
// From and to the host; to a peer, which is null otherwise.
absl::StatusOr<CudaWork> MakeCopyWork(Gpu& gpu, Gpu* peer,
                                      const Case& measured);
// Of one rank a device; all of them and `group` outlive it.
absl::StatusOr<std::unique_ptr<PreparedCase>> MakeCollectiveCase(
    const std::vector<Gpu*>& gpus, const NcclGroup& group, const Case& measured,
    ReadState read_state);

// Helps them: device memory that the work holds.
absl::StatusOr<void*> Hold(Gpu& gpu, int64_t bytes, CudaWork& work);
// The same, full of random numbers.
absl::StatusOr<void*> HoldRandom(Gpu& gpu, model::Format format, int64_t bytes,
                                 uint64_t seed, CudaWork& work);
// Sets of `set_bytes` that are cold when their turn comes; see PlanSets.
absl::StatusOr<int64_t> PlanColdSets(Gpu& gpu, int64_t set_bytes);
// Sum of the 32-bit words of device memory, modulo 2^32, added up here.
absl::StatusOr<uint32_t> SumOfWords(Gpu& gpu, const void* from, int64_t bytes);

}  // namespace mansard::calibrate
