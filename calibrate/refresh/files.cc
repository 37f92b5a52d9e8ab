#include "calibrate/refresh/files.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mansard::calibrate {

std::string Today() {
  return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
}

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

}  // namespace mansard::calibrate
