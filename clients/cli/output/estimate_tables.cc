#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

constexpr int kBarWidth = 16;

Cell BoundCell(v1::Bound bound) {
  const std::string word = BoundWord(bound);
  return Text(word, ToneOfResource(word));
}

Cell ResourceCell(const std::string& resource) {
  return Text(resource, ToneOfResource(resource));
}

// "rows=544 columns=8192 bf16" as "544x8192 bf16", to fit a line.
std::string ShapeOf(const v1::OpEstimate& op) {
  return absl::StrReplaceAll(op.shape(), {{"rows=", ""}, {" columns=", "x"}});
}

// After an op's tier; OpsLegend explains them.
std::string Marks(const v1::OpEstimate& op) {
  return absl::StrCat(op.extrapolated() ? "*" : "",
                      op.raised_to_floor() ? "^" : "");
}

double BytesOf(const v1::Work& work) {
  return work.weight_read_bytes() + work.kv_read_bytes() +
         work.kv_write_bytes() + work.activation_read_bytes() +
         work.activation_write_bytes();
}

// "layers.dense.qkv_proj[1]" -> "qkv_proj": the part alone, so that layer
// kinds and groups add up. Drafting is one part: its cost stands apart.
std::string PartOf(const v1::OpEstimate& op) {
  if (absl::StartsWith(op.op(), "draft.")) return "drafting";
  const std::string& kind = op.op_kind();
  if (kind == "gemm") {
    const absl::string_view name(op.op());
    const absl::string_view last = name.substr(name.rfind('.') + 1);
    return std::string(last.substr(0, last.find('[')));
  }
  if (kind == "norm" || kind == "rope" || kind == "activation" ||
      kind == "residual" || kind == "quantize") {
    return "element-wise";
  }
  return absl::StrReplaceAll(kind, {{"_", "-"}});
}

double ShareOf(const v1::OpEstimate& op, double whole_seconds) {
  return whole_seconds > 0
             ? op.repeat_count() * op.time_seconds() / whole_seconds
             : 0;
}

// Ops that share a row of the table by parts.
struct PartTotal {
  std::string name;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
  double message_bytes = 0;
  std::map<std::string, double> resource_seconds;
  std::map<v1::Bound, double> bound_seconds;
};

template <class Map>
typename Map::key_type LargestKey(const Map& map) {
  typename Map::key_type key{};
  double largest = -1;
  for (const auto& [candidate, value] : map) {
    if (value > largest) {
      largest = value;
      key = candidate;
    }
  }
  return key;
}

std::vector<PartTotal> PartTotals(const v1::PhaseEstimate& estimate) {
  std::vector<PartTotal> totals;
  for (const v1::OpEstimate& op : estimate.ops()) {
    const std::string name = PartOf(op);
    auto total = std::find_if(
        totals.begin(), totals.end(),
        [&name](const PartTotal& candidate) { return candidate.name == name; });
    if (total == totals.end()) {
      total = totals.emplace(totals.end());
      total->name = name;
    }
    const double repeats = op.repeat_count();
    total->seconds += repeats * op.time_seconds();
    total->flops += repeats * (op.work().flops() + op.work().vector_flops());
    total->bytes += repeats * BytesOf(op.work());
    total->message_bytes += repeats * op.work().communication_bytes();
    total->bound_seconds[op.bound()] += repeats * op.time_seconds();
    for (const auto& time : op.resource_times()) {
      total->resource_seconds[time.resource()] +=
          repeats * time.attributed_seconds();
    }
  }
  return totals;
}

// Bytes of one class at HBM; only its bytes are known apart.
std::vector<Cell> ClassRow(absl::string_view name, double bytes,
                           size_t columns) {
  std::vector<Cell> row(columns);
  row[0] = Text(absl::StrCat("  ", name), Tone::kFaint);
  row[1] = Number(bytes);
  for (size_t i = 2; i < columns; ++i) row[i] = Text(" ");
  return row;
}

// A rate above the physical one: no ceiling, and no peak.
std::vector<Cell> EffectiveFeedRow(const v1::WaterfallTier& tier,
                                   size_t columns) {
  std::vector<Cell> row(columns);
  row[0] = Text("  effective feed", Tone::kFaint);
  for (size_t i = 1; i < columns; ++i) row[i] = Text(" ");
  row[3] = Number(tier.busy_bytes_per_second());
  return row;
}

}  // namespace

Report PartsReport(const v1::EstimateResponse& response) {
  Report report{{{"part", Unit::kNone, Align::kLeft},
                 {"time", Unit::kSeconds},
                 {"share", Unit::kPercent},
                 {"bound", Unit::kNone, Align::kLeft},
                 {"limit", Unit::kNone, Align::kLeft},
                 {"work", Unit::kFlops},
                 {"bytes", Unit::kBytes},
                 {"comm", Unit::kBytes}},
                {}};
  const double step = response.estimate().time_seconds();
  PartTotal sum;
  for (const PartTotal& total : PartTotals(response.estimate())) {
    sum.flops += total.flops;
    sum.bytes += total.bytes;
    sum.message_bytes += total.message_bytes;

    report.rows.push_back({Text(total.name), Number(total.seconds),
                           Number(step > 0 ? total.seconds / step : 0),
                           BoundCell(LargestKey(total.bound_seconds)),
                           ResourceCell(LargestKey(total.resource_seconds)),
                           NumberOrNothing(total.flops),
                           NumberOrNothing(total.bytes),
                           NumberOrNothing(total.message_bytes)});
  }
  const double hidden = response.estimate().hidden_seconds();
  if (hidden > 0) {
    report.rows.push_back({Text("overlap hides"), Number(-hidden),
                           Number(step > 0 ? -hidden / step : 0), Cell{},
                           Cell{}, Cell{}, Cell{}, Cell{}});
  }
  report.rows.push_back({Text("step", Tone::kStrong), Number(step), Number(1),
                         BoundCell(response.estimate().bound()), Text(" "),
                         NumberOrNothing(sum.flops), NumberOrNothing(sum.bytes),
                         NumberOrNothing(sum.message_bytes)});
  return report;
}

Report OpsReport(const OpEstimates& ops, double whole_seconds, v1::Tier tier) {
  Report report{{{"op", Unit::kNone, Align::kLeft},
                 {"n", Unit::kNone, Align::kRight, "repeat_count"},
                 {"each", Unit::kSeconds},
                 {"share", Unit::kPercent},
                 {"floor", Unit::kPercent},
                 {"limit", Unit::kNone, Align::kLeft}},
                {}};
  const bool tiers_differ =
      std::any_of(ops.begin(), ops.end(), [tier](const v1::OpEstimate& op) {
        return op.tier() != tier || !Marks(op).empty();
      });
  report.columns.push_back({"tier", Unit::kNone, Align::kLeft, "",
                            tiers_differ ? Reader::kBoth : Reader::kPrograms});
  for (const char* mark : {"extrapolated", "raised_to_floor"}) {
    report.columns.push_back(
        {mark, Unit::kNone, Align::kLeft, "", Reader::kPrograms});
  }
  report.columns.push_back({"shape", Unit::kNone, Align::kLeft});
  for (const v1::OpEstimate& op : ops) {
    std::vector<Cell> row = {Text(op.op()),
                             Number(op.repeat_count()),
                             Number(op.time_seconds()),
                             Number(ShareOf(op, whole_seconds)),
                             Number(op.efficiency_ratio()),
                             ResourceCell(op.limiting_resource())};
    row.push_back(ShownAs(Text(TierWord(op.tier())),
                          absl::StrCat(TierWord(op.tier()), Marks(op))));
    row.push_back(Text(op.extrapolated() ? "true" : "false"));
    row.push_back(Text(op.raised_to_floor() ? "true" : "false"));
    row.push_back(Text(ShapeOf(op)));
    report.rows.push_back(std::move(row));
  }
  return report;
}

std::string OpsLegend(const OpEstimates& ops) {
  bool extrapolated = false;
  bool raised = false;
  for (const v1::OpEstimate& op : ops) {
    extrapolated |= op.extrapolated();
    raised |= op.raised_to_floor();
  }
  return absl::StrCat(
      extrapolated ? "  * outside the range that was fitted\n" : "",
      raised ? "  ^ calibrated time below the floor: raised to it\n" : "");
}

std::string AdviceText(const OpEstimates& ops, double whole_seconds) {
  constexpr double kLeastShare = 0.01;
  struct Advice {
    std::string text;
    std::string op;
    double op_share = 0;
    double share = 0;
    int ops = 0;
  };
  std::vector<Advice> all;
  for (const v1::OpEstimate& op : ops) {
    const double share = ShareOf(op, whole_seconds);
    if (share < kLeastShare || op.advice().empty()) continue;
    auto entry = std::find_if(all.begin(), all.end(), [&](const Advice& other) {
      return other.text == op.advice();
    });
    if (entry == all.end()) {
      entry = all.insert(all.end(), {.text = op.advice(), .op = ""});
    }
    if (share > entry->op_share) {
      entry->op = op.op();
      entry->op_share = share;
    }
    entry->share += share;
    ++entry->ops;
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.share > b.share;
  });
  std::string out;
  for (const Advice& advice : all) {
    const std::string more =
        advice.ops > 1 ? absl::StrCat(" and ", advice.ops - 1, " more") : "";
    const std::string which =
        ops.size() == 1 ? ""
                        : absl::StrFormat("%s%s (%.0f %%): ", advice.op, more,
                                          100 * advice.share);
    absl::StrAppend(&out,
                    "advice: ", Wrapped(absl::StrCat(which, advice.text), 8));
  }
  return out;
}

Report WaterfallReport(const v1::EstimateResponse& response) {
  Report report{{{"row", Unit::kNone, Align::kLeft},
                 {"moved", Unit::kBytes},
                 {"peak", Unit::kBytesPerSecond},
                 {"achieved", Unit::kBytesPerSecond},
                 {"busy", Unit::kSeconds},
                 {"exposed", Unit::kSeconds},
                 {"share", Unit::kPercent},
                 {"", Unit::kNone, Align::kLeft, "", Reader::kPeople}},
                {}};
  for (const v1::WaterfallTier& tier : response.estimate().waterfall()) {
    const Tone tone = ToneOfResource(tier.tier());
    const auto bar =
        static_cast<size_t>(std::lround(tier.share_ratio() * kBarWidth));
    report.rows.push_back({Text(tier.tier(), tone),
                           NumberOrNothing(tier.moved_bytes()),
                           NumberOrNothing(tier.peak_bytes_per_second()),
                           NumberOrNothing(tier.achieved_bytes_per_second()),
                           NumberOrNothing(tier.busy_seconds()),
                           NumberOrNothing(tier.exposed_seconds()),
                           NumberOrNothing(tier.share_ratio()),
                           Text(bar > 0 ? std::string(bar, '#') : " ", tone)});
    if (tier.effective_feed()) {
      report.rows.push_back(EffectiveFeedRow(tier, report.columns.size()));
    }
    if (tier.tier() == "hbm") {
      const size_t columns = report.columns.size();
      report.rows.push_back(ClassRow("weights", tier.weight_bytes(), columns));
      report.rows.push_back(
          ClassRow("KV cache", tier.kv_cache_bytes(), columns));
      report.rows.push_back(
          ClassRow("activations", tier.activation_bytes(), columns));
    }
  }
  return report;
}

}  // namespace mansard::cli
