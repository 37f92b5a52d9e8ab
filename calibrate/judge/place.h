// Where a measured row is asked: which hardware, which of its kernel stacks.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

struct PlaceOptions {
  std::string hardware = "";  // In place of the rows' own devices.
  std::string stack = "";     // In place of the rows' own engines.
  bool spec_tier = false;  // As if the device had never been measured: what is
                           // scaled from another by
  // datasheets, else the profile's first stack.
};

// Why a row has no answer.
enum class Unanswered {
  kDevice,  // The device is not in the catalog.
  kStack,   // The device has no stack of the wanted name.
  kWork,    // The device or the stack serves no such format or kernel.
};
inline constexpr int kUnansweredCount = 3;
// "device not in the catalog".
absl::string_view UnansweredText(Unanswered reason);

// Null profile: the device is not in the catalog. Null stack: it has none of
// the wanted name.
struct Placement {
  const model::HardwareProfile* profile = nullptr;
  const model::KernelStack* stack = nullptr;
  // Another version's stack stands in: its tier counts as transferred at most.
  bool stands_in = false;
};

// The stack is, in this order: the first one where only that is asked; the one
// that the options name; the one of the row's engine and version; where the row
// names no version, the engine's newest; for frameworks that are no engine, the
// device's own measured one; the first. A device may also be named by its id in
// the catalog. The data outlive the place.
Placement PlaceOf(const std::string& device, const std::string& framework,
                  const std::string& version, const model::ShippedData& data,
                  const PlaceOptions& options);

// Error: the options name hardware that is not in the catalog, or a stack that
// neither that hardware nor, where none is named, any hardware has.
absl::Status CheckOptions(const model::ShippedData& data,
                          const PlaceOptions& options);

// Whether version `a` is older than `b`: runs of digits compare as numbers, so
// that 0.9 is older than 0.19 and 1.3.0rc15 than 1.3.0rc20.
bool IsOlder(absl::string_view a, absl::string_view b);

}  // namespace mansard::calibrate
