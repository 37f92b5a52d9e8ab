// How families of the metric table are made.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/metric_table.h"

namespace mansard::server {

// Of one family.
inline constexpr size_t kMaxSeries = 200;
// The value of a label in whose series those without room count.
inline constexpr char kOther[] = "other";

template <class Metric>
prometheus::Family<Metric>& Register(prometheus::Registry& registry,
                                     const FamilyInfo& info) {
  return prometheus::detail::Builder<Metric>()
      .Name(info.name)
      .Help(info.help)
      .Register(registry);
}

// A label whose values are known.
struct ClosedLabel {
  std::string name;  // Empty: there is none, and one value.
  std::vector<std::string> values = {""};
};

// A family with one label of ids from the catalog and at most one closed
// label. Series are made when they are first used. Room for the "other" series
// is kept free; what counts there is counted in `overflow`. Thread-safe.
template <class Metric>
class CappedFamily {
 public:
  CappedFamily(prometheus::Registry& registry, const FamilyInfo& info,
               std::string id_label, ClosedLabel closed,
               prometheus::Family<prometheus::Counter>& overflow,
               std::optional<prometheus::Histogram::BucketBoundaries> buckets =
                   std::nullopt)
      : family_(Register<Metric>(registry, info)),
        id_label_(std::move(id_label)),
        closed_(std::move(closed)),
        overflow_(overflow.Add({{"metric", info.name}})),
        buckets_(std::move(buckets)) {}

  // The series of `id` and of the closed label's value with this index. Lives
  // as long as the family. Allocates nothing once the series is there.
  Metric& For(absl::string_view id, size_t value = 0) {
    const Name name{id, value};
    {
      const std::shared_lock lock(mutex_);
      const auto found = series_.find(name);
      if (found != series_.end()) return *found->second;
    }
    const std::unique_lock lock(mutex_);
    const auto found = series_.find(name);
    if (found != series_.end()) return *found->second;
    if (series_.size() + closed_.values.size() >= kMaxSeries) {
      overflow_.Increment();
      return Add(kOther, value);
    }
    Metric& added = Add(std::string(id), value);
    series_.emplace(Key{std::string(id), value}, &added);
    return added;
  }

 private:
  using Key = std::pair<std::string, size_t>;
  using Name = std::pair<absl::string_view, size_t>;
  struct Less {
    using is_transparent = void;  // NOLINT(readability-identifier-naming)
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return std::tuple(absl::string_view(a.first), a.second) <
             std::tuple(absl::string_view(b.first), b.second);
    }
  };

  // The same series again where there is one.
  Metric& Add(const std::string& id, size_t value) {
    prometheus::Labels labels = {{id_label_, id}};
    if (!closed_.name.empty()) labels[closed_.name] = closed_.values[value];
    if constexpr (std::is_same_v<Metric, prometheus::Histogram>) {
      return family_.Add(labels, *buckets_);
    } else {
      return family_.Add(labels);
    }
  }

  prometheus::Family<Metric>& family_;
  const std::string id_label_;
  const ClosedLabel closed_;
  prometheus::Counter& overflow_;
  const std::optional<prometheus::Histogram::BucketBoundaries> buckets_;
  std::shared_mutex mutex_;
  std::map<Key, Metric*, Less> series_;
};

}  // namespace mansard::server
