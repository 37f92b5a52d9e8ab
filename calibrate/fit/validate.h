// The engine judged on measured matrix products.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/fit/gemm_rows.h"
#include "model/hardware/kernel_stack.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

struct ValidateOptions {
  // Empty: the row's device, engine and version through the alias table; the
  // profile's first stack where it has none of that name.
  std::string hardware = "";
  std::string stack = "";
  bool spec_tier = false;    // Always the first stack.
  bool fitted_rows = false;  // Judge the rows that fits saw too.
};

// Errors are fractions of the measured time.
struct Errors {
  size_t rows = 0;
  double mean = 0;  // Of the sizes, as the next two.
  double median = 0;
  double p90 = 0;
  double bias = 0;      // Mean of (predicted - measured) / measured.
  double in_range = 0;  // Share of rows between the answer's p10 and p90.
};

// Rows of one device, formats, framework and version.
struct Judgement {
  std::string device;
  std::string framework;
  std::string version;
  std::string formats;  // "bf16", "bf16 x int8", "fp8-block + quantize".
  std::string stack;    // That answered; empty where none did.
  model::Tier tier = model::Tier::kSpec;
  size_t rows = 0;
  size_t answered = 0;
  Errors all;
  Errors large;           // Of n, k >= kLargeSide.
  Errors large_roofline;  // Same rows: max(FLOP / peak, bytes / bandwidth).
};
inline constexpr int64_t kLargeSide = 512;

// Rows with a flag count for nothing. Error: hardware or stack unknown.
absl::StatusOr<std::vector<Judgement>> Validate(
    const std::vector<GemmRow>& rows, const model::ShippedData& data,
    const ValidateOptions& options);

std::string ToTable(const std::vector<Judgement>& judgements);
std::string ToJson(const std::vector<Judgement>& judgements);

}  // namespace mansard::calibrate
