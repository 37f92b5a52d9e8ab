// What `mansard validate` prints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/judge/judge.h"
#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"

namespace mansard::cli {

struct JudgementTextOptions {
  size_t worst_rows = 0;  // Shown of each group.
  bool legend = true;
};

// By table, the worst groups first. For Markdown: those above their target
// first, of all tables.
std::string JudgementsText(const std::vector<calibrate::Judgement>& judgements,
                           const JudgementTextOptions& options,
                           const Style& style);

// Every figure of each group but deciles and worst rows, for CSV.
Report JudgementsReport(const std::vector<calibrate::Judgement>& judgements);

// All of them, as an object with the list "judgements".
std::string JudgementsJson(const std::vector<calibrate::Judgement>& judgements);

}  // namespace mansard::cli
