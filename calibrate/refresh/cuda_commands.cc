#include "calibrate/refresh/cuda_commands.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/cuda/cuda_backend.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/measure/progress.h"
#include "calibrate/refresh/cuda_profile.h"
#include "calibrate/refresh/cuda_proof.h"
#include "calibrate/refresh/files.h"
#include "model/base/status_macros.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

// All cases that some device has.
constexpr CudaLimits kAnyDevice = {.l2_bytes = 64 << 20,
                                   .memory_bytes = int64_t{80} << 30,
                                   .multiprocessors = 132,
                                   .compute_capability = 120,
                                   .devices = 8};

// Within its power limit a device takes its clock down that far by itself, and
// that is what it is worth; what is a disturbance NVML says.
constexpr double kLeastClockRatio = 0.4;

// A line for each kind: how many cases it has, in the order of the table.
std::string CountsOf(const std::vector<Case>& cases) {
  std::vector<std::pair<CaseKind, int>> counts;
  for (const Case& one : cases) {
    auto count = counts.begin();
    while (count != counts.end() && count->first != one.kind) ++count;
    if (count == counts.end()) {
      counts.emplace_back(one.kind, 1);
    } else {
      ++count->second;
    }
  }
  std::string text;
  for (const auto& [kind, count] : counts) {
    absl::StrAppendFormat(&text, "\n  %-20s up to %d cases", CaseKindName(kind),
                          count);
  }
  return text;
}

absl::StatusOr<CudaBackend> OpenBackend() {
  absl::StatusOr<CudaMachine> machine = OpenCudaMachine();
  if (!machine.ok()) {
    return absl::Status(machine.status().code(),
                        NoDeviceText(std::string(machine.status().message()),
                                     MissingCudaLibraries()));
  }
  return CudaBackend(*std::move(machine));
}

absl::StatusOr<Record> Measure(const RunOptions& options) {
  ASSIGN_OR_RETURN(CudaBackend backend, OpenBackend());
  std::printf("%s: %s\n", backend.identity().name.c_str(),
              backend.identity().software.c_str());
  for (const std::string& waived : backend.Waived()) {
    std::printf("waived: %s\n", waived.c_str());
  }
  if (!backend.contention().empty()) {
    std::printf("contended: %s; times may be too long\n",
                backend.contention().c_str());
  }
  CampaignOptions campaign;
  campaign.budget_seconds = options.budget_seconds;
  campaign.date = Today();
  if (!options.directory.empty()) {
    RETURN_IF_ERROR(MakeFolder(options.directory));
    campaign.record_path = absl::StrCat(options.directory, "/", kRecordFile);
  }
  campaign.loop.least_clock_ratio = kLeastClockRatio;
  campaign.progress = &ShowProgress;
  ASSIGN_OR_RETURN(Record record,
                   RunCampaign(backend, CudaCases(backend.limits()), campaign));
  for (const std::string& waived : WaivedCases(record)) {
    std::printf("not measured: %s\n", waived.c_str());
  }
  return record;
}

}  // namespace

std::string NoDeviceText(const std::string& reason,
                         const std::vector<std::string>& missing) {
  std::string text =
      absl::StrCat(reason, "\nwaived for it:", CountsOf(CudaCases(kAnyDevice)));
  for (const std::string& library : missing) {
    absl::StrAppend(&text, "\nmissing too: ", library);
  }
  return text;
}

std::vector<std::string> WaivedCases(const Record& record) {
  // By kind and reason, in the record's order.
  std::vector<std::pair<std::string, int>> counts;
  for (const CaseResult& result : record.results) {
    if (result.outcome == Outcome::kMeasured) continue;
    const std::string reason =
        absl::StrCat(CaseKindName(result.measured.kind), ", ",
                     OutcomeName(result.outcome), ": ", result.reason);
    auto count = counts.begin();
    while (count != counts.end() && count->first != reason) ++count;
    if (count == counts.end()) {
      counts.emplace_back(reason, 1);
    } else {
      ++count->second;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : counts) {
    lines.push_back(absl::StrCat(count, " ", reason));
  }
  return lines;
}

absl::Status RunCudaCalibration(const RunOptions& options) {
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  ASSIGN_OR_RETURN(const Record record, Measure(options));
  ASSIGN_OR_RETURN(const CudaFit fit,
                   FitCudaProfile(record, data, CudaFitOptions()));
  PrintFits(fit.refreshed);
  for (const std::string& unfitted : fit.unfitted) {
    std::printf("not fitted: %s\n", unfitted.c_str());
  }
  const std::string path = absl::StrCat(options.directory, "/", kProfileFile);
  RETURN_IF_ERROR(WriteWhole(path, CudaProfileText(fit, record)));
  std::printf("%s: written\n", path.c_str());
  return absl::OkStatus();
}

absl::Status RunCudaProof(const RunOptions& options) {
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  ASSIGN_OR_RETURN(const Record record, Measure(options));
  ASSIGN_OR_RETURN(const CudaProof proof, ProveCuda(record, data));
  PrintFits(proof.fit.refreshed);
  std::fputs(CudaProofText(proof).c_str(), stdout);
  if (proof.Holds()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a prediction is off, or products or attention are missing");
}

}  // namespace mansard::calibrate
