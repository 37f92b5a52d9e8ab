#include "clients/cli/output/words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace mansard::cli {
namespace {

// "spec" of TIER_SPEC; empty for ..._UNSPECIFIED.
std::string WordOf(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return name == "UNSPECIFIED" ? std::string() : absl::AsciiStrToLower(name);
}

}  // namespace

std::string BoundWord(v1::Bound bound) {
  return bound == v1::BOUND_COMMUNICATION
             ? "comm"
             : WordOf(v1::Bound_Name(bound), "BOUND_");
}

std::string TierWord(v1::Tier tier) {
  return WordOf(v1::Tier_Name(tier), "TIER_");
}

std::string ProvenanceWord(v1::Provenance::Kind kind) {
  return WordOf(v1::Provenance::Kind_Name(kind), "KIND_");
}

}  // namespace mansard::cli
