#include "calibrate/tables/table.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value;
  hash *= 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 29);
}

}  // namespace

Side SideOf(const std::vector<int64_t>& shape) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const int64_t value : shape) {
    hash = Mix(hash, static_cast<uint64_t>(value));
  }
  return (hash >> 17) % 2 == 0 ? Side::kFitted : Side::kHeldOut;
}

absl::StatusOr<Table> Table::Open(absl::string_view csv,
                                  const std::vector<std::string>& columns) {
  CsvReader reader(csv);
  std::map<std::string, size_t> places;
  std::vector<std::string> missing;
  for (const std::string& name : columns) {
    const absl::StatusOr<size_t> place = reader.Column(name);
    if (place.ok()) {
      places[name] = *place;
    } else {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the table has no column ", absl::StrJoin(missing, ", ")));
  }
  return Table(std::move(reader), std::move(places));
}

absl::StatusOr<bool> Table::Next() {
  ASSIGN_OR_RETURN(const bool more, reader_.Next(cells_));
  if (started_) ++row_;
  started_ = true;
  return more;
}

const std::string& Table::text(absl::string_view column) const {
  return cells_[columns_.at(std::string(column))];
}

double Table::number(absl::string_view column) const {
  double value = 0;
  return absl::SimpleAtod(text(column), &value) && std::isfinite(value) ? value
                                                                        : 0;
}

int64_t Table::count(absl::string_view column) const {
  const double value = number(column);
  return std::abs(value) < 9e15 ? static_cast<int64_t>(value) : 0;
}

MeasuredCase Table::CommonCase() const {
  MeasuredCase measured;
  measured.row = row_;
  measured.device = text("device");
  if (columns_.count("framework") > 0) {
    measured.framework = text("framework");
    measured.version = text("framework_version");
  }
  measured.source = text("source");
  if (columns_.count("flag") > 0) measured.flag = text("flag");
  measured.measured = model::Microseconds(number("latency_us"));
  return measured;
}

}  // namespace mansard::calibrate
