#include "server/call_class.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/catalog/catalog.h"
#include "server/catalog/resource_name.h"

namespace mansard::server {
namespace {

// Costs in about microseconds of an optimised build; tests/load/class_bench.cc
// measures them.
constexpr int64_t kMaxHotCost = 1000;
constexpr int64_t kEstimateCost = 10;
constexpr int64_t kGroupCost = 1;
constexpr int64_t kOpsCost = 30;  // One row an op, and more for each group.
constexpr int64_t kGroupOpsCost = 4;
// Of a resource sent along, by its size.
constexpr int64_t kInlineBytesPerCost = 50;
constexpr int64_t kGraphCost = 4;     // To copy one of a page.
constexpr int64_t kProfileCost = 17;  // The same.
constexpr int64_t kDefaultPageSize = 50;
constexpr int64_t kRecommendCost = 50;
constexpr int64_t kContextCost = 16;  // Of a histogram's contexts, each.
constexpr int64_t kCapacityCost = 100;
constexpr int64_t kServedLoadCost = 30;
constexpr int64_t kStepsPerCost = 3;

CallClass OfCost(int64_t cost) {
  return cost > kMaxHotCost ? CallClass::kHeavy : CallClass::kHot;
}

bool AsksFor(const char* part, const google::protobuf::FieldMask& mask) {
  return std::any_of(mask.paths().begin(), mask.paths().end(),
                     [part](const std::string& path) { return path == part; });
}

// 0 where nothing is sent along.
int64_t InlineCost(const v1::Target& target) {
  size_t bytes = 0;
  if (target.has_inline_model_graph()) {
    bytes += target.inline_model_graph().ByteSizeLong();
  }
  if (target.has_inline_hardware_profile()) {
    bytes += target.inline_hardware_profile().ByteSizeLong();
  }
  return static_cast<int64_t>(bytes) / kInlineBytesPerCost;
}

// Targets of engines, of one state that is taken once one is asked for.
class EngineTargets {
 public:
  explicit EngineTargets(const Catalog* catalog) : catalog_(catalog) {}

  const v1::Target& TargetOf(const v1::EstimateRequest& request) {
    const bool named = request.subject_case() == v1::EstimateRequest::kEngine;
    if (!named || catalog_ == nullptr) return request.target();
    if (state_ == nullptr) state_ = catalog_->state();
    const auto found = state_->engines.find(
        request.engine().substr(request.engine().find('/') + 1));
    return found == state_->engines.end() ? request.target()
                                          : found->second->proto.target();
  }

 private:
  const Catalog* catalog_;
  std::shared_ptr<const CatalogState> state_;
};

int64_t CostOf(const v1::EstimateRequest& request, EngineTargets& engines) {
  const v1::Target& target = engines.TargetOf(request);
  const int64_t groups = request.forward_pass().groups_size();
  int64_t cost = kEstimateCost + groups * kGroupCost;
  if (AsksFor("estimate.ops", request.read_mask())) {
    cost += kOpsCost + groups * kGroupOpsCost;
  }
  // A dozen estimates each, on changed copies of the hardware or for targets
  // that are resolved for them.
  for (const char* part : {"sensitivities", "what_if"}) {
    if (AsksFor(part, request.read_mask())) cost += kMaxHotCost;
  }
  // Each stage is timed alone, and its memory counted.
  const int64_t stages = target.parallelism().pipeline_size();
  if (stages > 1) cost += stages * 2 * (kEstimateCost + groups * kGroupCost);
  // Sent layer by layer, once more.
  if (target.kv_transfer().layer_wise()) {
    cost +=
        std::max(stages, int64_t{1}) * (kEstimateCost + groups * kGroupCost);
  }
  return cost + InlineCost(target);
}

// Null where it is not there, or broken.
const EngineEntry* EngineOf(const std::string& name,
                            const CatalogState& state) {
  absl::string_view id = name;
  absl::ConsumePrefix(&id, kEngines);
  absl::ConsumePrefix(&id, "/");
  const auto found = state.engines.find(std::string(id));
  return found == state.engines.end() || found->second->broken()
             ? nullptr
             : found->second.get();
}

// How many times as long as with curves a pass of the engine takes to time.
int64_t PassFactor(const std::string& engine, bool drafts,
                   const CatalogState& state) {
  constexpr int64_t kLowered = 100;
  const EngineEntry* const entry = EngineOf(engine, state);
  if (entry == nullptr) return 1;
  const bool curves =
      entry->has_curves &&
      !(drafts && entry->resolved->graph.draft_modules.value_or(0) > 0);
  return curves ? 1 : kLowered;
}

// Of requests with both fields: what is not said is as few as the tokens take.
template <class Request>
bool Drafts(const Request& request) {
  return request.has_draft_token_count()
             ? request.draft_token_count() > 0
             : request.accepted_tokens_per_pass_count() > 1;
}

int64_t EntriesOf(int32_t page_size) {
  return page_size == 0 ? kDefaultPageSize : page_size;
}

}  // namespace

const char* CallClassName(CallClass call_class) {
  switch (call_class) {
    case CallClass::kHot:
      return "hot";
    case CallClass::kHeavy:
      return "heavy";
  }
  return "";
}

CallClass ClassOf(const v1::EstimateRequest& request, const Catalog* catalog) {
  EngineTargets engines(catalog);
  return OfCost(CostOf(request, engines));
}

CallClass ClassOf(const v1::BatchEstimateRequest& request,
                  const Catalog* catalog) {
  EngineTargets engines(catalog);
  int64_t cost = 0;
  for (const v1::EstimateRequest& one : request.requests()) {
    cost += CostOf(one, engines);
    if (cost > kMaxHotCost) break;
  }
  return OfCost(cost);
}

CallClass ClassOf(const v1::EstimateKernelRequest& request) {
  return OfCost(kEstimateCost + InlineCost(request.target()) +
                request.attention().forward_pass().groups_size() *
                    kGroupOpsCost);
}

CallClass ClassOf(const v1::ListModelGraphsRequest& request) {
  return OfCost(kGraphCost * EntriesOf(request.page_size()));
}

CallClass ClassOf(const v1::ListHardwareProfilesRequest& request) {
  return OfCost(kProfileCost * EntriesOf(request.page_size()));
}

CallClass ClassOf(const v1::RecommendBatchSizeRequest& request,
                  const CatalogState& state) {
  return OfCost(
      (kRecommendCost + kContextCost * request.contexts_size()) *
      PassFactor(request.engine(), request.draft_token_count() > 0, state));
}

CallClass ClassOf(const v1::PredictLatenciesRequest& request,
                  const CatalogState& state) {
  int64_t cost = 0;
  for (const v1::LatencyQuery& query : request.queries()) {
    cost += PassFactor(query.engine(), Drafts(query), state);
  }
  return OfCost(cost);
}

CallClass ClassOf(const v1::PredictStepsRequest& request,
                  const CatalogState& state) {
  const int64_t rows = std::max({request.decode_request_counts_size(),
                                 request.prefill_request_counts_size(), 1});
  return OfCost(rows * PassFactor(request.engine(), false, state) /
                kStepsPerCost);
}

CallClass ClassOf(const v1::FindEngineCapacityRequest& request,
                  const CatalogState& state) {
  return OfCost(kCapacityCost *
                PassFactor(request.engine(), Drafts(request), state));
}

CallClass ClassOf(const v1::StreamPredictionsRequest& request,
                  const std::string& engine, const CatalogState& state) {
  const int64_t pass =
      kEstimateCost + request.forward_pass().groups_size() * kGroupCost;
  const EngineEntry* const entry = EngineOf(engine, state);
  const int64_t stages =
      entry == nullptr ? 1
                       : entry->proto.target().parallelism().pipeline_size();
  // Each stage is timed alone.
  return OfCost(stages > 1 ? stages * 2 * pass : pass);
}

CallClass ClassOf(const v1::EstimateServedLoadRequest& request,
                  const CatalogState& state) {
  return OfCost(kServedLoadCost *
                PassFactor(request.engine(), Drafts(request), state));
}

CallClass ClassOf(const v1::GetModelGraphRequest& request) {
  return absl::StrContains(request.name(), '@') ? CallClass::kHeavy
                                                : CallClass::kHot;
}

CallClass ClassOf(const v1::GetHardwareProfileRequest& request) {
  return absl::StrContains(request.name(), '@') ? CallClass::kHeavy
                                                : CallClass::kHot;
}

}  // namespace mansard::server
