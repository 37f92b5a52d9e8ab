#include "calibrate/fit/commands.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "calibrate/fit/fit_stacks.h"
#include "calibrate/tables/tables.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

absl::StatusOr<std::vector<MeasuredCase>> ReadTables(
    const std::vector<std::string>& tables) {
  if (tables.empty()) {
    return absl::InvalidArgumentError(
        "--measured: names no table; give one or more CSV files");
  }
  std::vector<MeasuredCase> rows;
  for (const std::string& table : tables) {
    std::ifstream file(table, std::ios::binary);
    if (!file) {
      return absl::NotFoundError(absl::StrCat(table, ": cannot be read"));
    }
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    absl::StatusOr<std::vector<MeasuredCase>> read = ReadMeasured(text);
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
  std::printf("%-14s %-18s %-26s rows %4zu  loss %.4f  sigma %.3f",
              record.hardware.c_str(), record.stack.c_str(),
              record.plan.c_str(), record.fit.rows, record.fit.result.mean_loss,
              record.fit.sigma);
  if (record.named > 0) {
    std::printf("  suspect %zu, dropped %zu", record.named, record.dropped);
  }
  std::printf("  at prior: %s\n", absl::StrJoin(record.fit.weak, ", ").c_str());
  std::fflush(stdout);
}

// One line a row that a gate names, by tabs.
std::string SuspectText(const std::vector<NamedRow>& named) {
  std::string text =
      "hardware\tstack\tplan\tgate\ttable\tline\tslice\tshape\tmeasured_us\t"
      "evidence\tpolicy\n";
  for (const NamedRow& one : named) {
    const MeasuredCase& row = *one.suspect.row;
    absl::StrAppendFormat(
        &text, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%.6g\t%s\t%s\n", one.hardware,
        one.stack.empty() ? kDeviceStack : one.stack, one.plan,
        SanityGateName(one.suspect.gate), row.table, LineOf(row), row.slice,
        row.shape, model::ToMicroseconds(row.measured), one.suspect.evidence,
        one.suspect.policy);
  }
  return text;
}

// By gate, and what became of the rows.
void PrintSuspects(const std::vector<NamedRow>& named) {
  std::map<std::pair<SanityGate, std::string>, size_t> counts;
  for (const NamedRow& one : named) {
    ++counts[{one.suspect.gate, one.suspect.policy}];
  }
  for (const auto& [key, count] : counts) {
    std::printf("%s: %zu rows %s\n",
                std::string(SanityGateName(key.first)).c_str(), count,
                key.second.c_str());
  }
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(path, ": cannot be written"));
}

}  // namespace

absl::Status RunFit(const std::vector<std::string>& tables,
                    const std::string& directory, FitStacksOptions options) {
  if (directory.empty()) {
    return absl::InvalidArgumentError(
        "--out: is empty; give the folder that the stacks are written to");
  }
  ASSIGN_OR_RETURN(const std::vector<MeasuredCase> rows, ReadTables(tables));
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  options.date = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  options.done = &PrintRecord;
  ASSIGN_OR_RETURN(const FittedStacks fitted, FitStacks(rows, data, options));
  for (const auto& [hardware, text] : fitted.files) {
    const std::string path =
        absl::StrCat(directory, "/", hardware, ".textproto");
    RETURN_IF_ERROR(WriteFile(path, text));
  }
  PrintSuspects(fitted.named);
  return WriteFile(absl::StrCat(directory, "/", kSuspectsFile),
                   SuspectText(fitted.named));
}

}  // namespace mansard::calibrate
