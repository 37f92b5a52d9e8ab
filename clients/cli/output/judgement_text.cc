#include "clients/cli/output/judgement_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace mansard::cli {
namespace {

using calibrate::Errors;
using calibrate::Judgement;
using Judgements = std::vector<const Judgement*>;

Cell Count(size_t count) { return Number(static_cast<double>(count)); }

// Nothing without rows.
Cell ErrorCell(const Errors& errors, double value) {
  return errors.rows == 0 ? Cell() : Number(value);
}

std::string SoftwareText(const Judgement& one) {
  return one.version.empty() ? one.framework
                             : absl::StrCat(one.framework, " ", one.version);
}

std::string GroupText(const Judgement& one) {
  return absl::StrCat(one.device, " ", SoftwareText(one), ", ", one.slice);
}

Tone ToneOf(const Judgement& one) {
  if (!one.target.has_value() || one.in_target.rows == 0) return Tone::kPlain;
  return one.Misses() ? Tone::kBad : Tone::kGood;
}

// The error that the target is about has the colour.
Cell TargetedCell(const Judgement& one, bool median) {
  Cell cell = ErrorCell(one.in_target,
                        median ? one.in_target.median : one.in_target.mean);
  const bool targeted = one.target.has_value() && one.target->of_median;
  if (targeted == median) cell.tone = ToneOf(one);
  return cell;
}

// Narrow enough for a terminal: what the group is comes last and is wrapped.
std::string GroupsTable(const Judgements& judgements, const Style& style) {
  Report report{
      {{"MAPE", Unit::kPercent},
       {"P50", Unit::kPercent},
       {"P90", Unit::kPercent},
       {"bias", Unit::kPercent},
       {"in", Unit::kPercent},
       {"roof", Unit::kPercent},
       {"all", Unit::kPercent},
       {"rows"},
       {"device software, slice: stack tier", Unit::kNone, Align::kLeft}},
      {}};
  for (const Judgement* one : judgements) {
    const Errors& errors = one->in_target;
    report.rows.push_back(
        {TargetedCell(*one, false), TargetedCell(*one, true),
         ErrorCell(errors, errors.p90), ErrorCell(errors, errors.bias),
         ErrorCell(errors, errors.in_range),
         ErrorCell(errors, one->in_target_roofline.mean),
         ErrorCell(one->all, one->all.mean), Count(one->answered),
         Text(absl::StrCat(GroupText(*one), ": ", one->stack, " ",
                           TierName(one->tier)))});
  }
  return TableText(report, style);
}

Cell TargetCell(const Judgement& one) {
  if (!one.target.has_value()) return {};
  Cell cell = Number(one.target->error);
  if (!one.target->of_median) return cell;
  return ShownAs(cell, absl::StrFormat("P50 %.1f", 100 * one.target->error));
}

std::string WideTable(const Judgements& judgements, const Style& style) {
  Report report{{{"table", Unit::kNone, Align::kLeft},
                 {"device", Unit::kNone, Align::kLeft},
                 {"software", Unit::kNone, Align::kLeft},
                 {"slice", Unit::kNone, Align::kLeft},
                 {"stack", Unit::kNone, Align::kLeft},
                 {"tier", Unit::kNone, Align::kLeft},
                 {"rows"},
                 {"MAPE", Unit::kPercent},
                 {"target", Unit::kPercent},
                 {"P50", Unit::kPercent},
                 {"P90", Unit::kPercent},
                 {"bias", Unit::kPercent},
                 {"in range", Unit::kPercent},
                 {"roofline", Unit::kPercent},
                 {"all rows", Unit::kPercent}},
                {}};
  for (const Judgement* one : judgements) {
    const Errors& errors = one->in_target;
    report.rows.push_back(
        {Text(one->table), Text(one->device), Text(SoftwareText(*one)),
         Text(one->slice), Text(one->stack), Text(TierName(one->tier)),
         Count(one->answered), ErrorCell(errors, errors.mean), TargetCell(*one),
         ErrorCell(errors, errors.median), ErrorCell(errors, errors.p90),
         ErrorCell(errors, errors.bias), ErrorCell(errors, errors.in_range),
         ErrorCell(errors, one->in_target_roofline.mean),
         ErrorCell(one->all, one->all.mean)});
  }
  return TableText(report, style);
}

// By reason; empty where all rows have an answer.
std::string UnansweredTable(const Judgements& judgements, const Style& style) {
  std::array<size_t, calibrate::kUnansweredCount> rows{};
  std::array<std::set<std::string>, calibrate::kUnansweredCount> places;
  for (const Judgement* one : judgements) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (one->unanswered[i] == 0) continue;
      rows[i] += one->unanswered[i];
      const auto reason = static_cast<calibrate::Unanswered>(i);
      places[i].insert(reason == calibrate::Unanswered::kWork
                           ? absl::StrCat(one->device, " ", one->slice)
                           : one->device);
    }
  }
  Report report{{{"not answered", Unit::kNone, Align::kLeft},
                 {"rows"},
                 {"where", Unit::kNone, Align::kLeft}},
                {}};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == 0) continue;
    report.rows.push_back(
        {Text(UnansweredText(static_cast<calibrate::Unanswered>(i))),
         Count(rows[i]), Text(absl::StrJoin(places[i], "; "))});
  }
  return report.rows.empty() ? "" : TableText(report, style);
}

std::string WorstTable(const Judgement& one, size_t most, const Style& style) {
  Report report{{{"row"},
                 {"error", Unit::kPercent},
                 {"measured", Unit::kSeconds},
                 {"predicted", Unit::kSeconds},
                 {"shape", Unit::kNone, Align::kLeft}},
                {}};
  for (size_t i = 0; i < std::min(most, one.worst.size()); ++i) {
    const calibrate::WorstRow& row = one.worst[i];
    report.rows.push_back(
        {Count(row.row), Number(row.predicted / row.measured - 1),
         Quantity(row.measured.value(), Unit::kSeconds),
         Quantity(row.predicted.value(), Unit::kSeconds), Text(row.shape)});
  }
  return absl::StrCat("worst rows: ", GroupText(one), "\n\n",
                      TableText(report, style), "\n");
}

std::string WorstTables(const Judgements& judgements, size_t most,
                        const Style& style) {
  std::string text;
  for (const Judgement* one : judgements) {
    if (most > 0 && !one->worst.empty()) {
      absl::StrAppend(&text, WorstTable(*one, most, style));
    }
  }
  return text;
}

Judgements Where(const Judgements& judgements,
                 const std::function<bool(const Judgement&)>& holds) {
  Judgements chosen;
  for (const Judgement* one : judgements) {
    if (holds(*one)) chosen.push_back(one);
  }
  return chosen;
}

bool IsAnswered(const Judgement& one) { return one.answered > 0; }

// One table's groups.
std::string TableSection(const Judgements& judgements,
                         const JudgementTextOptions& options,
                         const Style& style) {
  size_t rows = 0;
  size_t answered = 0;
  for (const Judgement* one : judgements) {
    rows += one->rows;
    answered += one->answered;
  }
  std::string text =
      absl::StrCat(style.Paint(Tone::kStrong, judgements.front()->table), "  ",
                   Grouped(static_cast<int64_t>(answered)), " of ",
                   Grouped(static_cast<int64_t>(rows)), " rows answered\n\n");
  const Judgements shown = Where(judgements, IsAnswered);
  if (!shown.empty()) absl::StrAppend(&text, GroupsTable(shown, style), "\n");
  const std::string missing = UnansweredTable(judgements, style);
  if (!missing.empty()) absl::StrAppend(&text, missing, "\n");
  return text + WorstTables(judgements, options.worst_rows, style);
}

std::string Legend() {
  return Wrapped(
      "MAPE, P50, P90, bias: errors in percent of the measured time, of the "
      "rows that targets are about; in: of those, measured between p10 and "
      "p90; roof: MAPE of max(FLOP / peak, bytes / bandwidth); all: MAPE of "
      "all rows; rows: how many those are",
      0);
}

std::string MarkdownSections(const Judgements& judgements,
                             const JudgementTextOptions& options,
                             const Style& style) {
  const Judgements answered = Where(judgements, IsAnswered);
  const auto targeted = [](const Judgement& one) {
    return one.target.has_value() && one.in_target.rows > 0;
  };
  const std::pair<const char*, Judgements> sections[] = {
      {"Above the target",
       Where(answered, [](const Judgement& one) { return one.Misses(); })},
      {"Within the target", Where(answered,
                                  [&](const Judgement& one) {
                                    return targeted(one) && !one.Misses();
                                  })},
      {"Without a target",
       Where(answered, [&](const Judgement& one) { return !targeted(one); })}};
  std::string text;
  for (const auto& [title, groups] : sections) {
    absl::StrAppend(&text, "\n## ", title, "\n\n",
                    groups.empty() ? "None.\n" : WideTable(groups, style));
  }
  const std::string missing = UnansweredTable(judgements, style);
  if (!missing.empty()) {
    absl::StrAppend(&text, "\n## Not answered\n\n", missing);
  }
  const std::string worst = WorstTables(answered, options.worst_rows, style);
  if (!worst.empty()) absl::StrAppend(&text, "\n## Worst rows\n\n", worst);
  return text;
}

}  // namespace

std::string JudgementsText(const std::vector<Judgement>& judgements,
                           const JudgementTextOptions& options,
                           const Style& style) {
  if (judgements.empty()) return "No row is judged.\n";
  Judgements all;
  for (const Judgement& one : judgements) all.push_back(&one);
  std::string text;
  if (style.markdown()) {
    text = MarkdownSections(all, options, style);
  } else {
    for (auto first = all.begin(); first != all.end();) {
      const auto end = std::find_if(first, all.end(), [&](const Judgement* j) {
        return j->table != (*first)->table;
      });
      absl::StrAppend(&text, TableSection({first, end}, options, style));
      first = end;
    }
  }
  return options.legend && !style.markdown() ? absl::StrCat(text, Legend())
                                             : text;
}

}  // namespace mansard::cli
