// What limits an op, why, and in which direction to change it: one table.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/price/price.h"

namespace mansard::model {

// Ops that are limited in the same ways.
enum class OpClass {
  kGemm,  // Grouped ones, too.
  kDecodeAttention,
  kPrefillAttention,
  kElementwise,
  kCollective,
  kHost,
  kEvery,  // Rows of the table only.
};

// What else is true of an op.
enum class Situation {
  kAlways,
  kFasterFormat,    // 16-bit work on a device with a narrower tensor rate.
  kWidenedWeights,  // Weights are stored narrower than their input.
  kWideWeights,     // Most HBM bytes are weights of 16 bits or more.
  kNarrowWeights,   // Most HBM bytes are weights, narrow already.
  kWideKv,          // Most HBM bytes are KV cache of 16 bits or more.
  kNarrowKv,        // Most HBM bytes are KV cache, narrow already.
  kUnfusedScores,
  kSpilled,  // Activations exceed L2.
};

struct AdviceRow {
  Resource limit;
  OpClass op_class;
  Situation situation;
  absl::string_view cause;
  absl::string_view direction;
};

// In order: the first row that applies is the advice. The last of each resource
// applies to every op.
const std::vector<AdviceRow>& AdviceTable();

const AdviceRow& AdviceRowFor(const Op& op, const OpTime& time,
                              const Device& device);

// "hbm: each weight is read for few rows; batch more tokens, or ...".
std::string AdviceFor(const Op& op, const OpTime& time, const Device& device);

}  // namespace mansard::model
