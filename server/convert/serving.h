// Schedulers' questions from the wire, and their answers to it. Values are
// taken over as they are; the domain checks them.
#pragma once

#include <optional>

#include "mansard/v1/engine.pb.h"
#include "mansard/v1/scheduling_service.pb.h"
#include "model/base/violations.h"
#include "model/serving/capacity.h"
#include "model/serving/latency_model.h"
#include "model/serving/observations.h"
#include "model/serving/predict_latency.h"
#include "model/serving/recommend_batch.h"
#include "model/serving/served_interval.h"
#include "model/workload/pass_sums.h"

namespace mansard::server {

model::PassSums FromProto(const v1::ForwardPassSums& proto);
// Violations: of what the question cannot hold, a context beside a histogram.
model::BatchQuestion FromProto(const v1::RecommendBatchSizeRequest& proto,
                               model::Violations& violations);
model::LatencyQuery FromProto(const v1::LatencyQuery& proto);
model::CapacityQuestion FromProto(const v1::FindEngineCapacityRequest& proto,
                                  model::Violations& violations);
model::LatencyModelQuestion FromProto(const v1::FitLatencyModelRequest& proto);

model::Observation FromProto(const v1::Observation& proto);
model::ServedLoad FromProto(const v1::EstimateServedLoadRequest& proto);

void ToProto(const model::ObservedFactors& observed, bool applied,
             v1::ObservedFactors& proto);
void ToProto(const model::ServedAnswer& answer,
             const model::ServedIntervals& intervals,
             v1::EstimateServedLoadResponse& proto);
void ToProto(const model::StepPrediction& step, v1::TimePrediction& proto);
void ToProto(const model::BatchAnswer& answer,
             const model::BatchQuestion& question,
             const model::ServingEngine& engine,
             v1::RecommendBatchSizeResponse& proto);
void ToProto(const model::LatencyAnswer& answer, v1::LatencyPrediction& proto);
void ToProto(const model::CapacityAnswer& answer,
             v1::FindEngineCapacityResponse& proto);
void ToProto(const model::LatencyModel& answer,
             v1::FitLatencyModelResponse& proto);

}  // namespace mansard::server
