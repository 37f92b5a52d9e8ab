#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibrate/import/cells.h"
#include "calibrate/import/kernels.h"
#include "calibrate/import/ncu_metrics.h"
#include "calibrate/tables/csv.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Cells = std::vector<std::string>;

// Quoted lines from the header on.
std::string TableOf(absl::string_view text) {
  std::string table;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripSuffix(raw, "\r");
    const bool header = absl::StartsWith(line, "\"ID\",");
    // A second header: another run in the same log.
    if (header && !table.empty()) continue;
    if (!header && (table.empty() || !absl::StartsWith(line, "\""))) continue;
    absl::StrAppend(&table, line, "\n");
  }
  return table;
}

// One metric of one launch as it stands there.
struct Cell {
  std::string metric;
  std::string unit;
  std::string value;
};
struct Launch {
  std::string name;
  std::string grid;
  std::string block;
  std::vector<Cell> cells;
};

class Reader {
 public:
  absl::Status Read(const std::string& table) {
    CsvReader reader(table);
    if (!reader.Column("Kernel Name").ok()) {
      return absl::InvalidArgumentError(
          "has no line that begins with \"ID\" and has a \"Kernel Name\"; "
          "write it with ncu --csv");
    }
    ASSIGN_OR_RETURN(name_, reader.Column("Kernel Name"));
    ASSIGN_OR_RETURN(id_, reader.Column("ID"));
    ASSIGN_OR_RETURN(header_, HeaderOf(table));
    grid_ = ColumnOf("Grid Size");
    block_ = ColumnOf("Block Size");
    capability_ = ColumnOf("CC");
    metric_ = ColumnOf("Metric Name");
    RETURN_IF_ERROR(metric_.has_value() ? ReadLong(reader) : ReadWide(reader));
    if (capabilities_.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is of several kinds of device (compute capability ",
          absl::StrJoin(capabilities_, ", "), "); profile one with --devices"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ProfiledKernels> Kernels() const {
    std::vector<std::string> numbers;
    for (const Launch& launch : launches_) {
      for (const Cell& cell : launch.cells) numbers.push_back(cell.value);
    }
    ASSIGN_OR_RETURN(const NumberStyle style, NumberStyleOf(numbers));
    std::vector<MeasuredKernel> kernels;
    bool traffic = false;
    bool pipe = false;
    for (const Launch& launch : launches_) {
      ASSIGN_OR_RETURN(const NcuMetrics metrics, MetricsOf(launch, style));
      NcuLaunch read = LaunchOf(metrics);
      traffic = traffic || read.l2_is_traffic;
      pipe = pipe || read.counts_pipe;
      kernels.push_back({.name = launch.name,
                         .grid = launch.grid,
                         .block = launch.block,
                         .tensor_format = read.tensor_format,
                         .counts = read.counts});
    }
    std::vector<std::string> notes;
    if (traffic) {
      notes.push_back(
          "L2: all of its traffic, atomics and the fabric between its parts, "
          "too (lts__t_bytes)");
    }
    if (pipe) {
      notes.push_back(
          "tensor work by instructions, as of fp16 (512 operations each)");
    }
    return GroupLaunches(std::move(kernels), std::move(notes));
  }

 private:
  // The names of the columns, as the reader's own rows count them: the header
  // once more as a row.
  static absl::StatusOr<Cells> HeaderOf(const std::string& table) {
    const std::string line = table.substr(0, table.find('\n') + 1);
    const std::string twice = absl::StrCat(line, line);
    CsvReader reader(twice);
    Cells cells;
    RETURN_IF_ERROR(reader.Next(cells).status());
    return cells;
  }

  std::optional<size_t> ColumnOf(absl::string_view name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    if (found == header_.end()) return std::nullopt;
    return static_cast<size_t>(found - header_.begin());
  }

  static std::string CellAt(const Cells& cells, std::optional<size_t> column) {
    return column.has_value() && *column < cells.size() ? cells[*column] : "";
  }

  Launch Begin(const Cells& cells) {
    const std::string capability = CellAt(cells, capability_);
    if (!capability.empty()) capabilities_.insert(capability);
    return {cells[name_], CellAt(cells, grid_), CellAt(cells, block_), {}};
  }

  // Whether there are more; a row that is not as wide as the names is none.
  absl::StatusOr<bool> Next(CsvReader& reader, Cells& cells) const {
    ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
    if (more && cells.size() != header_.size()) {
      return absl::InvalidArgumentError("the header breaks off");
    }
    return more;
  }

  // One line a metric. A launch's lines share its ID; of several processes
  // each counts from 0.
  absl::Status ReadLong(CsvReader& reader) {
    const std::optional<size_t> unit = ColumnOf("Metric Unit");
    const std::optional<size_t> value = ColumnOf("Metric Value");
    const std::optional<size_t> process = ColumnOf("Process ID");
    if (!unit.has_value() || !value.has_value()) {
      return absl::InvalidArgumentError(
          "has a \"Metric Name\", but no \"Metric Unit\" and \"Metric Value\"");
    }
    std::map<std::pair<std::string, std::string>, size_t> places;
    Cells cells;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, Next(reader, cells));
      if (!more) return absl::OkStatus();
      const auto [place, added] = places.try_emplace(
          {CellAt(cells, process), cells[id_]}, launches_.size());
      if (added) launches_.push_back(Begin(cells));
      // Lines of rules have no metric.
      if (!IsNcuMetricRead(cells[*metric_])) continue;
      launches_[place->second].cells.push_back(
          {cells[*metric_], cells[*unit], cells[*value]});
    }
  }

  // One line a launch, the units in the first.
  absl::Status ReadWide(CsvReader& reader) {
    Cells units;
    ASSIGN_OR_RETURN(const bool some, Next(reader, units));
    if (!some) return absl::OkStatus();
    Cells cells = units;
    if (units[id_].empty()) {
      ASSIGN_OR_RETURN(const bool more, Next(reader, cells));
      if (!more) return absl::OkStatus();
    } else {
      units.assign(units.size(), "");
    }
    while (true) {
      Launch launch = Begin(cells);
      for (size_t column = 0; column < cells.size(); ++column) {
        if (!IsNcuMetricRead(header_[column])) continue;
        launch.cells.push_back({header_[column], units[column], cells[column]});
      }
      launches_.push_back(std::move(launch));
      ASSIGN_OR_RETURN(const bool more, Next(reader, cells));
      if (!more) return absl::OkStatus();
    }
  }

  static absl::StatusOr<NcuMetrics> MetricsOf(const Launch& launch,
                                              NumberStyle style) {
    NcuMetrics metrics;
    for (const Cell& cell : launch.cells) {
      const std::optional<double> value = ReadNumber(cell.value, style);
      if (!value.has_value() || *value < 0) continue;  // "n/a".
      const std::optional<double> factor = NcuUnitFactor(cell.unit);
      if (!factor.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat(
            cell.metric, ": has the unit \"", cell.unit,
            "\", which is not known; write it with --print-units base"));
      }
      metrics[cell.metric] = *value * *factor;
    }
    return metrics;
  }

  Cells header_;
  size_t id_ = 0;
  size_t name_ = 0;
  std::optional<size_t> grid_;
  std::optional<size_t> block_;
  std::optional<size_t> capability_;
  std::optional<size_t> metric_;
  std::set<std::string> capabilities_;
  std::vector<Launch> launches_;
};

}  // namespace

absl::StatusOr<ProfiledKernels> ReadNsightCompute(absl::string_view text) {
  const std::string table = TableOf(text);
  Reader reader;
  RETURN_IF_ERROR(reader.Read(table));
  return reader.Kernels();
}

}  // namespace mansard::calibrate
