#include "clients/cli/output/kernel_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/number.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

std::string Seconds(double seconds) {
  return WithUnit(seconds, Unit::kSeconds);
}

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrFormat("  %-*s%s\n", 11, label, text);
}

std::string PerByte(double flops_per_byte) {
  const int decimals = flops_per_byte < 10 ? 2 : flops_per_byte < 100 ? 1 : 0;
  return absl::StrCat(Grouped(flops_per_byte, decimals), " FLOP/B");
}

// "74 %"; "<1 %" for what would be shown as nothing.
std::string Percent(double part, double whole) {
  const double percent = whole > 0 ? 100 * part / whole : 0;
  return percent > 0 && percent < 0.5 ? "<1 %"
                                      : absl::StrFormat("%.0f %%", percent);
}

std::string Intensity(const v1::EstimateKernelResponse& response) {
  const double intensity = response.arithmetic_intensity_flops_per_byte();
  const double ridge = response.ridge_flops_per_byte();
  std::string text = PerByte(intensity);
  if (ridge <= 0) return text;
  return absl::StrCat(text, "; the ridge is at ", PerByte(ridge),
                      intensity < ridge ? ": memory is the limit at best"
                                        : ": compute is the limit at best");
}

std::string WorkText(const v1::EstimateKernelResponse& response) {
  double flops = 0;
  double bytes = 0;
  double message = 0;
  for (const v1::OpEstimate& op : response.ops()) {
    const v1::Work& work = op.work();
    flops += work.flops() + work.vector_flops();
    bytes += work.weight_read_bytes() + work.kv_read_bytes() +
             work.kv_write_bytes() + work.activation_read_bytes() +
             work.activation_write_bytes();
    message += work.communication_bytes();
  }
  std::string text = absl::StrCat(WithUnit(flops, Unit::kFlops), ", ",
                                  WithUnit(bytes, Unit::kBytes), " moved");
  if (message > 0) {
    absl::StrAppend(&text, ", ", WithUnit(message, Unit::kBytes),
                    " between devices");
  }
  return text;
}

}  // namespace

std::string KernelHeadline(const v1::EstimateKernelResponse& response,
                           const std::string& name, const Style& style) {
  const std::string word = BoundWord(response.bound());
  const double seconds = response.time_seconds();
  std::string text =
      style.Paint(Tone::kStrong, absl::StrCat(name, "  ", Seconds(seconds)));
  if (!word.empty()) {
    absl::StrAppend(
        &text, "   ",
        style.Paint(ToneOfResource(word),
                    absl::StrCat(absl::AsciiStrToUpper(
                                     response.bound() == v1::BOUND_COMMUNICATION
                                         ? "communication"
                                         : word),
                                 "-bound")));
  }
  absl::StrAppend(
      &text, "\n",
      Line("p10-p90", absl::StrCat(Seconds(response.p10_seconds()), " - ",
                                   Seconds(response.p90_seconds()))),
      Line("floor",
           absl::StrCat(Seconds(response.floor_seconds()), ", ",
                        Percent(response.floor_seconds(), seconds),
                        " of it: the least that the datasheet allows")),
      Line("overlapped",
           absl::StrCat(Seconds(response.overlapped_seconds()),
                        " if its parts overlapped fully, ",
                        Seconds(response.serial_seconds()), " end to end")));
  for (const v1::OpEstimate& op : response.ops()) {
    if (op.algorithm().empty()) continue;
    absl::StrAppend(&text, Line("algorithm", op.algorithm()));
  }
  absl::StrAppend(&text, Line("work", WorkText(response)));
  // A collective has hardly any arithmetic.
  const bool links = std::any_of(response.ops().begin(), response.ops().end(),
                                 [](const v1::OpEstimate& op) {
                                   return op.work().communication_bytes() > 0;
                                 });
  if (!links) absl::StrAppend(&text, Line("intensity", Intensity(response)));
  return text;
}

v1::Tier TierOf(const v1::EstimateKernelResponse& response) {
  v1::Tier weakest = v1::TIER_UNSPECIFIED;
  for (const v1::OpEstimate& op : response.ops()) {
    if (weakest == v1::TIER_UNSPECIFIED || op.tier() < weakest) {
      weakest = op.tier();
    }
  }
  return weakest;
}

}  // namespace mansard::cli
