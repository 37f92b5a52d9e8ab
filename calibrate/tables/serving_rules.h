// Which rows of served runs count for what: rules over their columns alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "calibrate/tables/serving_rows.h"

namespace mansard::calibrate {

// The first that holds. Source: Mansard design, end to end §5 and §6.
enum class RowStanding {
  kCore,
  // Their models' runs were collected because another tool was wrong on them,
  // and are bound by the host or by hits of a prefix cache: judged apart.
  kGap,
  // DeepSeek on two versions of TensorRT-LLM runs 1.2 to 1.65 times as fast as
  // on those beside them, as drafts would make it; no column says so.
  kDraftsSuspected,
  // The same run stands there under another name or layout.
  kDuplicate,
  // Attention data parallelism of more ranks than devices: dp is ep x moe_tp of
  // a run that has dp = ep.
  kFlattened,
  kFlagged,  // Something is known against the row.
  // Not aggregated at fixed concurrency, or columns are missing.
  kOtherKind,
};
inline constexpr int kRowStandingCount = 7;
absl::string_view RowStandingText(RowStanding standing);

// One for each row.
std::vector<RowStanding> StandingsOf(const std::vector<ServingRow>& rows);

// DeepSeek-R1 and -V3 are one: they differ by weights' values alone.
std::string ModelFamily(const ServingRow& row);
// What runs of one deployment have in common: device, model family, precision,
// engine, tensor, data and expert ranks. A fit sees all of its rows or none.
std::string ConfigurationOf(const ServingRow& row);
// With the version: what a deployment's own factor is of.
std::string DeploymentOf(const ServingRow& row);
// 0 to folds - 1, by a hash of the text.
int FoldOf(absl::string_view text, int folds);

inline constexpr int kConfigurationFolds = 5;
// A fifth of all configurations: shipped costs are not fitted to them, so that
// what is shipped can be judged.
bool IsHeldOut(const ServingRow& row);

// An admission limit that no column says: the time to first token exceeds half
// the time of all outputs, of 256 or more requests, although the cache would
// hold 1.5 times as many.
bool IsSlotLimited(const ServingRow& row, double requests_that_fit);
// Start-up within the measurement: the time to first token is more than six
// times what no measurement was needed to estimate.
bool HoldsStartUp(const ServingRow& row, double unfitted_ttft_ms);

}  // namespace mansard::calibrate
