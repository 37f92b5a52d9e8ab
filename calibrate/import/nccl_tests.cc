#include "calibrate/import/nccl_tests.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibrate/import/cells.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Words = std::vector<std::string>;

struct Operation {
  const char* program;
  const char* table;
};
constexpr Operation kOperations[] = {
    {"all_reduce_perf", "all_reduce"},
    {"all_gather_perf", "all_gather"},
    {"reduce_scatter_perf", "reduce_scatter"},
    {"alltoall_perf", "alltoall"},
    {"sendrecv_perf", "send_recv"},
};

struct TypeName {
  const char* theirs;
  const char* table;
};
constexpr TypeName kTypes[] = {
    {"float", "fp32"},        {"half", "fp16"},    {"bfloat16", "bf16"},
    {"double", "fp64"},       {"int8", "int8"},    {"uint8", "int8"},
    {"f8e4m3", "fp8"},        {"fp8_e4m3", "fp8"}, {"f8e5m2", "fp8_e5m2"},
    {"fp8_e5m2", "fp8_e5m2"},
};

// "22304" -> "2.23.4"; before 2.9 versions had one digit less.
std::string VersionOf(int64_t code) {
  return code >= 10000
             ? absl::StrCat(code / 10000, ".", code / 100 % 100, ".",
                            code % 100)
             : absl::StrCat(code / 1000, ".", code / 100 % 10, ".", code % 100);
}

struct Row {
  int64_t bytes = 0;
  std::string type;
  double microseconds = 0;
  std::string wrong;  // As it stands there.
};

class Reader {
 public:
  absl::Status Read(absl::string_view text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_;
      const Words words =
          absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
      if (words.empty()) continue;
      RETURN_IF_ERROR(words[0] == "#" || absl::StartsWith(words[0], "#")
                          ? ReadComment(line, words)
                          : ReadLine(line, words));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Imported> Table(const RowContext& context) {
    ASSIGN_OR_RETURN(const std::string operation, OperationOf(context));
    RETURN_IF_ERROR(CheckRanks());
    RETURN_IF_ERROR(CheckRows());
    const int64_t ranks = static_cast<int64_t>(hosts_.size());
    std::set<std::string> nodes;
    for (const auto& [rank, host] : hosts_) nodes.insert(host);
    const int64_t node_count = static_cast<int64_t>(nodes.size());
    Imported imported;
    imported.text =
        CsvLine({"device", "link", "op", "dtype", "n_gpus", "n_nodes",
                 "gpus_per_node", "message_bytes", "latency_us", "library",
                 "library_version", "algo_or_mode", "source"});
    size_t left = 0;
    bool unchecked = false;
    for (const Row& row : rows_) {
      double wrong = 0;
      const bool counted = absl::SimpleAtod(row.wrong, &wrong);
      unchecked = unchecked || !counted;
      if (counted && !reports_error_ && wrong != 0) {
        imported.notes.push_back(absl::StrCat(row.bytes, " bytes ", row.type,
                                              ": left out, ", row.wrong,
                                              " wrong results"));
        continue;
      }
      ++left;
      absl::StrAppend(
          &imported.text,
          CsvLine({context.device, context.link, operation, row.type,
                   absl::StrCat(ranks), absl::StrCat(node_count),
                   absl::StrCat(ranks / node_count), absl::StrCat(row.bytes),
                   NumberCell(row.microseconds), rccl_ ? "RCCL" : "NCCL",
                   version_, "nccl-tests out-of-place", context.source}));
    }
    if (left == 0) {
      return absl::InvalidArgumentError(
          "every size has wrong results; nothing is left");
    }
    if (unchecked) {
      imported.notes.push_back("results were not checked (#wrong is N/A)");
    }
    imported.notes.push_back(
        absl::StrCat(operation, ", ", ranks, " ranks on ", node_count,
                     node_count == 1 ? " node" : " nodes", " of ", device_));
    return imported;
  }

 private:
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", what));
  }

  absl::Status ReadComment(absl::string_view line, const Words& words) {
    if (words.size() > 2 && words[1] == "Rank") return ReadRank(line, words);
    if (absl::StrContains(line, "Collective test starting:")) {
      NoteOperation(words.back());
    }
    if (words.size() > 3 && words[1] == "nccl-tests" && words[2] == "version") {
      ReadVersions(words);
    }
    if (absl::StrContains(line, "algbw")) {
      if (absl::StrContains(line, "cputime")) {
        return Wrong("the times are the host's (-C); measure without it");
      }
      if (std::find(words.begin(), words.end(), "time") == words.end()) {
        return Wrong("a header without times");
      }
      ReadHeader(words);
    }
    if (absl::StrContains(line, "Avg bus bandwidth")) ended_ = true;
    return absl::OkStatus();
  }

  // "#  Rank  0 Group  0 Pid 123 on host device 0 [0x0f] NVIDIA H100": the name
  // is what follows the bus address.
  absl::Status ReadRank(absl::string_view line, const Words& words) {
    int64_t rank = 0;
    const auto on = std::find(words.begin(), words.end(), "on");
    const size_t bracket = line.find("] ");
    if (!absl::SimpleAtoi(words[2], &rank) || on == words.end() ||
        on + 1 == words.end() || bracket == absl::string_view::npos) {
      return Wrong("a rank without host and device; the line is cut off");
    }
    const std::string device(
        absl::StripAsciiWhitespace(line.substr(bracket + 2)));
    if (!device_.empty() && device != device_) {
      return Wrong(absl::StrCat("ranks on several kinds of device: ", device_,
                                " and ", device));
    }
    device_ = device;
    // A log may hold several tests, each with its list.
    hosts_[rank] = *(on + 1);
    return absl::OkStatus();
  }

  // "nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007".
  void ReadVersions(const Words& words) {
    for (absl::string_view word : words) {
      int64_t code = 0;
      if (absl::ConsumePrefix(&word, "nccl-library=") &&
          absl::SimpleAtoi(word, &code)) {
        version_ = VersionOf(code);
      }
    }
  }

  void NoteOperation(absl::string_view program) {
    const size_t slash = program.rfind('/');
    if (slash != absl::string_view::npos) program.remove_prefix(slash + 1);
    for (const Operation& operation : kOperations) {
      if (program == operation.program) operations_.insert(operation.table);
    }
    if (absl::EndsWith(program, "_perf"))
      programs_.insert(std::string(program));
  }

  absl::Status ReadLine(absl::string_view line, const Words& words) {
    // "NCCL version 2.20.5+cuda12.4", printed by the library.
    if (words.size() > 2 && words[1] == "version" &&
        (words[0] == "NCCL" || words[0] == "RCCL")) {
      version_ = words[2].substr(0, words[2].find('+'));
    }
    if (absl::StrContains(line, "rccl") || absl::StrContains(line, "RCCL")) {
      rccl_ = true;
    }
    // The command of a log that echoes it.
    for (const std::string& word : words) {
      if (absl::EndsWith(word, "_perf")) NoteOperation(word);
    }
    Row row;
    int64_t count = 0;
    if (words.size() < 3 || !absl::SimpleAtoi(words[0], &row.bytes) ||
        !absl::SimpleAtoi(words[1], &count) || row.bytes < 0 || count < 0) {
      return absl::OkStatus();  // What the library or a launcher prints.
    }
    return has_header_ ? ReadRow(words, std::move(row)) : absl::OkStatus();
  }

  // The header's columns: size, count, type, reduction, root, then results out
  // of place and in place.
  void ReadHeader(const Words& words) {
    const auto first = std::find(words.begin(), words.end(), "time");
    has_header_ = true;
    before_results_ = static_cast<size_t>(first - words.begin()) - 1;
    // A time of day, where there is one, is not a result.
    result_columns_ = 0;
    wrong_column_ = 0;
    for (auto name = first; name != words.end(); ++name) {
      if (*name != "time" && result_columns_ == 0) break;
      if ((*name == "#wrong" || *name == "error") && wrong_column_ == 0) {
        wrong_column_ = static_cast<size_t>(name - first);
        reports_error_ = *name == "error";
      }
      if (!absl::StrContains(*name, "stamp")) ++result_columns_;
    }
  }

  absl::Status ReadRow(const Words& words, Row row) {
    row.type = words[2];
    for (const TypeName& name : kTypes) {
      if (words[2] == name.theirs) row.type = name.table;
    }
    // Old releases leave reduction and root empty where there is none.
    const size_t at = words.size() >= before_results_ + result_columns_
                          ? before_results_
                          : size_t{3};
    if (words.size() < at + result_columns_) {
      return Wrong("a row is cut off, or has no results out of place");
    }
    if (!absl::SimpleAtod(words[at], &row.microseconds)) {
      return Wrong(absl::StrCat("\"", words[at], "\" is no time"));
    }
    if (row.bytes == 0 || !(row.microseconds > 0)) return absl::OkStatus();
    row.wrong = words[at + wrong_column_];
    rows_.push_back(std::move(row));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> OperationOf(const RowContext& context) const {
    std::set<std::string> named = operations_;
    if (!context.operation.empty()) named = {context.operation};
    if (programs_.size() > operations_.size() && context.operation.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("holds the test ", absl::StrJoin(programs_, ", "),
                       "; rows are made of: ", Allowed()));
    }
    if (named.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("holds several tests (", absl::StrJoin(named, ", "),
                       "); import each by itself"));
    }
    for (const Operation& operation : kOperations) {
      if (named.count(operation.table) > 0) return *named.begin();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--operation: is ",
                     context.operation.empty()
                         ? "missing, and the output does not name the test"
                         : absl::StrCat("\"", context.operation, "\""),
                     "; allowed: ", Allowed()));
  }

  static std::string Allowed() {
    return absl::StrJoin(kOperations, ", ",
                         [](std::string* out, const Operation& operation) {
                           absl::StrAppend(out, operation.table);
                         });
  }

  absl::Status CheckRanks() const {
    if (hosts_.size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("lists ", hosts_.size(),
                       " ranks (\"# Rank\"); 2 or more are needed"));
    }
    std::map<std::string, int64_t> sizes;
    int64_t expected = 0;
    for (const auto& [rank, host] : hosts_) {
      if (rank != expected++) {
        return absl::InvalidArgumentError(absl::StrCat(
            "rank ", expected - 1, " is missing in the list of devices"));
      }
      ++sizes[host];
    }
    for (const auto& [host, size] : sizes) {
      if (size != sizes.begin()->second) {
        return absl::InvalidArgumentError(
            "nodes with different numbers of ranks");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckRows() const {
    if (!has_header_ || rows_.empty()) {
      return absl::InvalidArgumentError(
          "has no row of results below a header with algbw and busbw");
    }
    if (!ended_) {
      return absl::InvalidArgumentError(
          "breaks off: \"Avg bus bandwidth\", which ends it, is missing");
    }
    return absl::OkStatus();
  }

  int64_t line_ = 0;
  std::map<int64_t, std::string> hosts_;  // By rank.
  std::string device_;
  std::string version_;
  bool rccl_ = false;
  std::set<std::string> operations_;
  std::set<std::string> programs_;
  bool has_header_ = false;
  size_t before_results_ = 0;
  size_t result_columns_ = 0;  // Out of place and in place.
  size_t wrong_column_ = 0;    // Of the results.
  // Releases before 2022: the largest error, in place of a number of results.
  bool reports_error_ = false;
  bool ended_ = false;
  std::vector<Row> rows_;
};

}  // namespace

absl::StatusOr<Imported> ImportNcclTests(absl::string_view text,
                                         const RowContext& context) {
  RETURN_IF_ERROR(CheckContext(context, /*needs_link=*/true));
  Reader reader;
  RETURN_IF_ERROR(reader.Read(text));
  return reader.Table(context);
}

}  // namespace mansard::calibrate
