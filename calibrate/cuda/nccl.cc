#include "calibrate/cuda/nccl.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {

struct NcclFunctions {
  using Result = int;
  using Communicator = void*;
  using Stream = void*;
  Result (*version)(int*) = nullptr;
  const char* (*error_text)(Result) = nullptr;
  Result (*start)(Communicator*, int, const int*) = nullptr;
  Result (*destroy)(Communicator) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*all_reduce)(const void*, void*, size_t, int type, int op,
                       Communicator, Stream) = nullptr;
  Result (*reduce_scatter)(const void*, void*, size_t, int type, int op,
                           Communicator, Stream) = nullptr;
  Result (*all_gather)(const void*, void*, size_t, int type, Communicator,
                       Stream) = nullptr;
  Result (*send)(const void*, size_t, int type, int peer, Communicator,
                 Stream) = nullptr;
  Result (*receive)(void*, size_t, int type, int peer, Communicator,
                    Stream) = nullptr;
};

namespace {

// Of NCCL's interface, which is stable.
constexpr int kSuccess = 0;
constexpr int kBf16 = 9;
constexpr int kSum = 0;
constexpr size_t kElementBytes = 2;

absl::Status Check(const NcclFunctions& nccl, int result, const char* call) {
  if (result == kSuccess) return absl::OkStatus();
  const char* const text = nccl.error_text(result);
  return absl::InternalError(
      absl::StrCat(call, ": ", text == nullptr ? "unknown error" : text));
}

// 22809 is 2.28.9; before 2.9, 2804 is 2.8.4.
std::string VersionText(int version) {
  const int major = version >= 10000 ? 10000 : 1000;
  return absl::StrCat("NCCL ", version / major, ".", version % major / 100, ".",
                      version % 100);
}

}  // namespace

NcclGroup::NcclGroup(std::shared_ptr<const NcclFunctions> nccl,
                     std::vector<void*> communicators)
    : nccl_(std::move(nccl)), communicators_(std::move(communicators)) {}

NcclGroup::~NcclGroup() {
  for (void* communicator : communicators_) nccl_->destroy(communicator);
}

absl::Status NcclGroup::EnqueueRank(CaseKind kind, size_t elements, size_t rank,
                                    const NcclRank& own) const {
  void* const communicator = communicators_[rank];
  const size_t ranks = communicators_.size();
  const size_t part = elements / ranks;
  if (kind == CaseKind::kAllReduce) {
    return Check(*nccl_,
                 nccl_->all_reduce(own.from, own.to, elements, kBf16, kSum,
                                   communicator, own.stream),
                 "ncclAllReduce");
  }
  if (kind == CaseKind::kReduceScatter) {
    return Check(*nccl_,
                 nccl_->reduce_scatter(own.from, own.to, part, kBf16, kSum,
                                       communicator, own.stream),
                 "ncclReduceScatter");
  }
  if (kind == CaseKind::kAllGather) {
    return Check(*nccl_,
                 nccl_->all_gather(own.from, own.to, part, kBf16, communicator,
                                   own.stream),
                 "ncclAllGather");
  }
  if (kind == CaseKind::kAllToAll) {
    for (size_t peer = 0; peer < ranks; ++peer) {
      const size_t offset = peer * part * kElementBytes;
      RETURN_IF_ERROR(Send(static_cast<const char*>(own.from) + offset, part,
                           peer, communicator, own.stream));
      RETURN_IF_ERROR(Receive(static_cast<char*>(own.to) + offset, part, peer,
                              communicator, own.stream));
    }
    return absl::OkStatus();
  }
  if (kind == CaseKind::kSendReceive) {
    if (rank == 0) {
      return Send(own.from, elements, 1, communicator, own.stream);
    }
    if (rank == 1) {
      return Receive(own.to, elements, 0, communicator, own.stream);
    }
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat(CaseKindName(kind), " is no collective"));
}

absl::Status NcclGroup::Send(const void* from, size_t elements, size_t peer,
                             void* communicator, void* stream) const {
  return Check(*nccl_,
               nccl_->send(from, elements, kBf16, static_cast<int>(peer),
                           communicator, stream),
               "ncclSend");
}

absl::Status NcclGroup::Receive(void* to, size_t elements, size_t peer,
                                void* communicator, void* stream) const {
  return Check(*nccl_,
               nccl_->receive(to, elements, kBf16, static_cast<int>(peer),
                              communicator, stream),
               "ncclRecv");
}

absl::Status NcclGroup::Enqueue(CaseKind kind, int64_t bytes,
                                const std::vector<NcclRank>& ranks) const {
  const size_t elements = static_cast<size_t>(bytes) / kElementBytes;
  RETURN_IF_ERROR(Check(*nccl_, nccl_->group_start(), "ncclGroupStart"));
  absl::Status status;
  for (size_t rank = 0; rank < ranks.size() && status.ok(); ++rank) {
    status = EnqueueRank(kind, elements, rank, ranks[rank]);
  }
  // Even after a failure: the group would stay open.
  const absl::Status ended = Check(*nccl_, nccl_->group_end(), "ncclGroupEnd");
  return status.ok() ? ended : status;
}

absl::StatusOr<Nccl> Nccl::Open(const SharedLibrary& library) {
  auto found = std::make_shared<NcclFunctions>();
  RETURN_IF_ERROR(library.Find("ncclGetVersion", found->version));
  RETURN_IF_ERROR(library.Find("ncclGetErrorString", found->error_text));
  RETURN_IF_ERROR(library.Find("ncclCommInitAll", found->start));
  RETURN_IF_ERROR(library.Find("ncclCommDestroy", found->destroy));
  RETURN_IF_ERROR(library.Find("ncclGroupStart", found->group_start));
  RETURN_IF_ERROR(library.Find("ncclGroupEnd", found->group_end));
  RETURN_IF_ERROR(library.Find("ncclAllReduce", found->all_reduce));
  RETURN_IF_ERROR(library.Find("ncclReduceScatter", found->reduce_scatter));
  RETURN_IF_ERROR(library.Find("ncclAllGather", found->all_gather));
  RETURN_IF_ERROR(library.Find("ncclSend", found->send));
  RETURN_IF_ERROR(library.Find("ncclRecv", found->receive));
  int version = 0;
  RETURN_IF_ERROR(Check(*found, found->version(&version), "ncclGetVersion"));
  Nccl nccl;
  nccl.description_ = VersionText(version);
  nccl.functions_ = std::move(found);
  return nccl;
}

absl::StatusOr<std::unique_ptr<NcclGroup>> Nccl::Group(int ranks) const {
  std::vector<int> devices(static_cast<size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<void*> communicators(devices.size(), nullptr);
  RETURN_IF_ERROR(
      Check(*functions_,
            functions_->start(communicators.data(), ranks, devices.data()),
            "ncclCommInitAll"));
  return std::make_unique<NcclGroup>(functions_, std::move(communicators));
}

}  // namespace mansard::calibrate
