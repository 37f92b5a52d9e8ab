#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;

constexpr int64_t kNumberBytes = 2;     // bf16.
constexpr int64_t kMostSubmitted = 32;  // Behind a held stream.

class CollectiveCase : public PreparedCase {
 public:
  CollectiveCase(std::vector<Gpu*> gpus, const NcclGroup& group,
                 const Case& measured, ReadState read_state)
      : gpus_(std::move(gpus)),
        group_(group),
        measured_(measured),
        read_state_(std::move(read_state)) {}

  absl::Status Fill() {
    for (size_t rank = 0; rank < gpus_.size(); ++rank) {
      Gpu& gpu = *gpus_[rank];
      RETURN_IF_ERROR(gpu.MakeCurrent());
      ASSIGN_OR_RETURN(GpuMemory from, GpuMemory::Make(gpu, measured_.bytes));
      ASSIGN_OR_RETURN(GpuMemory to, GpuMemory::Make(gpu, measured_.bytes));
      RETURN_IF_ERROR(gpu.kernels().FillRandom(Format::kBf16, from.data(),
                                               measured_.bytes, 20 + rank));
      RETURN_IF_ERROR(gpu.SetBytes(to.data(), 0xff, measured_.bytes));
      RETURN_IF_ERROR(gpu.Synchronize());
      ranks_.push_back({from.data(), to.data(), gpu.stream()});
      memory_.push_back(std::move(from));
      memory_.push_back(std::move(to));
    }
    return gpus_.front()->MakeCurrent();
  }

  absl::Status Verify() override {
    RETURN_IF_ERROR(Enqueue());
    RETURN_IF_ERROR(SynchronizeAll());
    CheckedPlaces places;
    const int64_t count = measured_.bytes / kNumberBytes;
    RETURN_IF_ERROR(CheckElement(0));
    RETURN_IF_ERROR(CheckElement(count - 1));
    for (int i = 0; i < CheckedPlaces::kCount; ++i) {
      RETURN_IF_ERROR(CheckElement(places.Below(count)));
    }
    launches_ = 1;
    ASSIGN_OR_RETURN(const HeldTime once, TimeAll());
    launches_ = std::min(PlanLaunches(once.seconds, 1), kMostSubmitted);
    return absl::OkStatus();
  }

  absl::StatusOr<Sample> Run() override {
    ASSIGN_OR_RETURN(const HeldTime time, TimeAll());
    return MakeSample(time, static_cast<double>(launches_), read_state_);
  }

 private:
  absl::Status Enqueue() {
    return group_.Enqueue(measured_.kind, measured_.bytes, ranks_);
  }

  absl::Status SynchronizeAll() {
    for (Gpu* gpu : gpus_) {
      RETURN_IF_ERROR(gpu->MakeCurrent());
      RETURN_IF_ERROR(gpu->Synchronize());
    }
    return gpus_.front()->MakeCurrent();
  }

  // Of the first rank; the others are held until all is submitted.
  absl::StatusOr<HeldTime> TimeAll() {
    std::vector<Gpu*> held;
    absl::Status status;
    for (size_t rank = 1; rank < gpus_.size() && status.ok(); ++rank) {
      status = gpus_[rank]->MakeCurrent();
      if (status.ok()) status = gpus_[rank]->Hold();
      if (status.ok()) held.push_back(gpus_[rank]);
    }
    if (status.ok()) status = gpus_.front()->MakeCurrent();
    absl::StatusOr<HeldTime> time = HeldTime();
    if (!status.ok()) time = status;
    const auto release = [&held]() -> absl::Status {
      absl::Status released;
      for (Gpu* gpu : std::exchange(held, {})) released.Update(gpu->Release());
      return released;
    };
    if (status.ok()) {
      time = TimeHeld(*gpus_.front(), [&]() -> absl::Status {
        for (int64_t i = 0; i < launches_; ++i) RETURN_IF_ERROR(Enqueue());
        return release();
      });
    }
    const absl::Status released = release();
    if (time.ok() && !released.ok()) time = released;
    const absl::Status done = SynchronizeAll();
    if (time.ok() && !done.ok()) time = done;
    return time;
  }

  // Number `at` of what `rank` gave, or has now.
  absl::StatusOr<double> NumberAt(size_t rank, bool given, int64_t at) {
    RETURN_IF_ERROR(gpus_[rank]->MakeCurrent());
    ASSIGN_OR_RETURN(
        const std::vector<double> number,
        ReadNumbers(*gpus_[rank], given ? ranks_[rank].from : ranks_[rank].to,
                    Format::kBf16, at, 1));
    return number.front();
  }

  absl::StatusOr<double> SumAt(int64_t at, double& size) {
    double sum = 0;
    for (size_t rank = 0; rank < gpus_.size(); ++rank) {
      ASSIGN_OR_RETURN(const double number, NumberAt(rank, true, at));
      sum += number;
      size += std::abs(number);
    }
    return sum;
  }

  // Element `at` of the whole message, where it must have come.
  absl::Status CheckElement(int64_t at) {
    const int64_t ranks = static_cast<int64_t>(gpus_.size());
    const int64_t part = measured_.bytes / kNumberBytes / ranks;
    const int64_t peer = std::min(at / part, ranks - 1);
    const int64_t in_part = std::min(at - peer * part, part - 1);
    size_t rank = gpus_.size() - 1;
    int64_t place = at;
    double expected = 0;
    double size = 0;
    if (measured_.kind == CaseKind::kAllReduce) {
      ASSIGN_OR_RETURN(expected, SumAt(at, size));
    } else if (measured_.kind == CaseKind::kReduceScatter) {
      rank = static_cast<size_t>(peer);
      place = in_part;
      ASSIGN_OR_RETURN(expected, SumAt(peer * part + in_part, size));
    } else if (measured_.kind == CaseKind::kAllGather) {
      place = peer * part + in_part;
      ASSIGN_OR_RETURN(expected,
                       NumberAt(static_cast<size_t>(peer), true, in_part));
    } else if (measured_.kind == CaseKind::kAllToAll) {
      place = peer * part + in_part;
      ASSIGN_OR_RETURN(expected,
                       NumberAt(static_cast<size_t>(peer), true,
                                static_cast<int64_t>(rank) * part + in_part));
    } else {  // kSendReceive.
      rank = 1;
      ASSIGN_OR_RETURN(expected, NumberAt(0, true, at));
    }
    ASSIGN_OR_RETURN(const double number, NumberAt(rank, false, place));
    // Sums are rounded on every rank.
    constexpr double kRounding = 0x1p-7;
    return CheckNear(absl::StrCat("rank ", rank, " element ", place), number,
                     expected, kRounding * size);
  }

  const std::vector<Gpu*> gpus_;
  const NcclGroup& group_;
  const Case measured_;
  const ReadState read_state_;
  std::vector<GpuMemory> memory_;
  std::vector<NcclRank> ranks_;
  int64_t launches_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedCase>> MakeCollectiveCase(
    const std::vector<Gpu*>& gpus, const NcclGroup& group, const Case& measured,
    ReadState read_state) {
  auto made = std::make_unique<CollectiveCase>(gpus, group, measured,
                                               std::move(read_state));
  RETURN_IF_ERROR(made->Fill());
  return made;
}

}  // namespace mansard::calibrate
