#include "calibrate/judge/targets.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

struct Row {
  const char* table;
  const char* device;  // How its name begins.
  // How it begins; more may follow, but no other format. With a blank before
  // and after: what it holds.
  const char* slice;
  Target target;
};
// The first that fits counts.
constexpr Row kTargets[] = {
    {"gemm", "H100", "bf16", {.06}},
    {"gemm", "H200", "bf16", {.06}},
    {"gemm", "", "bf16", {.08}},
    {"gemm", "", "fp8-e4m3", {.06}},
    {"gemm", "", "fp8-block", {.11}},
    {"gemm", "", "nvfp4", {.11}},
    {"attention_decode", "", "", {.10}},
    {"attention_prefill", "", "", {.10}},
    {"mla", "", "", {.09}},
    {"grouped_gemm_moe", "", "", {.09, true}},
    {"collectives", "", " nvlink ", {.10}},
    {"collectives", "", " rdma ", {.15}},
};

bool Fits(absl::string_view slice, absl::string_view start) {
  if (start.empty() || slice == start) return true;
  if (start.front() == ' ') return absl::StrContains(slice, start);
  // "bf16 x int8" is another product than "bf16".
  return absl::StartsWith(slice, absl::StrCat(start, " + ")) ||
         absl::StartsWith(slice, absl::StrCat(start, ","));
}

}  // namespace

std::optional<Target> TargetFor(absl::string_view table,
                                absl::string_view device,
                                absl::string_view slice) {
  for (const Row& row : kTargets) {
    if (table == row.table && absl::StartsWith(device, row.device) &&
        Fits(slice, row.slice)) {
      return row.target;
    }
  }
  return std::nullopt;
}

}  // namespace mansard::calibrate
