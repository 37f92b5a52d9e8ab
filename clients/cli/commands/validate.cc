// `mansard validate`: the engine's answers against measured rows. Runs in this
// process only; no server judges.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibrate/judge/validation.h"
#include "calibrate/serving/served_judge.h"
#include "calibrate/tables/serving_rows.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/input.h"
#include "clients/cli/output/judgement_text.h"
#include "clients/cli/output/report.h"

namespace mansard::cli {
namespace {

using calibrate::MeasuredText;
using calibrate::Validation;
using calibrate::ValidationOptions;

constexpr int64_t kMaxTableBytes = 2'000'000'000;
// In JSON, unless --worst says otherwise.
constexpr size_t kWorstRows = 20;
constexpr char kHint[] = "mansard validate --help has examples";

absl::StatusOr<size_t> WorstRows(const Arguments& arguments) {
  const std::string& text = arguments.validate.worst;
  if (text.empty()) {
    return arguments.output == OutputFormat::kJson ? kWorstRows : 0;
  }
  uint32_t rows = 0;
  if (!absl::SimpleAtoi(text, &rows)) {
    return UsageError(absl::StrCat("--worst is \"", text,
                                   "\"; allowed: a whole number, 0 or more"));
  }
  if (arguments.output == OutputFormat::kCsv) {
    return UsageError(
        "--worst: -o csv prints groups only; allowed: with -o "
        "table, json, md");
  }
  return rows;
}

absl::StatusOr<ValidationOptions> OptionsOf(const Arguments& arguments) {
  const ValidateFlags& flags = arguments.validate;
  if (!arguments.server.empty()) {
    return UsageError(
        absl::StrCat("--server (or MANSARD_SERVER) is \"", arguments.server,
                     "\"; validate runs in this process only"),
        "leave it out, or give --server embedded");
  }
  if (flags.measured.empty()) {
    return UsageError("--measured is missing", kHint);
  }
  if (!flags.tier.empty() && flags.tier != "spec") {
    return UsageError(
        absl::StrCat("--tier is \"", flags.tier, "\"; allowed: spec"));
  }
  if (!flags.tier.empty() && !flags.stack.empty()) {
    return UsageError(
        "--tier spec is the profile's first stack; allowed: it or --stack");
  }
  absl::StatusOr<size_t> worst = WorstRows(arguments);
  if (!worst.ok()) return worst.status();
  ValidationOptions options;
  options.place = {flags.hardware, flags.stack, flags.tier == "spec"};
  options.judge = {flags.all_rows, *worst};
  options.predictions = !flags.predictions.empty();
  return options;
}

absl::StatusOr<std::vector<MeasuredText>> ReadTables(
    const std::string& measured) {
  std::vector<MeasuredText> tables;
  for (const absl::string_view part : absl::StrSplit(measured, ',')) {
    const std::string path(part);
    std::error_code ignored;
    if (path.empty()) {
      return UsageError(absl::StrCat("--measured is \"", measured,
                                     "\"; allowed: CSV files, separated by "
                                     "commas"));
    }
    if (std::filesystem::is_directory(path, ignored)) {
      return Failed(absl::StrCat("Cannot read ", path, ": it is a folder"),
                    "name its CSV files, separated by commas");
    }
    absl::StatusOr<std::string> text = ReadInput(path, kMaxTableBytes);
    if (!text.ok()) return text.status();
    tables.push_back({path, *std::move(text)});
  }
  return tables;
}

// Where the predictions of each table go: `out` where there is one table, else
// with the table's name before the ending, "out.gemm.csv".
absl::StatusOr<std::vector<std::string>> PredictionPaths(
    const std::string& out, const std::vector<MeasuredText>& tables) {
  if (tables.size() == 1) return std::vector<std::string>{out};
  const std::filesystem::path path(out);
  std::vector<std::string> paths;
  std::set<std::string> seen;
  for (const MeasuredText& table : tables) {
    std::filesystem::path own = path;
    own.replace_filename(
        absl::StrCat(path.stem().string(), ".",
                     std::filesystem::path(table.name).stem().string(),
                     path.extension().string()));
    paths.push_back(own.string());
    if (!seen.insert(paths.back()).second) {
      return UsageError(absl::StrCat(
          "--predictions: two tables would both go to ", paths.back(),
          "; allowed: tables whose files have different names"));
    }
  }
  return paths;
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? absl::OkStatus() : Failed(absl::StrCat("Cannot write ", path));
}

// Options are named as flags.
absl::Status FromEngine(const absl::Status& status) {
  const std::string message(status.message());
  if (absl::StartsWith(message, "hardware: ") ||
      absl::StartsWith(message, "stack: ")) {
    return Failed(absl::StrCat("--", message),
                  "mansard hardware list shows hardware and stacks");
  }
  return Failed(message);
}

// On a terminal alone: one line that is gone in the end.
class Progress {
 public:
  explicit Progress(bool quiet)
      : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(size_t done, size_t rows) const {
    if (!shown_) return;
    std::fprintf(stderr, "\r%zu of %zu rows", done, rows);
    std::fflush(stderr);
  }

 private:
  bool shown_;
};

// Tables of served runs, and all others together; predictions are in the
// tables' order.
absl::StatusOr<Validation> ValidateAll(const std::vector<MeasuredText>& tables,
                                       const ValidationOptions& options) {
  std::vector<MeasuredText> kernels;
  for (const MeasuredText& table : tables) {
    if (!calibrate::IsServingTable(table.csv)) kernels.push_back(table);
  }
  Validation all;
  if (!kernels.empty()) {
    absl::StatusOr<Validation> judged = calibrate::Validate(kernels, options);
    if (!judged.ok()) return judged.status();
    all.judgements = std::move(judged->judgements);
    all.predictions = std::move(judged->predictions);
  }
  if (kernels.size() == tables.size()) return all;
  const calibrate::ServedJudgeOptions served{
      {.fitted = !options.place.spec_tier, .stack = options.place.stack},
      options.judge};
  for (size_t i = 0; i < tables.size(); ++i) {
    if (!calibrate::IsServingTable(tables[i].csv)) continue;
    absl::StatusOr<calibrate::ServedValidation> judged =
        calibrate::ValidateServed(tables[i].name, tables[i].csv, served,
                                  options.predictions);
    if (!judged.ok()) return judged.status();
    all.judgements.insert(all.judgements.end(), judged->judgements.begin(),
                          judged->judgements.end());
    if (options.predictions) {
      all.predictions.insert(
          all.predictions.begin() + static_cast<std::ptrdiff_t>(i),
          std::move(judged->predictions));
    }
  }
  return all;
}

std::string OutputOf(const Validation& validation, const Arguments& arguments,
                     size_t worst_rows, const Style& style) {
  switch (arguments.output) {
    case OutputFormat::kJson:
      return JudgementsJson(validation.judgements);
    case OutputFormat::kCsv:
      return CsvText(JudgementsReport(validation.judgements));
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kTextproto:
    case OutputFormat::kSvg:
      break;
  }
  return JudgementsText(validation.judgements, {worst_rows, !arguments.quiet},
                        style);
}

}  // namespace

absl::StatusOr<Answer> RunValidate(const Arguments& arguments,
                                   const Style& style) {
  absl::StatusOr<ValidationOptions> options = OptionsOf(arguments);
  if (!options.ok()) return options.status();
  const absl::StatusOr<std::vector<MeasuredText>> tables =
      ReadTables(arguments.validate.measured);
  if (!tables.ok()) return tables.status();
  std::vector<std::string> paths;
  if (options->predictions) {
    absl::StatusOr<std::vector<std::string>> named =
        PredictionPaths(arguments.validate.predictions, *tables);
    if (!named.ok()) return named.status();
    paths = *std::move(named);
  }
  absl::StatusOr<Validation> validation;
  {
    const Progress progress(arguments.quiet);
    options->progress = [&progress](size_t done, size_t rows) {
      progress.Show(done, rows);
    };
    validation = ValidateAll(*tables, *options);
  }
  if (!validation.ok()) return FromEngine(validation.status());
  Answer answer;
  for (size_t i = 0; i < paths.size(); ++i) {
    const absl::Status written =
        WriteFile(paths[i], validation->predictions[i]);
    if (!written.ok()) return written;
    if (!arguments.quiet)
      absl::StrAppend(&answer.notes, "wrote ", paths[i], "\n");
  }
  answer.out =
      OutputOf(*validation, arguments, options->judge.worst_rows, style);
  return answer;
}

}  // namespace mansard::cli
