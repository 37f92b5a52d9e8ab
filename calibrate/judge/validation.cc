#include "calibrate/judge/validation.h"

#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibrate/judge/predictions.h"
#include "calibrate/judge/predictor.h"
#include "calibrate/tables/tables.h"
#include "model/base/status_macros.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

constexpr size_t kRowsBetweenProgress = 2000;

using Cases = std::vector<MeasuredCase>;

absl::StatusOr<Cases> Read(const MeasuredText& table) {
  absl::StatusOr<Cases> cases = ReadMeasured(table.csv);
  if (cases.ok()) return cases;
  return absl::InvalidArgumentError(
      absl::StrCat(table.name, ": ", cases.status().message()));
}

}  // namespace

absl::StatusOr<Validation> Validate(const std::vector<MeasuredText>& tables,
                                    const ValidationOptions& options) {
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  ASSIGN_OR_RETURN(Predictor predictor, Predictor::Create(data, options.place));
  std::vector<Cases> read;
  size_t rows = 0;
  for (const MeasuredText& table : tables) {
    ASSIGN_OR_RETURN(read.emplace_back(), Read(table));
    rows += read.back().size();
  }
  Validation validation;
  Cases all;
  std::vector<CaseAnswer> all_answers;
  size_t done = 0;
  for (size_t i = 0; i < tables.size(); ++i) {
    std::vector<CaseAnswer> answers;
    answers.reserve(read[i].size());
    for (const MeasuredCase& measured : read[i]) {
      const bool asked =
          options.predictions || IsJudged(measured, options.judge);
      // Nobody looks at the others.
      answers.push_back(asked ? predictor.Predict(measured)
                              : CaseAnswer(Unanswered::kWork));
      if (options.progress && ++done % kRowsBetweenProgress == 0) {
        options.progress(done, rows);
      }
    }
    if (options.predictions) {
      ASSIGN_OR_RETURN(validation.predictions.emplace_back(),
                       WithPredictions(tables[i].csv, read[i], answers));
    }
    all.insert(all.end(), std::make_move_iterator(read[i].begin()),
               std::make_move_iterator(read[i].end()));
    all_answers.insert(all_answers.end(), answers.begin(), answers.end());
  }
  validation.judgements = Judge(all, all_answers, options.judge);
  return validation;
}

}  // namespace mansard::calibrate
