// Enums of the service as words.
#pragma once

#include <string>

#include "mansard/v1/catalog.pb.h"
#include "mansard/v1/estimate.pb.h"

namespace mansard::cli {

// Empty for a value that this program does not know: a newer server's.

// "compute", "memory", "comm", "overhead": the words that ToneOfResource knows.
std::string BoundWord(v1::Bound bound);
// "spec", "transferred", "calibrated".
std::string TierWord(v1::Tier tier);
// "datasheet", "measured", ...
std::string ProvenanceWord(v1::Provenance::Kind kind);

}  // namespace mansard::cli
