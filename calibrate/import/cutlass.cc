#include "calibrate/import/cutlass.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibrate/import/cells.h"
#include "calibrate/tables/csv.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr char kFramework[] = "CUTLASS";

struct ElementName {
  const char* theirs;
  const char* table;
};
constexpr ElementName kElements[] = {
    {"f32", "fp32"}, {"f16", "fp16"}, {"bf16", "bf16"},
    {"s8", "int8"},  {"e4m3", "fp8"}, {"fe4m3", "fp8"},
};

// "f16:column" -> "fp16"; empty where no table has the element.
std::string ElementOf(absl::string_view tensor) {
  const absl::string_view element = tensor.substr(0, tensor.find(':'));
  for (const ElementName& name : kElements) {
    if (element == name.theirs) return name.table;
  }
  return "";
}

// The CSV alone: reports stand before it, and lines of other kinds after it.
std::string TableOf(absl::string_view text) {
  std::string table;
  bool begun = false;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripSuffix(raw, "\r");
    // Each kind of operation begins anew.
    const bool header = absl::StrContains(line, "OperationKind,Operation,");
    if (header && begun) break;
    begun = begun || header;
    if (!begun) continue;
    if (line.empty()) break;
    absl::StrAppend(&table, line, "\n");
  }
  return table;
}

struct Columns {
  size_t kind = 0;
  size_t operation = 0;
  size_t disposition = 0;
  size_t status = 0;
  size_t m = 0;
  size_t n = 0;
  size_t k = 0;
  size_t a = 0;
  size_t b = 0;
  size_t c = 0;
  size_t batch = 0;
  size_t unit = 0;
  size_t runtime = 0;

  static absl::StatusOr<Columns> Of(const CsvReader& reader) {
    constexpr std::pair<const char*, size_t Columns::*> kNames[] = {
        {"OperationKind", &Columns::kind},
        {"Operation", &Columns::operation},
        {"Disposition", &Columns::disposition},
        {"Status", &Columns::status},
        {"m", &Columns::m},
        {"n", &Columns::n},
        {"k", &Columns::k},
        {"A", &Columns::a},
        {"B", &Columns::b},
        {"C", &Columns::c},
        {"batch_count", &Columns::batch},
        {"op_class", &Columns::unit},
        {"Runtime", &Columns::runtime},
    };
    Columns columns;
    for (const auto& [name, column] : kNames) {
      ASSIGN_OR_RETURN(columns.*column, reader.Column(name));
    }
    return columns;
  }
};

class Reader {
 public:
  absl::Status Read(const std::string& table) {
    CsvReader reader(table);
    ASSIGN_OR_RETURN(at_, Columns::Of(reader));
    // Where outputs differ from what is accumulated, new releases say so.
    const absl::StatusOr<size_t> output = reader.Column("D");
    output_ = output.ok() ? *output : at_.c;
    std::vector<std::string> cells;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
      if (!more) return absl::OkStatus();
      ReadRow(cells);
    }
  }

  absl::StatusOr<Imported> Table(const RowContext& context) const {
    std::vector<GemmRow> rows;
    for (const auto& [key, row] : fastest_) rows.push_back(row);
    if (rows.empty()) {
      std::string why;
      for (const auto& [reason, count] : left_out_) {
        absl::StrAppend(&why, "; ", Counted(count, "row"), ": ", reason);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("has no row of a dense product to take", why));
    }
    Imported imported;
    imported.text = GemmTable(rows, context, kFramework);
    for (const auto& [reason, count] : left_out_) {
      imported.notes.push_back(
          absl::StrCat(Counted(count, "row"), " left out: ", reason));
    }
    imported.notes.push_back(absl::StrCat(Counted(rows.size(), "shape"),
                                          ", the fastest of ",
                                          Counted(taken_, "kernel")));
    return imported;
  }

 private:
  // Why a row is not taken; empty where it is.
  std::string Refusal(const std::vector<std::string>& cells) const {
    if (cells[at_.kind] != "gemm") {
      return absl::StrCat("operation ", cells[at_.kind]);
    }
    if (cells[at_.status] != "success") {
      return absl::StrCat("status ", cells[at_.status]);
    }
    if (cells[at_.disposition] != "passed" &&
        cells[at_.disposition] != "not_verified") {
      return absl::StrCat("disposition ", cells[at_.disposition]);
    }
    for (const size_t tensor : {at_.a, at_.b, output_}) {
      if (ElementOf(cells[tensor]).empty()) {
        return absl::StrCat("element ",
                            cells[tensor].substr(0, cells[tensor].find(':')));
      }
    }
    if (ElementOf(cells[at_.a]) == "fp32" && cells[at_.unit] != "simt") {
      return "fp32 on tensor units, in a format of theirs";
    }
    return "";
  }

  void ReadRow(const std::vector<std::string>& cells) {
    std::string refusal = Refusal(cells);
    GemmRow row;
    double milliseconds = 0;
    if (refusal.empty() &&
        (!absl::SimpleAtoi(cells[at_.m], &row.m) ||
         !absl::SimpleAtoi(cells[at_.n], &row.n) ||
         !absl::SimpleAtoi(cells[at_.k], &row.k) ||
         !absl::SimpleAtoi(cells[at_.batch], &row.batch) || row.m < 1 ||
         row.n < 1 || row.k < 1 || row.batch < 1 ||
         !absl::SimpleAtod(cells[at_.runtime], &milliseconds) ||
         !(milliseconds > 0))) {
      refusal = "no positive shape and runtime";
    }
    if (!refusal.empty()) {
      ++left_out_[refusal];
      return;
    }
    ++taken_;
    row.input = ElementOf(cells[at_.a]);
    row.weights = ElementOf(cells[at_.b]);
    row.output = ElementOf(cells[output_]);
    row.quantization =
        row.input == "fp8" || row.input == "int8" ? "per_tensor" : "none";
    row.seconds = milliseconds * 1e-3;
    row.kernel = cells[at_.operation];
    row.quality = absl::StrCat("fastest kernel, ", cells[at_.disposition]);
    auto key = std::make_tuple(row.input, row.weights, row.output, row.batch,
                               row.m, row.n, row.k);
    const auto [known, added] = fastest_.try_emplace(std::move(key), row);
    if (!added && row.seconds < known->second.seconds) {
      known->second = std::move(row);
    }
  }

  Columns at_;
  size_t output_ = 0;
  std::map<std::tuple<std::string, std::string, std::string, int64_t, int64_t,
                      int64_t, int64_t>,
           GemmRow>
      fastest_;
  std::map<std::string, size_t> left_out_;
  size_t taken_ = 0;
};

}  // namespace

absl::StatusOr<Imported> ImportCutlass(absl::string_view text,
                                       const RowContext& context) {
  RETURN_IF_ERROR(CheckContext(context, /*needs_link=*/false));
  Reader reader;
  RETURN_IF_ERROR(reader.Read(TableOf(text)));
  return reader.Table(context);
}

}  // namespace mansard::calibrate
