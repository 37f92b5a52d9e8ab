#include <functional>
#include <iterator>
#include <utility>

#include "clients/cli/output/judgement_text.h"

namespace mansard::cli {
namespace {

using calibrate::Errors;
using calibrate::Judgement;

Cell Count(size_t count) { return Number(static_cast<double>(count)); }

// A report made column by column.
class ByColumn {
 public:
  explicit ByColumn(const std::vector<Judgement>& judgements)
      : judgements_(judgements) {
    report_.rows.resize(judgements.size());
  }

  void Add(const std::string& name,
           const std::function<Cell(const Judgement&)>& cell) {
    report_.columns.push_back({name, Unit::kNone, Align::kRight, name});
    for (size_t i = 0; i < judgements_.size(); ++i) {
      report_.rows[i].push_back(cell(judgements_[i]));
    }
  }
  Report Result() && { return std::move(report_); }

 private:
  const std::vector<Judgement>& judgements_;
  Report report_;
};

void AddGroup(ByColumn& columns) {
  using J = Judgement;
  columns.Add("table", [](const J& one) { return Text(one.table); });
  columns.Add("device", [](const J& one) { return Text(one.device); });
  columns.Add("framework", [](const J& one) { return Text(one.framework); });
  columns.Add("framework_version",
              [](const J& one) { return Text(one.version); });
  columns.Add("slice", [](const J& one) { return Text(one.slice); });
  columns.Add("stack", [](const J& one) { return Text(one.stack); });
  columns.Add("tier", [](const J& one) {
    return one.answered > 0 ? Text(TierName(one.tier)) : Cell();
  });
  columns.Add("target_ratio", [](const J& one) {
    return one.target.has_value() ? Number(one.target->error) : Cell();
  });
  columns.Add("target_statistic", [](const J& one) {
    if (!one.target.has_value()) return Cell();
    return Text(one.target->of_median ? "median" : "mean");
  });
}

void AddCounts(ByColumn& columns) {
  columns.Add("row_count",
              [](const Judgement& one) { return Count(one.rows); });
  columns.Add("answered_count",
              [](const Judgement& one) { return Count(one.answered); });
  const char* const reasons[] = {"no_device_count", "no_stack_count",
                                 "not_served_count"};
  static_assert(std::size(reasons) == calibrate::kUnansweredCount);
  for (size_t i = 0; i < std::size(reasons); ++i) {
    columns.Add(reasons[i],
                [i](const Judgement& one) { return Count(one.unanswered[i]); });
  }
}

// `roofline`: of a rival without intervals, on the rows of another column.
void AddErrors(const std::string& name, Errors Judgement::*errors,
               bool roofline, ByColumn& columns) {
  if (!roofline) {
    columns.Add(name + "_row_count", [errors](const Judgement& one) {
      return Count((one.*errors).rows);
    });
  }
  const std::pair<const char*, double Errors::*> figures[] = {
      {"_mean_ratio", &Errors::mean},
      {"_median_ratio", &Errors::median},
      {"_p90_ratio", &Errors::p90},
      {"_bias_ratio", &Errors::bias},
      {"_in_range_ratio", &Errors::in_range}};
  for (const auto& [figure, member] : figures) {
    if (roofline && member == &Errors::in_range) continue;
    columns.Add(name + figure, [errors, value = member](const Judgement& one) {
      const Errors& own = one.*errors;
      return own.rows == 0 ? Cell() : Number(own.*value);
    });
  }
}

}  // namespace

Report JudgementsReport(const std::vector<Judgement>& judgements) {
  ByColumn columns(judgements);
  AddGroup(columns);
  AddCounts(columns);
  AddErrors("in_target", &Judgement::in_target, false, columns);
  AddErrors("in_target_roofline", &Judgement::in_target_roofline, true,
            columns);
  AddErrors("all", &Judgement::all, false, columns);
  AddErrors("all_roofline", &Judgement::all_roofline, true, columns);
  return std::move(columns).Result();
}

}  // namespace mansard::cli
