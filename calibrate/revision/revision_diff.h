// What changed between two revisions of a profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mansard/v1/catalog.pb.h"

namespace mansard::calibrate {

// A number of one revision.
struct RevisionNumber {
  double value = 0;
  std::string provenance = "";  // "fitted"; empty: it has none of its own.
  // Of a fitted one, p10 and p90. Both or none.
  std::optional<double> low = std::nullopt;
  std::optional<double> high = std::nullopt;

  bool operator==(const RevisionNumber&) const = default;
};

// One number, in either revision or both.
struct NumberChange {
  std::string name;  // "launch_seconds".
  std::optional<RevisionNumber> a;
  std::optional<RevisionNumber> b;

  // Of b over a; empty where either is not there, or a is 0.
  std::optional<double> percent() const;
  // Whether the intervals have a part in common; where one has none, whether
  // its value lies in the other's. Empty where neither has one.
  std::optional<bool> overlap() const;
};

struct FamilyChange {
  std::string stack;
  std::string family;  // "host" for what the host adds to a step.
  bool in_a = false;
  bool in_b = false;
  // Of a family in both, what is not the same: the residual, tier and formula
  // (numbers of 0 and texts that are empty: the same), then parameters.
  std::optional<NumberChange> residual = std::nullopt;
  std::string tier_a = "";
  std::string tier_b = "";
  std::string formula_a = "";
  std::string formula_b = "";
  std::vector<NumberChange> parameters = {};
};

struct RevisionDiff {
  std::vector<std::string> added_stacks;
  std::vector<std::string> removed_stacks;
  std::vector<NumberChange> device;  // And links.
  std::vector<FamilyChange> families;
  // Everything else, as protobuf names it.
  std::vector<std::string> other;

  bool empty() const {
    return added_stacks.empty() && removed_stacks.empty() && device.empty() &&
           families.empty() && other.empty();
  }
};

// Names, revisions, etags and times are the catalog's, and where a number was
// read and when tells nothing of the device: they are not compared; the kinds
// of provenance are. Stacks, families and parameters go by their names, in any
// order.
RevisionDiff DiffRevisions(const v1::HardwareProfile& a,
                           const v1::HardwareProfile& b);

}  // namespace mansard::calibrate
