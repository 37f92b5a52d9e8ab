// Which calls are short enough for the threads that gRPC calls back on.
#pragma once

#include <string>

#include "mansard/v1/catalog_service.pb.h"
#include "mansard/v1/estimation_service.pb.h"
#include "mansard/v1/scheduling_service.pb.h"
#include "server/catalog/state.h"

namespace mansard::server {

// kHot runs where gRPC delivers it. kHeavy may take longer than about a
// millisecond and runs on the HeavyPool.
enum class CallClass { kHot, kHeavy };
inline constexpr int kCallClassCount = 2;
// "hot", "heavy".
const char* CallClassName(CallClass call_class);

class Catalog;

// By how much the request asks for, at a glance: nothing in it is checked yet.
// `catalog` says how engines are laid out; without it they are taken to have
// no pipeline.
CallClass ClassOf(const v1::EstimateRequest& request,
                  const Catalog* catalog = nullptr);
CallClass ClassOf(const v1::BatchEstimateRequest& request,
                  const Catalog* catalog = nullptr);
CallClass ClassOf(const v1::EstimateKernelRequest& request);
CallClass ClassOf(const v1::ListModelGraphsRequest& request);
CallClass ClassOf(const v1::ListHardwareProfilesRequest& request);
// Of engines that have curves for their passes, or not: the state's. One that
// is not there costs nothing.
CallClass ClassOf(const v1::RecommendBatchSizeRequest& request,
                  const CatalogState& state);
CallClass ClassOf(const v1::PredictLatenciesRequest& request,
                  const CatalogState& state);
CallClass ClassOf(const v1::PredictStepsRequest& request,
                  const CatalogState& state);
CallClass ClassOf(const v1::FindEngineCapacityRequest& request,
                  const CatalogState& state);
CallClass ClassOf(const v1::EstimateServedLoadRequest& request,
                  const CatalogState& state);
// One message of a stream that is about `engine`.
CallClass ClassOf(const v1::StreamPredictionsRequest& request,
                  const std::string& engine, const CatalogState& state);
// Earlier revisions are on disk.
CallClass ClassOf(const v1::GetModelGraphRequest& request);
CallClass ClassOf(const v1::GetHardwareProfileRequest& request);

}  // namespace mansard::server
