#include "clients/cli/output/style.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace mansard::cli {
namespace {

struct ResourceTone {
  absl::string_view resource;
  Tone tone;
};
constexpr ResourceTone kResourceTones[] = {
    {"compute", Tone::kCompute},    {"tensor", Tone::kCompute},
    {"vector", Tone::kCompute},     {"sfu", Tone::kCompute},
    {"memory", Tone::kMemory},      {"smem", Tone::kMemory},
    {"l2", Tone::kMemory},          {"hbm", Tone::kMemory},
    {"comm", Tone::kCommunication}, {"nvlink", Tone::kCommunication},
    {"pcie", Tone::kCommunication}, {"rdma", Tone::kCommunication},
    {"overhead", Tone::kOverhead},  {"launch", Tone::kOverhead},
    {"sync", Tone::kOverhead},      {"host", Tone::kOverhead},
};

absl::string_view EscapeCode(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "\033[1m";
    case Tone::kFaint:
      return "\033[2m";
    case Tone::kGood:
      return "\033[32m";
    case Tone::kBad:
      return "\033[1;31m";
    case Tone::kCompute:
      return "\033[34m";
    case Tone::kMemory:
      return "\033[36m";
    case Tone::kCommunication:
      return "\033[35m";
    case Tone::kOverhead:
      return "\033[33m";
  }
  return "";
}

}  // namespace

Tone ToneOfResource(absl::string_view resource) {
  for (const ResourceTone& entry : kResourceTones) {
    if (entry.resource == resource) return entry.tone;
  }
  return Tone::kPlain;
}

std::string Style::Paint(Tone tone, absl::string_view text) const {
  if (!color_ || tone == Tone::kPlain || text.empty()) return std::string(text);
  return absl::StrCat(EscapeCode(tone), text, "\033[0m");
}

bool WantsColor(bool no_color_flag) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return !no_color_flag && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || absl::string_view(term) != "dumb") &&
         isatty(STDOUT_FILENO) == 1;
}

}  // namespace mansard::cli
