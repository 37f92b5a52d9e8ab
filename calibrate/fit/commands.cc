#include "calibrate/fit/commands.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "calibrate/fit/fit_stacks.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

absl::StatusOr<std::vector<GemmRow>> ReadTables(
    const std::vector<std::string>& tables) {
  if (tables.empty()) {
    return absl::InvalidArgumentError(
        "--measured: names no table; give one or more CSV files");
  }
  std::vector<GemmRow> rows;
  for (const std::string& table : tables) {
    std::ifstream file(table, std::ios::binary);
    if (!file) {
      return absl::NotFoundError(absl::StrCat(table, ": cannot be read"));
    }
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    absl::StatusOr<std::vector<GemmRow>> read = ReadGemmRows(text);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(table, ": ", read.status().message()));
    }
    rows.insert(rows.end(), std::make_move_iterator(read->begin()),
                std::make_move_iterator(read->end()));
  }
  return rows;
}

void PrintRecord(const FitRecord& record) {
  std::printf(
      "%-16s %-20s %-9s rows %4zu  loss %.4f  sigma %.3f  at prior: %s\n",
      record.hardware.c_str(), record.stack.c_str(),
      std::string(model::TraitsOf(record.format).name).c_str(), record.fit.rows,
      record.fit.result.mean_loss, record.fit.family.facts.sigma,
      absl::StrJoin(record.fit.weak, ", ").c_str());
}

}  // namespace

absl::Status RunFit(const std::vector<std::string>& tables,
                    const std::string& directory) {
  if (directory.empty()) {
    return absl::InvalidArgumentError(
        "--out: is empty; give the folder that the stacks are written to");
  }
  ASSIGN_OR_RETURN(const std::vector<GemmRow> rows, ReadTables(tables));
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  const std::string today =
      absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  ASSIGN_OR_RETURN(const FittedStacks fitted, FitStacks(rows, data, today));
  for (const FitRecord& record : fitted.records) PrintRecord(record);
  for (const auto& [hardware, text] : fitted.files) {
    const std::string path =
        absl::StrCat(directory, "/", hardware, ".textproto");
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      return absl::NotFoundError(absl::StrCat(path, ": cannot be written"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RunValidate(const std::vector<std::string>& tables,
                                        const ValidateOptions& options,
                                        const std::string& output) {
  if (output != "table" && output != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--output: is \"", output, "\"; allowed: table, json"));
  }
  ASSIGN_OR_RETURN(const std::vector<GemmRow> rows, ReadTables(tables));
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  ASSIGN_OR_RETURN(const std::vector<Judgement> judgements,
                   Validate(rows, data, options));
  return output == "json" ? ToJson(judgements) : ToTable(judgements);
}

}  // namespace mansard::calibrate
