#include "calibrate/tables/serving_rules.h"

#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

constexpr char kDeepSeek[] = "DeepSeek-R1/V3";

bool IsComplete(const ServingRow& row) {
  return row.CountsForCoverage() && row.load == LoadType::kFixedConcurrency &&
         row.input_tokens > 0 && row.output_tokens > 1;
}

bool IsFlattened(const RowLayout& layout) {
  return layout.tensor == 1 && layout.expert > 1 && layout.moe_tensor > 1 &&
         layout.data == layout.expert * layout.moe_tensor;
}

bool IsGap(const ServingRow& row) {
  return row.model == "Qwen3-235B-A22B" || row.model == "Llama-3.1-8B";
}

bool DraftsSuspected(const ServingRow& row) {
  return ModelFamily(row) == kDeepSeek && row.engine == "TensorRT-LLM" &&
         (row.version == "1.2.0rc6.post3" || row.version == "1.1.0rc2.post2");
}

// Runs with equal keys are one: nobody measures the same two times twice.
using RunKey = std::tuple<std::string, std::string, std::string, std::string,
                          double, double, double, double, double>;
RunKey KeyOf(const ServingRow& row) {
  return {row.device,      ModelFamily(row), row.precision,
          row.engine,      row.input_tokens, row.output_tokens,
          row.in_flight(), row.ttft_ms,      row.tpot_ms};
}

// By what the row alone says.
RowStanding StandingOf(const ServingRow& row) {
  if (!IsComplete(row)) return RowStanding::kOtherKind;
  if (!row.flag.empty()) return RowStanding::kFlagged;
  if (IsFlattened(row.layout)) return RowStanding::kFlattened;
  if (DraftsSuspected(row)) return RowStanding::kDraftsSuspected;
  return IsGap(row) ? RowStanding::kGap : RowStanding::kCore;
}

}  // namespace

absl::string_view RowStandingText(RowStanding standing) {
  switch (standing) {
    case RowStanding::kCore:
      return "core";
    case RowStanding::kGap:
      return "Qwen3-235B and Llama-3.1-8B";
    case RowStanding::kDraftsSuspected:
      return "drafts suspected";
    case RowStanding::kDuplicate:
      return "the same run twice";
    case RowStanding::kFlattened:
      return "flattened layout";
    case RowStanding::kFlagged:
      return "flagged";
    case RowStanding::kOtherKind:
      return "another kind of run";
  }
  return "";
}

std::vector<RowStanding> StandingsOf(const std::vector<ServingRow>& rows) {
  std::vector<RowStanding> standings;
  standings.reserve(rows.size());
  std::map<RunKey, size_t> seen;
  for (const ServingRow& row : rows) {
    RowStanding standing = StandingOf(row);
    const bool is_run = standing == RowStanding::kCore ||
                        standing == RowStanding::kGap ||
                        standing == RowStanding::kDraftsSuspected;
    if (is_run && !seen.emplace(KeyOf(row), row.row).second) {
      standing = RowStanding::kDuplicate;
    }
    standings.push_back(standing);
  }
  return standings;
}

std::string ModelFamily(const ServingRow& row) {
  if (row.model == "DeepSeek-R1" || row.model == "DeepSeek-V3") {
    return kDeepSeek;
  }
  return row.model;
}

std::string ConfigurationOf(const ServingRow& row) {
  return absl::StrCat(row.device, "|", ModelFamily(row), "|", row.precision,
                      "|", row.engine, "|", row.layout.tensor, "|",
                      row.layout.data, "|", row.layout.expert);
}

std::string DeploymentOf(const ServingRow& row) {
  return absl::StrCat(ConfigurationOf(row), "|", row.layout.moe_tensor, "|",
                      row.version);
}

int FoldOf(absl::string_view text, int folds) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 32;
  return static_cast<int>(hash % static_cast<uint64_t>(folds));
}

bool IsHeldOut(const ServingRow& row) {
  return FoldOf(ConfigurationOf(row), kConfigurationFolds) == 0;
}

bool IsSlotLimited(const ServingRow& row, double requests_that_fit) {
  return row.in_flight() >= 256 &&
         row.ttft_ms > row.output_tokens * row.tpot_ms / 2 &&
         requests_that_fit >= 1.5 * row.in_flight();
}

bool HoldsStartUp(const ServingRow& row, double unfitted_ttft_ms) {
  return row.ttft_ms > 6 * unfitted_ttft_ms;
}

}  // namespace mansard::calibrate
