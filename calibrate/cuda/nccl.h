// Collectives by NCCL among the visible devices, all in this process. The
// library is opened when the program runs; its header is not needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/cuda/shared_library.h"
#include "calibrate/measure/case.h"

namespace mansard::calibrate {

struct NcclFunctions;

// A rank's part of a collective: `stream` is a cudaStream_t of its device.
struct NcclRank {
  const void* from = nullptr;
  void* to = nullptr;
  void* stream = nullptr;
};

// Devices 0 to ranks - 1.
class NcclGroup {
 public:
  NcclGroup(std::shared_ptr<const NcclFunctions> nccl,
            std::vector<void*> communicators);
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  ~NcclGroup();
  // Of bf16; `bytes` as the case counts them: of what is reduced, of what all
  // have gathered, of what each has before it is scattered, of what each
  // exchanges, of what is sent from rank 0 to rank 1. INTERNAL: NCCL fails.
  absl::Status Enqueue(CaseKind kind, int64_t bytes,
                       const std::vector<NcclRank>& ranks) const;
  int ranks() const { return static_cast<int>(communicators_.size()); }

 private:
  absl::Status EnqueueRank(CaseKind kind, size_t elements, size_t rank,
                           const NcclRank& own) const;
  absl::Status Send(const void* from, size_t elements, size_t peer,
                    void* communicator, void* stream) const;
  absl::Status Receive(void* to, size_t elements, size_t peer,
                       void* communicator, void* stream) const;
  const std::shared_ptr<const NcclFunctions> nccl_;
  const std::vector<void*> communicators_;
};

class Nccl {
 public:
  // UNIMPLEMENTED: a function is missing.
  static absl::StatusOr<Nccl> Open(const SharedLibrary& library);
  // "NCCL 2.28.9".
  const std::string& description() const { return description_; }
  absl::StatusOr<std::unique_ptr<NcclGroup>> Group(int ranks) const;

 private:
  std::shared_ptr<const NcclFunctions> functions_;
  std::string description_;
};

}  // namespace mansard::calibrate
