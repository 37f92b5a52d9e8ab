#include "server/catalog_metrics.h"

#include <algorithm>
#include <set>
#include <utility>

#include "server/metric_family.h"

namespace mansard::server {
namespace {

using prometheus::ClientMetric;

double SecondsOf(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

// A family of gauges.
class Gauges {
 public:
  Gauges(const FamilyInfo& info, CatalogMetrics& all) : info_(info), all_(all) {
    family_ = {info.name, info.help, prometheus::MetricType::Gauge, {}};
  }
  ~Gauges() { all_.families.push_back(std::move(family_)); }
  Gauges(const Gauges&) = delete;
  Gauges& operator=(const Gauges&) = delete;

  void Add(std::vector<ClientMetric::Label> labels, double value) {
    if (family_.metric.size() >= kMaxSeries) {
      ++all_.left_out[info_.name];
      return;
    }
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    metric.gauge.value = value;
  }

 private:
  const FamilyInfo& info_;
  CatalogMetrics& all_;
  prometheus::MetricFamily family_;
};

template <class Map, class IsBroken>
double CountBroken(const Map& map, IsBroken is_broken) {
  double count = 0;
  for (const auto& [id, entry] : map) count += is_broken(*entry) ? 1 : 0;
  return count;
}

void AddCounts(const CatalogState& state, CatalogMetrics& all) {
  Gauges resources(family::kCatalogResources, all);
  Gauges broken(family::kCatalogBroken, all);
  const auto add = [&](const char* kind, size_t count) {
    resources.Add({{"kind", kind}}, static_cast<double>(count));
  };
  add("model_graph", state.snapshot->graphs().size());
  add("hardware_profile", state.snapshot->profiles().size());
  add("fabric", state.snapshot->fabrics().size());
  add("engine", state.engines.size());
  broken.Add({{"kind", "model_graph"}},
             CountBroken(state.snapshot->graphs(),
                         [](const GraphEntry& e) { return !e.graph; }));
  broken.Add({{"kind", "hardware_profile"}},
             CountBroken(state.snapshot->profiles(),
                         [](const ProfileEntry& e) { return !e.profile; }));
  broken.Add({{"kind", "engine"}},
             CountBroken(state.engines,
                         [](const EngineEntry& e) { return e.broken(); }));
}

// Readable ones; those that engines name come first.
std::vector<std::pair<std::string, const ProfileEntry*>> ProfilesOf(
    const CatalogState& state) {
  std::set<std::string> named;
  for (const auto& [id, engine] : state.engines) {
    named.insert(engine->hardware_id);
  }
  std::vector<std::pair<std::string, const ProfileEntry*>> profiles;
  for (const bool wanted : {true, false}) {
    for (const auto& [id, entry] : state.snapshot->profiles()) {
      if (entry->profile != nullptr && named.contains(id) == wanted) {
        profiles.emplace_back(id, entry.get());
      }
    }
  }
  return profiles;
}

model::Tier StrongestTier(const model::HardwareProfile& profile) {
  model::Tier strongest = model::Tier::kSpec;
  for (const model::KernelStack& stack : profile.stacks()) {
    strongest = std::max(strongest, stack.StrongestTier());
  }
  return strongest;
}

// By what calibrated families are bound to, over all stacks and precisions.
std::map<std::string, double> WorstResiduals(const v1::HardwareProfile& proto) {
  std::map<std::string, double> worst;
  for (const v1::KernelStack& stack : proto.kernel_stacks()) {
    std::map<std::string, double> calibrated;
    for (const v1::KernelFamily& kernels : stack.families()) {
      if (kernels.tier() != v1::TIER_CALIBRATED) continue;
      calibrated[kernels.family()] = kernels.residual_ratio();
    }
    for (const v1::KernelStack::Binding& binding : stack.bindings()) {
      const auto found = calibrated.find(binding.family());
      if (found == calibrated.end()) continue;
      double& residual = worst[binding.op_kind()];
      residual = std::max(residual, found->second);
    }
  }
  return worst;
}

void AddProfiles(const CatalogState& state, CatalogMetrics& all) {
  Gauges info(family::kProfileInfo, all);
  Gauges times(family::kCalibrateTime, all);
  Gauges residuals(family::kResidual, all);
  for (const auto& [id, entry] : ProfilesOf(state)) {
    info.Add({{"hardware", id},
              {"revision", entry->proto.revision_id()},
              {"provenance", entry->stored ? "stored" : "shipped"},
              {"tier",
               std::string(model::TierName(StrongestTier(*entry->profile)))}},
             1);
    if (entry->proto.has_calibrate_time()) {
      times.Add({{"hardware", id}},
                SecondsOf(FromProto(entry->proto.calibrate_time())));
    }
    for (const auto& [op_kind, residual] : WorstResiduals(entry->proto)) {
      residuals.Add({{"hardware", id}, {"op_kind", op_kind}}, residual);
    }
  }
}

// Of those that have reported anything.
void AddOwnFactors(const CatalogState& state, CatalogMetrics& all) {
  Gauges factors(family::kOwnFactor, all);
  for (const auto& [id, engine] : state.engines) {
    const model::ObservedFactors& observed = engine->observed;
    if (observed.step_count > 0) {
      factors.Add({{"engine", id}, {"part", "step"}}, observed.factors.step);
    }
    if (observed.first_token_count > 0) {
      factors.Add({{"engine", id}, {"part", "first_token"}},
                  observed.factors.first_token);
    }
  }
}

}  // namespace

CatalogMetrics MetricsOf(const CatalogState& state, absl::Time now) {
  CatalogMetrics all;
  AddCounts(state, all);
  AddProfiles(state, all);
  AddOwnFactors(state, all);
  Gauges(family::kCatalogChangeTime, all).Add({}, SecondsOf(now));
  return all;
}

}  // namespace mansard::server
