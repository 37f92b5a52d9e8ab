// Rows that contradict physics, or each other, before a fit sees them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"
#include "model/hardware/hardware_profile.h"

namespace mansard::calibrate {

// What is wrong with a row.
enum class SanityGate {
  // Less time than its tensor work takes at the datasheet's rate, or than its
  // weights and cache take from memory, which do not fit L2. Dropped: the time
  // is wrong, or the shape is.
  kAbovePeak,
  // Its weights and cache fit L2 and came faster than memory can send them.
  // Dropped, unless the table is known to repeat itself on one cache
  // (MeasuredCase::warm_cache): formulas have a share for that.
  kWarmCache,
  // Slower than a row that differs in one size and has more of all work.
  // Dropped where it stands alone, kSpike slower than the next larger row and
  // not the next smaller one with it: a search for the best kernel that
  // failed. Else kept: kernels change there, and engines run them so.
  kNotMonotone,
  // Slower than the same shape in a wider format that work alone explains.
  // Kept: engines run such kernels.
  kNarrowSlower,
};
inline constexpr int kSanityGateCount = 4;
// "not-monotone".
absl::string_view SanityGateName(SanityGate gate);

// Rows that imply more than this share of the datasheet's rate are wrong.
inline constexpr double kAbovePeak = 1.15;
// Slower by more is no noise.
inline constexpr double kClearly = 1.2;
inline constexpr double kSpike = 1.5;
// Differences below are a timer's.
inline constexpr model::Seconds kTimer = model::Microseconds(2);

struct SuspectRow {
  const MeasuredCase* row = nullptr;
  SanityGate gate = SanityGate::kAbovePeak;
  bool dropped = false;
  // What speaks against it: "1.31 x the memory's rate", "1.7 x the time of
  // line 812, m=4096 n=8192 k=1024".
  std::string evidence;
  std::string policy;  // "dropped: ..." or "kept: ...".
};

// Of rows that one fit would see together; a row may be named by several gates.
// All but kNarrowSlower.
std::vector<SuspectRow> SuspectRows(
    const std::vector<const MeasuredCase*>& rows,
    const model::HardwareProfile& profile);

// kNarrowSlower, of all rows of an engine on a device.
std::vector<SuspectRow> NarrowSlowerRows(
    const std::vector<const MeasuredCase*>& rows,
    const model::HardwareProfile& profile);

// The row's line in its table's file, the header being line 1.
size_t LineOf(const MeasuredCase& measured);

}  // namespace mansard::calibrate
