#include "calibrate/fit/sanity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

using model::Bytes;
using model::Flops;
using model::Seconds;

// What a row's ops come to.
struct RowWork {
  const MeasuredCase* row = nullptr;
  Seconds tensor;  // At the datasheet's rate.
  Seconds floor;
  Flops flops;
  Bytes cold;  // Weights and cache.
  Bytes activations;
  Bytes message;

  // At least as much of everything, and more of something.
  bool Holds(const RowWork& less) const {
    return flops >= less.flops && cold >= less.cold &&
           activations >= less.activations && message >= less.message &&
           (flops > less.flops || cold > less.cold ||
            activations > less.activations || message > less.message);
  }
};

std::optional<RowWork> WorkOf(const MeasuredCase& measured,
                              const model::HardwareProfile& profile) {
  const model::KernelStack& stack = profile.stacks().front();
  const std::optional<model::OpList> ops =
      measured.ops(profile.device(), stack);
  if (!ops.has_value()) return std::nullopt;
  RowWork work;
  work.row = &measured;
  for (const model::Op& op : *ops) {
    const model::OpTime time =
        model::Price(op, {profile.device(), profile.fabrics().front(), stack});
    work.tensor += op.repeat * time.tensor_at_peak;
    work.floor += op.repeat * time.floor;
    work.flops += op.repeat * op.work.tensor;
    work.cold += op.repeat * (op.work.weights + op.work.kv_read);
    work.activations += op.repeat * op.work.activations();
    work.message += op.repeat * op.work.message;
  }
  return work;
}

std::vector<RowWork> WorksOf(const std::vector<const MeasuredCase*>& rows,
                             const model::HardwareProfile& profile) {
  std::vector<RowWork> works;
  for (const MeasuredCase* row : rows) {
    if (auto work = WorkOf(*row, profile)) works.push_back(*work);
  }
  return works;
}

bool IsClearlySlower(const MeasuredCase& one, const MeasuredCase& other,
                     double factor) {
  return one.measured > factor * other.measured &&
         one.measured > other.measured + kTimer;
}

std::string Against(const MeasuredCase& one, const MeasuredCase& other) {
  const std::string line =
      other.row == kNoRow ? "" : absl::StrCat("line ", LineOf(other), ", ");
  return absl::StrFormat("%.2f x the time of %s%s %s",
                         one.measured / other.measured, line, other.slice,
                         other.shape);
}

void AddImplied(const RowWork& work, const model::Device& device,
                std::vector<SuspectRow>& found) {
  const MeasuredCase& row = *work.row;
  if (kAbovePeak * row.measured < work.tensor) {
    found.push_back({&row, SanityGate::kAbovePeak, true,
                     absl::StrFormat("%.2f x the tensor units' rate",
                                     work.tensor / row.measured),
                     "dropped: the time is wrong, or the shape is"});
    return;
  }
  const double share = work.cold / device.HbmBandwidth() / row.measured;
  if (share < kAbovePeak) return;
  const std::string evidence =
      absl::StrFormat("%.2f x the memory's rate", share);
  const auto& l2 = device.spec().l2;
  if (!l2.has_value() || work.cold > l2->capacity.value) {
    found.push_back({&row, SanityGate::kAbovePeak, true, evidence,
                     "dropped: the time is wrong, or the shape is"});
  } else if (row.warm_cache) {
    found.push_back({&row, SanityGate::kWarmCache, false, evidence,
                     "kept: the table repeats itself on one cache"});
  } else {
    found.push_back({&row, SanityGate::kWarmCache, true, evidence,
                     "dropped: read from L2, not from memory"});
  }
}

// Rows that differ in one size, by it.
using Line = std::vector<std::pair<int64_t, const RowWork*>>;

// One line for each number of the shape's columns.
std::map<std::string, Line> LinesOf(const std::vector<RowWork>& works) {
  std::map<std::string, Line> lines;
  for (const RowWork& work : works) {
    const MeasuredCase& row = *work.row;
    std::vector<std::string> columns = absl::StrSplit(row.shape, ' ');
    for (std::string& column : columns) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(column, absl::MaxSplits('=', 1));
      int64_t value = 0;
      if (!absl::SimpleAtoi(pair.second, &value)) continue;
      const std::string kept = std::exchange(column, pair.first);
      lines[absl::StrCat(row.framework, "\t", row.version, "\t", row.source,
                         "\t", row.slice, "\t", absl::StrJoin(columns, " "))]
          .emplace_back(value, &work);
      column = kept;
    }
  }
  return lines;
}

// The next of a line with another size, from `at` on; null where none is.
const RowWork* NextLarger(const Line& line, size_t at) {
  for (size_t i = at + 1; i < line.size(); ++i) {
    if (line[i].first > line[at].first) return line[i].second;
  }
  return nullptr;
}
const RowWork* NextSmaller(const Line& line, size_t at) {
  for (size_t i = at; i-- > 0;) {
    if (line[i].first < line[at].first) return line[i].second;
  }
  return nullptr;
}

// By row, so that each is named once: by the line that tells most against it.
void AddNotMonotone(const std::vector<RowWork>& works,
                    std::vector<SuspectRow>& found) {
  struct Worst {
    const RowWork* larger = nullptr;
    bool alone = false;
  };
  std::map<const RowWork*, Worst> worst;
  for (auto& [key, line] : LinesOf(works)) {
    Line sorted = line;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      const RowWork* row = sorted[i].second;
      const RowWork* larger = NextLarger(sorted, i);
      if (larger == nullptr || !larger->Holds(*row) ||
          !IsClearlySlower(*row->row, *larger->row, kClearly)) {
        continue;
      }
      const RowWork* smaller = NextSmaller(sorted, i);
      const bool alone = smaller != nullptr &&
                         IsClearlySlower(*row->row, *larger->row, kSpike) &&
                         IsClearlySlower(*row->row, *smaller->row, kSpike);
      Worst& known = worst[row];
      const bool tells_more =
          known.larger == nullptr || alone > known.alone ||
          (alone == known.alone &&
           larger->row->measured < known.larger->row->measured);
      if (tells_more) known = {larger, alone};
    }
  }
  for (const RowWork& work : works) {
    const auto known = worst.find(&work);
    if (known == worst.end()) continue;
    const Worst& one = known->second;
    found.push_back({work.row, SanityGate::kNotMonotone, one.alone,
                     Against(*work.row, *one.larger->row),
                     one.alone ? "dropped: stands alone, its neighbours agree"
                               : "kept: kernels change there"});
  }
}

}  // namespace

absl::string_view SanityGateName(SanityGate gate) {
  switch (gate) {
    case SanityGate::kAbovePeak:
      return "above-peak";
    case SanityGate::kWarmCache:
      return "warm-cache";
    case SanityGate::kNotMonotone:
      return "not-monotone";
    case SanityGate::kNarrowSlower:
      return "narrow-slower";
  }
  return "";
}

std::vector<SuspectRow> SuspectRows(
    const std::vector<const MeasuredCase*>& rows,
    const model::HardwareProfile& profile) {
  const std::vector<RowWork> works = WorksOf(rows, profile);
  std::vector<SuspectRow> found;
  for (const RowWork& work : works) AddImplied(work, profile.device(), found);
  AddNotMonotone(works, found);
  return found;
}

std::vector<SuspectRow> NarrowSlowerRows(
    const std::vector<const MeasuredCase*>& rows,
    const model::HardwareProfile& profile) {
  const std::vector<RowWork> works = WorksOf(rows, profile);
  std::map<std::string, std::vector<const RowWork*>> shapes;
  for (const RowWork& work : works) {
    const MeasuredCase& row = *work.row;
    shapes[absl::StrCat(row.table, "\t", row.framework, "\t", row.version, "\t",
                        row.shape)]
        .push_back(&work);
  }
  std::vector<SuspectRow> found;
  for (const RowWork& work : works) {
    const MeasuredCase& row = *work.row;
    const RowWork* fastest = nullptr;
    for (const RowWork* wide :
         shapes[absl::StrCat(row.table, "\t", row.framework, "\t", row.version,
                             "\t", row.shape)]) {
      // Bound by work of which the narrow format has less.
      const bool by_work = 2 * wide->floor > wide->row->measured;
      if (!by_work || !(work.cold < wide->cold) || work.floor > wide->floor ||
          !IsClearlySlower(row, *wide->row, kClearly)) {
        continue;
      }
      if (fastest == nullptr || wide->row->measured < fastest->row->measured) {
        fastest = wide;
      }
    }
    if (fastest == nullptr) continue;
    found.push_back({&row, SanityGate::kNarrowSlower, false,
                     Against(row, *fastest->row),
                     "kept: engines run such kernels"});
  }
  return found;
}

size_t LineOf(const MeasuredCase& measured) { return measured.row + 2; }

}  // namespace mansard::calibrate
