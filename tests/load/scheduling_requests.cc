#include "tests/load/scheduling_requests.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace mansard::load {
namespace {

std::string EngineName() { return absl::StrCat("engines/", kBenchEngine); }

}  // namespace

v1::CreateEngineRequest CreateBenchEngine() {
  v1::CreateEngineRequest request;
  request.set_engine_id(kBenchEngine);
  v1::Target& target = *request.mutable_engine()->mutable_target();
  target.set_model_graph("modelGraphs/llama-3.1-70b");
  target.set_hardware_profile("hardwareProfiles/h100-sxm");
  target.mutable_parallelism()->set_tensor_size(8);
  return request;
}

v1::RecommendBatchSizeRequest RecommendRequest() {
  v1::RecommendBatchSizeRequest request;
  request.set_engine(EngineName());
  request.set_context_token_count(2000);
  request.mutable_slo()->set_inter_token_latency_seconds(.02);
  return request;
}

v1::RecommendBatchSizeRequest FullRecommendRequest(int contexts) {
  v1::RecommendBatchSizeRequest request;
  request.set_engine(EngineName());
  for (int i = 1; i <= contexts; ++i) {
    auto& share = *request.add_contexts();
    share.set_context_token_count(60 * i);
    share.set_weight(1.0 / i);
  }
  request.set_prefill_token_count(512);
  request.set_draft_token_count(1);
  request.set_acceptance_rate(.7);
  request.mutable_shape()->set_input_token_count(1000);
  request.mutable_shape()->set_output_token_count(500);
  v1::Slo& slo = *request.mutable_slo();
  slo.set_inter_token_latency_seconds(.1);
  slo.set_time_per_output_token_seconds(.1);
  slo.set_time_to_first_token_seconds(5);
  slo.set_end_to_end_latency_seconds(60);
  return request;
}

v1::PredictLatenciesRequest LatenciesRequest(int rows) {
  v1::PredictLatenciesRequest request;
  for (int i = 0; i < rows; ++i) {
    v1::LatencyQuery& query = *request.add_queries();
    query.set_engine(EngineName());
    v1::EngineState& state = *query.mutable_state();
    state.set_running_request_count(40 + i % 100);
    state.set_waiting_request_count(i % 5);
    state.set_kv_cache_usage_ratio(.5);
    state.set_prefill_tokens_in_flight_count(5000 + i);
    query.set_input_token_count(2000 + i % 1000);
    query.set_prefix_cache_hit_ratio(.25);
    query.set_output_token_count(300);
    query.mutable_slo()->set_time_to_first_token_seconds(.5);
    query.mutable_slo()->set_time_per_output_token_seconds(.04);
  }
  return request;
}

v1::PredictStepsRequest StepsRequest(int rows) {
  v1::PredictStepsRequest request;
  request.set_engine(EngineName());
  for (int i = 0; i < rows; ++i) {
    const bool prompt = i % 4 == 0;
    request.add_decode_request_counts(1 + i % 200);
    request.add_decode_context_token_counts(100 + i % 5000);
    request.add_prefill_request_counts(prompt ? 1 : 0);
    request.add_prefill_token_counts(prompt ? 512 : 0);
    request.add_prefill_prior_token_counts(prompt ? i % 2000 : 0);
  }
  return request;
}

v1::FindEngineCapacityRequest CapacityRequest() {
  v1::FindEngineCapacityRequest request;
  request.set_engine(EngineName());
  request.mutable_shape()->set_input_token_count(1024);
  request.mutable_shape()->set_output_token_count(1024);
  request.mutable_slo()->set_time_per_output_token_seconds(.04);
  request.mutable_slo()->set_time_to_first_token_seconds(1);
  return request;
}

v1::StreamPredictionsRequest StepMessage(int groups) {
  v1::StreamPredictionsRequest request;
  request.set_engine(EngineName());
  for (int i = 0; i < groups; ++i) {
    v1::ForwardPass::Group& group =
        *request.mutable_forward_pass()->add_groups();
    group.set_role(v1::ForwardPass::ROLE_DECODE);
    group.set_request_count(groups > 64 ? 1 : 64 / groups);
    group.set_new_token_count(1);
    group.set_prior_token_count(1000 + i);
  }
  return request;
}

}  // namespace mansard::load
