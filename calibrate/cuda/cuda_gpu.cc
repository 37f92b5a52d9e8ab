// CUDA's runtime behind gpu.h.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/cuda/cuda_backend.h"
#include "calibrate/cuda/cuda_kernels.h"
#include "calibrate/cuda/device_code.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

// More than any device has; those that it has not stay 0.
constexpr int kStamps = 1024;
// Behind a held stream; then it goes on by itself, and the sample fails.
constexpr uint64_t kLongestHold = 2'000'000'000;

#define RETURN_IF_CUDA_ERROR(call) RETURN_IF_ERROR(FromCuda(call, #call))

class CudaGraph : public GpuGraph {
 public:
  CudaGraph() = default;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    if (run != nullptr) (void)cudaGraphExecDestroy(run);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t run = nullptr;
};

class CudaGpu : public Gpu {
 public:
  CudaGpu() = default;
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;
  ~CudaGpu() override {
    // Whatever still runs holds what is freed here.
    (void)cudaSetDevice(facts_.ordinal);
    if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
    if (start_ != nullptr) (void)cudaEventDestroy(start_);
    if (stop_ != nullptr) (void)cudaEventDestroy(stop_);
    (void)cudaFree(stamps_);
    (void)cudaFreeHost(const_cast<int*>(flags_));
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  absl::Status Open(int ordinal) {
    facts_.ordinal = ordinal;
    RETURN_IF_CUDA_ERROR(cudaSetDevice(ordinal));
    RETURN_IF_ERROR(ReadFacts());
    RETURN_IF_CUDA_ERROR(
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RETURN_IF_CUDA_ERROR(cudaEventCreate(&start_));
    RETURN_IF_CUDA_ERROR(cudaEventCreate(&stop_));
    void* stamps = nullptr;
    RETURN_IF_CUDA_ERROR(cudaMalloc(&stamps, kStampBytes));
    stamps_ = static_cast<uint64_t*>(stamps);
    void* flags = nullptr;
    RETURN_IF_CUDA_ERROR(cudaMallocHost(&flags, 2 * sizeof(int)));
    flags_ = static_cast<volatile int*>(flags);
    kernels_ = MakeCudaKernels({stream_, facts_.multiprocessors});
    return WarmUp();
  }

  const GpuFacts& facts() const override { return facts_; }
  GpuKernels& kernels() override { return *kernels_; }
  void* stream() override { return stream_; }
  absl::Status MakeCurrent() override {
    return FromCuda(cudaSetDevice(facts_.ordinal), "cudaSetDevice");
  }

  absl::StatusOr<void*> Allocate(int64_t bytes) override {
    void* data = nullptr;
    RETURN_IF_CUDA_ERROR(cudaMalloc(&data, static_cast<size_t>(bytes)));
    return data;
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    void* data = nullptr;
    RETURN_IF_CUDA_ERROR(cudaMallocHost(&data, static_cast<size_t>(bytes)));
    return data;
  }
  // What was enqueued before has run: cudaFree waits for it.
  void Free(void* memory) override { (void)cudaFree(memory); }
  void FreeHost(void* memory) override { (void)cudaFreeHost(memory); }
  absl::StatusOr<int64_t> FreeBytes() override {
    size_t free_bytes = 0, total = 0;
    RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total));
    return static_cast<int64_t>(free_bytes);
  }

  absl::Status Write(const void* from, void* to, int64_t bytes) override {
    RETURN_IF_ERROR(EnqueueCopy(from, to, bytes));
    return Synchronize();
  }
  absl::Status Read(const void* from, void* to, int64_t bytes) override {
    return Write(from, to, bytes);
  }
  absl::Status Synchronize() override {
    return FromCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  absl::Status SetBytes(void* to, int value, int64_t bytes) override {
    return FromCuda(
        cudaMemsetAsync(to, value, static_cast<size_t>(bytes), stream_),
        "cudaMemsetAsync");
  }
  absl::Status EnqueueCopy(const void* from, void* to, int64_t bytes) override {
    return FromCuda(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                                    cudaMemcpyDefault, stream_),
                    "cudaMemcpyAsync");
  }
  absl::Status AllowPeer(Gpu& peer) override {
    int reaches = 0;
    RETURN_IF_CUDA_ERROR(cudaDeviceCanAccessPeer(&reaches, facts_.ordinal,
                                                 peer.facts().ordinal));
    if (reaches == 0) {
      return absl::UnimplementedError(
          absl::StrCat("devices ", facts_.ordinal, " and ",
                       peer.facts().ordinal, " do not reach each other"));
    }
    RETURN_IF_ERROR(MakeCurrent());
    const cudaError_t error =
        cudaDeviceEnablePeerAccess(peer.facts().ordinal, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();
      return absl::OkStatus();
    }
    return FromCuda(error, "cudaDeviceEnablePeerAccess");
  }

  absl::StatusOr<std::unique_ptr<GpuGraph>> Capture(
      const std::function<absl::Status()>& enqueue) override {
    auto captured = std::make_unique<CudaGraph>();
    RETURN_IF_CUDA_ERROR(
        cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    absl::Status status = enqueue();
    // Even after a failure: the stream would capture for ever.
    status.Update(FromCuda(cudaStreamEndCapture(stream_, &captured->graph),
                           "cudaStreamEndCapture"));
    RETURN_IF_ERROR(status);
    RETURN_IF_CUDA_ERROR(
        cudaGraphInstantiate(&captured->run, captured->graph, 0));
    RETURN_IF_CUDA_ERROR(cudaGraphUpload(captured->run, stream_));
    RETURN_IF_ERROR(Synchronize());
    return captured;
  }
  absl::Status Enqueue(GpuGraph& graph) override {
    return FromCuda(
        cudaGraphLaunch(static_cast<CudaGraph&>(graph).run, stream_),
        "cudaGraphLaunch");
  }

  absl::Status Hold() override {
    flags_[0] = 0;
    flags_[1] = 0;
    return FromCuda(device_code::Hold({stream_, facts_.multiprocessors}, flags_,
                                      kLongestHold),
                    "Hold");
  }
  absl::Status Release() override {
    flags_[0] = 1;
    return absl::OkStatus();
  }
  absl::Status MarkStart() override {
    RETURN_IF_CUDA_ERROR(cudaMemsetAsync(stamps_, 0, kStampBytes, stream_));
    RETURN_IF_ERROR(Stamp(0));
    return FromCuda(cudaEventRecord(start_, stream_), "cudaEventRecord");
  }
  absl::Status MarkStop() override {
    RETURN_IF_CUDA_ERROR(cudaEventRecord(stop_, stream_));
    return Stamp(1);
  }
  absl::StatusOr<double> SecondsBetweenMarks() override {
    RETURN_IF_ERROR(Synchronize());
    if (flags_[1] != 0) {
      flags_[1] = 0;
      return absl::DeadlineExceededError(
          "the stream was held for too long: what was submitted behind it "
          "waits for the device");
    }
    float milliseconds = 0;
    RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds * 1e-3;
  }
  absl::StatusOr<double> ClockBetweenMarks() override {
    std::array<std::vector<ClockStamp>, 2> stamps;
    for (int mark = 0; mark < 2; ++mark) {
      std::vector<ClockStamp>& read = stamps[static_cast<size_t>(mark)];
      read.resize(kStamps);
      RETURN_IF_ERROR(Read(stamps_ + StampsBefore(mark), read.data(),
                           kStamps * int64_t{sizeof(ClockStamp)}));
    }
    return ClockBetween(stamps[0], stamps[1]);
  }

 private:
  static constexpr size_t kStampBytes =
      size_t{2} * kStamps * sizeof(ClockStamp);
  static_assert(sizeof(ClockStamp) == 2 * sizeof(uint64_t));
  // In words.
  static ptrdiff_t StampsBefore(int mark) {
    return ptrdiff_t{mark} * 2 * kStamps;
  }

  // Kernels are loaded when first launched, which waits for the device: behind
  // a held stream, for ever.
  absl::Status WarmUp() {
    RETURN_IF_ERROR(Hold());
    RETURN_IF_ERROR(Release());
    RETURN_IF_ERROR(Synchronize());
    RETURN_IF_ERROR(MarkStart());
    RETURN_IF_ERROR(MarkStop());
    return SecondsBetweenMarks().status();
  }

  absl::Status Stamp(int mark) {
    return FromCuda(device_code::Stamp({stream_, facts_.multiprocessors},
                                       stamps_ + StampsBefore(mark), kStamps),
                    "Stamp");
  }

  absl::Status ReadFacts() {
    cudaDeviceProp properties;
    RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, facts_.ordinal));
    int clock_kilohertz = 0, driver = 0, runtime = 0;
    RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(
        &clock_kilohertz, cudaDevAttrClockRate, facts_.ordinal));
    RETURN_IF_CUDA_ERROR(cudaDriverGetVersion(&driver));
    RETURN_IF_CUDA_ERROR(cudaRuntimeGetVersion(&runtime));
    std::array<char, 32> address = {};
    RETURN_IF_CUDA_ERROR(cudaDeviceGetPCIBusId(
        address.data(), static_cast<int>(address.size()), facts_.ordinal));
    facts_.pci_address = address.data();
    facts_.name = properties.name;
    facts_.id_hash = HashOf(properties.uuid.bytes);
    facts_.major = properties.major;
    facts_.minor = properties.minor;
    facts_.multiprocessors = properties.multiProcessorCount;
    facts_.clock_hertz = clock_kilohertz * 1e3;
    facts_.l2_bytes = properties.l2CacheSize;
    facts_.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    facts_.shared_bytes_per_multiprocessor =
        static_cast<int64_t>(properties.sharedMemPerMultiprocessor);
    facts_.runtime =
        absl::StrCat("driver ", driver / 1000, ".", driver % 1000 / 10,
                     ", runtime ", runtime / 1000, ".", runtime % 1000 / 10);
    return absl::OkStatus();
  }

  // FNV-1a: it tells devices apart, and names none.
  template <size_t kBytes>
  static std::string HashOf(const char (&uuid)[kBytes]) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : uuid) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
    return absl::StrFormat("%016x", hash);
  }

  GpuFacts facts_;
  std::unique_ptr<GpuKernels> kernels_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
  uint64_t* stamps_ = nullptr;
  // Page-locked: the device reads the first and writes the second.
  volatile int* flags_ = nullptr;
};

}  // namespace

absl::StatusOr<CudaMachine> OpenCudaMachine() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(error == cudaSuccess ? "no CUDA device is visible"
                                          : cudaGetErrorString(error),
                     ": no device to measure"));
  }
  CudaMachine machine;
  std::array<char, 32> address = {};
  RETURN_IF_CUDA_ERROR(cudaDeviceGetPCIBusId(
      address.data(), static_cast<int>(address.size()), 0));
  machine.nvml = OpenInstalledNvml(address.data());
  if (machine.nvml.ok()) machine.at_start = machine.nvml->read();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    auto gpu = std::make_unique<CudaGpu>();
    RETURN_IF_ERROR(gpu->Open(ordinal));
    machine.gpus.push_back(std::move(gpu));
  }
  RETURN_IF_ERROR(machine.gpus.front()->MakeCurrent());
  machine.blas = OpenBlasLt();
  machine.nccl = count > 1 ? OpenNccl()
                           : absl::StatusOr<Nccl>(absl::UnimplementedError(
                                 "one device is visible"));
  machine.attention_library = DescribeCudnn();
  return machine;
}

}  // namespace mansard::calibrate
