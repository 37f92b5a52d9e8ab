#include "calibrate/refresh/commands.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "calibrate/cpu/cpu_backend.h"
#include "calibrate/cpu/cpu_cases.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/measure/progress.h"
#include "calibrate/refresh/cuda_commands.h"
#include "calibrate/refresh/files.h"
#include "calibrate/refresh/fit_profile.h"
#include "calibrate/refresh/proof.h"
#include "model/base/status_macros.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

constexpr char kCpu[] = "cpu";
constexpr char kCuda[] = "cuda";

absl::Status CheckOptions(const RunOptions& options, bool needs_directory) {
  std::string wrong;
  if (options.backend != kCpu && options.backend != kCuda) {
    absl::StrAppend(&wrong, "--backend: is \"", options.backend,
                    "\"; allowed: cpu, cuda\n");
  }
  if (needs_directory && options.directory.empty()) {
    absl::StrAppend(&wrong,
                    "--out: is empty; give the folder of record and profile\n");
  }
  if (!(options.budget_seconds > 0)) {
    absl::StrAppend(&wrong, "--budget: must be above 0, as \"10m\"\n");
  }
  if (wrong.empty()) return absl::OkStatus();
  wrong.pop_back();
  return absl::InvalidArgumentError(wrong);
}

}  // namespace

absl::Status RunCalibration(const RunOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options, /*needs_directory=*/true));
  if (options.backend == kCuda) return RunCudaCalibration(options);
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  RETURN_IF_ERROR(MakeFolder(options.directory));
  CpuBackend backend;
  CampaignOptions campaign;
  campaign.budget_seconds = options.budget_seconds;
  campaign.date = Today();
  campaign.record_path = absl::StrCat(options.directory, "/", kRecordFile);
  campaign.progress = &ShowProgress;
  ASSIGN_OR_RETURN(
      const Record record,
      RunCampaign(backend,
                  CpuCases(backend.machine().cache_bytes, Extent::kFull),
                  campaign));
  ASSIGN_OR_RETURN(const RefreshedProfile refreshed,
                   FitProfile(record, data.fabrics));
  PrintFits(refreshed);
  const std::string path = absl::StrCat(options.directory, "/", kProfileFile);
  RETURN_IF_ERROR(WriteWhole(path, ProfileText(refreshed, record)));
  std::printf("%s: written\n", path.c_str());
  return absl::OkStatus();
}

absl::Status RunProofCommand(const RunOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options, /*needs_directory=*/false));
  if (options.backend == kCuda) return RunCudaProof(options);
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  CpuBackend backend;
  std::printf("%s: %s\n", backend.identity().name.c_str(),
              backend.identity().software.c_str());
  ProofOptions proof_options;
  proof_options.cases.budget_seconds = 45;
  proof_options.cases.date = Today();
  proof_options.cases.progress = &ShowProgress;
  proof_options.seconds = 90;
  ASSIGN_OR_RETURN(const Proof proof, RetryProof([&] {
                     return RunProof(backend, data.fabrics, proof_options);
                   }));
  PrintFits(proof.profile);
  std::fputs(ProofText(proof, /*with_ops=*/true).c_str(), stdout);
  if (proof.Holds()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      proof.noise.empty() ? "a prediction is off"
                          : absl::StrCat("too noisy to tell: ", proof.noise));
}

}  // namespace mansard::calibrate
