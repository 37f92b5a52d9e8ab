#include "calibrate/revision/diff_text.h"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::calibrate {
namespace {

std::string Value(const std::optional<RevisionNumber>& number) {
  return number.has_value() ? absl::StrFormat("%.4g", number->value) : "none";
}

std::string Percent(const std::optional<double>& percent) {
  return percent.has_value() ? absl::StrFormat("%+.1f %%", *percent) : "";
}

std::string Row(const std::string& name, const std::string& a,
                const std::string& b, const std::optional<double>& percent,
                absl::string_view note) {
  std::string row = absl::StrFormat("    %-44s %10s -> %10s %10s", name, a, b,
                                    Percent(percent));
  if (!note.empty()) absl::StrAppend(&row, "  ", note);
  while (row.back() == ' ') row.pop_back();
  return absl::StrCat(row, "\n");
}

// Empty where only the provenance is another.
std::string NumberRow(const NumberChange& change) {
  if (change.a.has_value() && change.b.has_value() &&
      change.a->value == change.b->value && change.a->low == change.b->low &&
      change.a->high == change.b->high) {
    return "";
  }
  std::string note;
  if (const auto overlap = change.overlap()) {
    note = *overlap ? "overlap" : "apart";
  }
  return Row(change.name, Value(change.a), Value(change.b), change.percent(),
             note);
}

// A row each, and how many numbers are now known in another way.
std::string NumberRows(const std::vector<NumberChange>& changes) {
  std::string text;
  std::map<std::pair<std::string, std::string>, size_t> kinds;
  for (const NumberChange& one : changes) {
    absl::StrAppend(&text, NumberRow(one));
    if (one.a.has_value() && one.b.has_value() &&
        one.a->provenance != one.b->provenance) {
      ++kinds[{one.a->provenance, one.b->provenance}];
    }
  }
  for (const auto& [kind, count] : kinds) {
    absl::StrAppend(&text, "    ", kind.first, " -> ", kind.second, ": ", count,
                    count == 1 ? " number" : " numbers", "\n");
  }
  return text;
}

std::string FamilyText(const FamilyChange& family) {
  if (!family.in_a || !family.in_b) {
    // What the host adds is shown, too: it has no file of its own to look at.
    const std::string text = absl::StrCat(
        "  ", family.family, family.in_b ? ": added\n" : ": removed\n");
    return absl::StrCat(text, NumberRows(family.parameters));
  }
  std::string text = absl::StrCat("  ", family.family, "\n");
  if (family.formula_a != family.formula_b) {
    absl::StrAppend(&text,
                    Row("formula", family.formula_a, family.formula_b, {}, ""));
  }
  if (family.tier_a != family.tier_b) {
    absl::StrAppend(&text, Row("tier", family.tier_a, family.tier_b, {}, ""));
  }
  if (family.residual.has_value()) {
    absl::StrAppend(&text, NumberRow(*family.residual));
  }
  return absl::StrCat(text, NumberRows(family.parameters));
}

std::string StepText(const std::vector<StepChange>& steps) {
  if (steps.empty()) return "";
  std::string text = absl::StrCat("steps of ", kStepModel, ", ms\n");
  std::string stack;
  for (const StepChange& step : steps) {
    if (step.stack != stack) absl::StrAppend(&text, "  ", step.stack, "\n");
    stack = step.stack;
    absl::StrAppend(
        &text, Row(step.step, absl::StrFormat("%.4g", step.a_seconds * 1e3),
                   absl::StrFormat("%.4g", step.b_seconds * 1e3),
                   100 * (step.b_seconds / step.a_seconds - 1), ""));
  }
  return text;
}

}  // namespace

std::string DiffText(absl::string_view a, absl::string_view b,
                     const RevisionDiff& diff,
                     const std::vector<StepChange>& steps) {
  if (diff.empty()) return "";
  std::string text = absl::StrCat("--- ", a, "\n+++ ", b, "\n");
  if (!diff.device.empty()) absl::StrAppend(&text, "device and links\n");
  absl::StrAppend(&text, NumberRows(diff.device));
  for (const std::string& stack : diff.removed_stacks) {
    absl::StrAppend(&text, "stack ", stack, ": removed\n");
  }
  for (const std::string& stack : diff.added_stacks) {
    absl::StrAppend(&text, "stack ", stack, ": added\n");
  }
  std::string stack;
  for (const FamilyChange& family : diff.families) {
    if (family.stack != stack) {
      absl::StrAppend(&text, "stack ", family.stack, "\n");
    }
    stack = family.stack;
    absl::StrAppend(&text, FamilyText(family));
  }
  if (!diff.other.empty()) absl::StrAppend(&text, "else\n");
  for (const std::string& line : diff.other) {
    absl::StrAppend(&text, "    ", line, "\n");
  }
  return absl::StrCat(text, StepText(steps));
}

}  // namespace mansard::calibrate
