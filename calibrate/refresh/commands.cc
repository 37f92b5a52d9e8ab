#include "calibrate/refresh/commands.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "calibrate/cpu/cpu_backend.h"
#include "calibrate/cpu/cpu_cases.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/measure/progress.h"
#include "calibrate/refresh/fit_profile.h"
#include "calibrate/refresh/proof.h"
#include "model/base/status_macros.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

std::string Today() {
  return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
}

absl::Status CheckOptions(const RunOptions& options) {
  std::string wrong;
  if (options.backend != "cpu") {
    absl::StrAppend(&wrong, "--backend: is \"", options.backend,
                    "\"; allowed: cpu\n");
  }
  if (options.directory.empty()) {
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

// The name is taken only once all is written: a reader never sees half of it.
absl::Status WriteWhole(const std::string& path, const std::string& text) {
  const std::string part = absl::StrCat(path, ".part");
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(path, ": cannot be written"));
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(path, ": cannot be made: ", error.message()));
}

void PrintFits(const RefreshedProfile& refreshed) {
  for (const RefreshedFamily& family : refreshed.families) {
    std::printf("%-24s cases %3zu  loss %.4f  sigma %.3f  at prior: %s\n",
                family.family.c_str(), family.rows, family.mean_loss,
                family.sigma, absl::StrJoin(family.weak, ", ").c_str());
  }
  for (const NamedResult& named : refreshed.named) {
    std::printf("%s: %s: %s; %s\n",
                std::string(SanityGateName(named.suspect.gate)).c_str(),
                named.case_id.c_str(), named.suspect.evidence.c_str(),
                named.suspect.policy.c_str());
  }
}

}  // namespace

absl::Status RunCalibration(const RunOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
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

absl::Status RunProofCommand() {
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  CpuBackend backend;
  std::printf("%s: %s\n", backend.identity().name.c_str(),
              backend.identity().software.c_str());
  ProofOptions options;
  options.cases.budget_seconds = 45;
  options.cases.date = Today();
  options.cases.progress = &ShowProgress;
  options.seconds = 90;
  ASSIGN_OR_RETURN(const Proof proof, RetryProof([&] {
                     return RunProof(backend, data.fabrics, options);
                   }));
  PrintFits(proof.profile);
  std::fputs(ProofText(proof, /*with_ops=*/true).c_str(), stdout);
  if (proof.Holds()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      proof.noise.empty() ? "a prediction is off"
                          : absl::StrCat("too noisy to tell: ", proof.noise));
}

}  // namespace mansard::calibrate
