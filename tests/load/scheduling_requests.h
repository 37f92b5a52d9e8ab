// What a scheduler asks about "engines/bench", in benchmarks and under load.
#pragma once

#include "mansard/v1/catalog_service.pb.h"
#include "mansard/v1/scheduling_service.pb.h"

namespace mansard::load {

// Llama-3.1-70B on eight H100.
inline constexpr char kBenchEngine[] = "bench";
v1::CreateEngineRequest CreateBenchEngine();

// A target that some hundred sequences hold.
v1::RecommendBatchSizeRequest RecommendRequest();
// With all that it may have: a histogram of so many contexts, prompts in
// chunks, drafts, a shape and all four targets.
v1::RecommendBatchSizeRequest FullRecommendRequest(int contexts);
// An engine at work, and one query a row.
v1::PredictLatenciesRequest LatenciesRequest(int rows);
// Decodes, every fourth row with a prompt beside them.
v1::PredictStepsRequest StepsRequest(int rows);
v1::FindEngineCapacityRequest CapacityRequest();
// Of 64 decodes in so many groups.
v1::StreamPredictionsRequest StepMessage(int groups);

}  // namespace mansard::load
