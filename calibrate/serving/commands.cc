#include "calibrate/serving/commands.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "calibrate/serving/fit_served.h"
#include "calibrate/tables/serving_rows.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  return std::string((std::istreambuf_iterator<char>(file)),
                     std::istreambuf_iterator<char>());
}

absl::StatusOr<std::vector<ServingRow>> ReadTables(
    const std::vector<std::string>& tables) {
  if (tables.empty()) {
    return absl::InvalidArgumentError(
        "--measured: names no table; give one or more CSV files");
  }
  std::vector<ServingRow> rows;
  for (const std::string& table : tables) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(table));
    absl::StatusOr<std::vector<ServingRow>> read = ReadServingRows(text);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(table, ": ", read.status().message()));
    }
    rows.insert(rows.end(), read->begin(), read->end());
  }
  return rows;
}

}  // namespace

absl::StatusOr<bool> AreServingTables(const std::vector<std::string>& tables) {
  size_t serving = 0;
  for (const std::string& table : tables) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(table));
    if (IsServingTable(text)) ++serving;
  }
  if (serving > 0 && serving != tables.size()) {
    return absl::InvalidArgumentError(
        "--measured: holds tables of kernels and of served runs; fit one kind "
        "at a time, kernels first");
  }
  return serving > 0;
}

absl::Status RunServedFit(const std::vector<std::string>& tables,
                          const std::string& directory) {
  if (directory.empty()) {
    return absl::InvalidArgumentError(
        "--out: is empty; give the folder that the stacks are written to");
  }
  ASSIGN_OR_RETURN(const std::vector<ServingRow> rows, ReadTables(tables));
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  ASSIGN_OR_RETURN(const FittedServed fitted,
                   FitServed(rows, data,
                             absl::FormatTime("%Y-%m-%d", absl::Now(),
                                              absl::UTCTimeZone())));
  std::printf("fitted to %zu times per token and %zu to the first token\n",
              fitted.tpot_rows, fitted.ttft_rows);
  for (const auto& [hardware, text] : fitted.files) {
    const std::string path =
        absl::StrCat(directory, "/", hardware, ".textproto");
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      return absl::NotFoundError(absl::StrCat(path, ": cannot be written"));
    }
    std::printf("wrote %s\n", path.c_str());
  }
  return absl::OkStatus();
}

absl::Status RunServedReport(const std::vector<std::string>& tables) {
  ASSIGN_OR_RETURN(const std::vector<ServingRow> rows, ReadTables(tables));
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  ASSIGN_OR_RETURN(const std::string text, ServedReport(rows, data));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace mansard::calibrate
