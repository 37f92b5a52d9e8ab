// A record -> a device profile that predicts with what was measured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/fit/sanity.h"
#include "calibrate/measure/record.h"
#include "calibrate/tables/measured_case.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/profile_io.h"

namespace mansard::calibrate {

// How one family was fitted.
struct RefreshedFamily {
  std::string family;
  size_t rows = 0;
  double mean_loss = 0;
  double sigma = 0;               // Of rows that a fit did not see.
  std::vector<std::string> weak;  // Left at their priors.
};

// A row that a sanity gate names.
struct NamedResult {
  std::string case_id;
  SuspectRow suspect;  // `row` is null.
};

struct RefreshedProfile {
  std::shared_ptr<const model::HardwareProfile> profile;
  std::vector<RefreshedFamily> families;
  std::vector<NamedResult> named;
};

// The stack of the profile.
inline constexpr char kCalibratedStack[] = "calibrated";

// Of a record of the CPU backend: memory and cache bandwidth, peak rate and the
// clock are the cases' own, families of products, attention and element-wise
// kernels are fitted. `fabrics` holds "ethernet-25g". Error:
// FAILED_PRECONDITION names all cases that are missing or did not give a
// result; INVALID_ARGUMENT a record of another backend; a fit's.
absl::StatusOr<RefreshedProfile> FitProfile(const Record& record,
                                            const model::FabricMap& fabrics);

// Takes the rows away that the gates drop, and names all that they suspect.
void DropSuspects(const model::HardwareProfile& profile,
                  const std::function<std::string(const MeasuredCase&)>& id_of,
                  std::vector<const MeasuredCase*>& rows,
                  std::vector<NamedResult>& named);

// Who was measured with what and when, how families were fitted and what gates
// name, as comments at the head of a file.
std::string ProfileHead(const RefreshedProfile& refreshed,
                        const Record& record);

// The profile as a catalog has it, with its fabrics by their ids.
std::string ProfileBody(const model::HardwareProfile& profile);

// The profile as a file: who was measured with what and when stands in its
// head, and beside every number.
std::string ProfileText(const RefreshedProfile& refreshed,
                        const Record& record);

}  // namespace mansard::calibrate
