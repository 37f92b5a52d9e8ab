#include "calibrate/judge/judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace mansard::calibrate {
namespace {

// An answered row: its case, its answer and their distance.
struct Row {
  const MeasuredCase* measured;
  const Prediction* prediction;
  double error;
  bool in_range;
};

struct Group {
  Judgement judgement;
  std::vector<Row> rows;
};

double ErrorOf(model::Seconds predicted, model::Seconds measured) {
  return predicted / measured - 1;
}

void Add(const MeasuredCase& measured, const CaseAnswer& answer, Group& group) {
  ++group.judgement.rows;
  if (const auto* reason = std::get_if<Unanswered>(&answer)) {
    ++group.judgement.unanswered[static_cast<size_t>(*reason)];
    return;
  }
  const Prediction& prediction = std::get<Prediction>(answer);
  group.judgement.tier = group.rows.empty()
                             ? prediction.tier
                             : std::min(group.judgement.tier, prediction.tier);
  group.judgement.stack = prediction.stack->spec().id;
  group.rows.push_back({&measured, &prediction,
                        ErrorOf(prediction.estimate, measured.measured),
                        prediction.p10 <= measured.measured &&
                            measured.measured <= prediction.p90});
}

void SetErrors(const std::vector<Row>& rows, Judgement& judgement) {
  ErrorSums all;
  ErrorSums in_target;
  ErrorSums all_roofline;
  ErrorSums in_target_roofline;
  std::vector<SizedError> sized;
  for (const Row& row : rows) {
    const double roofline =
        ErrorOf(row.prediction->roofline, row.measured->measured);
    all.Add(row.error, row.in_range);
    all_roofline.Add(roofline, false);
    sized.push_back({row.measured->size, row.error, row.in_range});
    if (!row.measured->in_target) continue;
    in_target.Add(row.error, row.in_range);
    in_target_roofline.Add(roofline, false);
  }
  judgement.answered = rows.size();
  judgement.all = all.Result();
  judgement.in_target = in_target.Result();
  judgement.all_roofline = all_roofline.Result();
  judgement.in_target_roofline = in_target_roofline.Result();
  judgement.deciles = DecilesOf(std::move(sized));
}

std::vector<WorstRow> WorstOf(std::vector<Row> rows, size_t most) {
  const size_t count = std::min(most, rows.size());
  std::partial_sort(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count),
      rows.end(), [](const Row& a, const Row& b) {
        const double size_a = std::abs(a.error);
        const double size_b = std::abs(b.error);
        return size_a != size_b ? size_a > size_b
                                : a.measured->row < b.measured->row;
      });
  std::vector<WorstRow> worst;
  for (size_t i = 0; i < count; ++i) {
    const MeasuredCase& measured = *rows[i].measured;
    worst.push_back({measured.row, measured.shape, measured.measured,
                     rows[i].prediction->estimate, measured.in_target});
  }
  return worst;
}

// The largest first; groups without rows that count for it last.
std::tuple<double, double> Order(const Judgement& judgement) {
  return {judgement.in_target.rows > 0 ? -judgement.in_target.mean : 1.0,
          -judgement.all.mean};
}

}  // namespace

double Judgement::TargetError() const {
  return target.has_value() && target->of_median ? in_target.median
                                                 : in_target.mean;
}

bool Judgement::Misses() const {
  return target.has_value() && in_target.rows > 0 &&
         TargetError() > target->error;
}

bool IsJudged(const MeasuredCase& measured, const JudgeOptions& options) {
  return measured.flag.empty() &&
         (options.all_rows || measured.side == Side::kHeldOut);
}

std::vector<Judgement> Judge(const std::vector<MeasuredCase>& cases,
                             const std::vector<CaseAnswer>& answers,
                             const JudgeOptions& options) {
  using Key =
      std::tuple<size_t, std::string, std::string, std::string, std::string>;
  std::map<std::string, size_t> tables;  // By order of appearance.
  std::map<Key, Group> groups;
  for (size_t i = 0; i < cases.size(); ++i) {
    const MeasuredCase& one = cases[i];
    if (!IsJudged(one, options)) continue;
    const size_t table = tables.emplace(one.table, tables.size()).first->second;
    Group& group =
        groups[{table, one.device, one.framework, one.version, one.slice}];
    if (group.judgement.rows == 0) {
      group.judgement.table = one.table;
      group.judgement.device = one.device;
      group.judgement.framework = one.framework;
      group.judgement.version = one.version;
      group.judgement.slice = one.slice;
      group.judgement.target = TargetFor(one.table, one.device, one.slice);
    }
    Add(one, answers[i], group);
  }
  std::vector<Judgement> judgements;
  for (auto& [key, group] : groups) {
    SetErrors(group.rows, group.judgement);
    group.judgement.worst = WorstOf(std::move(group.rows), options.worst_rows);
    judgements.push_back(std::move(group.judgement));
  }
  std::stable_sort(judgements.begin(), judgements.end(),
                   [&](const Judgement& a, const Judgement& b) {
                     return std::tuple(tables.at(a.table), Order(a)) <
                            std::tuple(tables.at(b.table), Order(b));
                   });
  return judgements;
}

}  // namespace mansard::calibrate
