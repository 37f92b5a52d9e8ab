#include "server/convert/serving.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/convert/estimate.h"

namespace mansard::server {
namespace {

std::optional<model::Seconds> Target(bool given, double seconds) {
  if (!given) return std::nullopt;
  return model::Seconds::Of(seconds);
}

model::Slo FromProto(const v1::Slo& proto) {
  model::Slo slo;
  slo.time_to_first_token = Target(proto.has_time_to_first_token_seconds(),
                                   proto.time_to_first_token_seconds());
  slo.inter_token_latency = Target(proto.has_inter_token_latency_seconds(),
                                   proto.inter_token_latency_seconds());
  slo.time_per_output_token = Target(proto.has_time_per_output_token_seconds(),
                                     proto.time_per_output_token_seconds());
  slo.end_to_end = Target(proto.has_end_to_end_latency_seconds(),
                          proto.end_to_end_latency_seconds());
  return slo;
}

model::RequestShape FromProto(const v1::RequestShape& proto) {
  return {.input_tokens = proto.input_token_count(),
          .output_tokens = proto.output_token_count(),
          .prefix_hit_ratio = proto.prefix_cache_hit_ratio()};
}

// Of requests with both fields.
template <class Proto>
model::DraftGain GainOf(const Proto& proto) {
  model::DraftGain gain;
  if (proto.accepted_tokens_per_pass_count() != 0) {
    gain.tokens_per_pass = proto.accepted_tokens_per_pass_count();
  }
  if (proto.has_draft_token_count()) {
    gain.draft_tokens = proto.draft_token_count();
  }
  return gain;
}

void ToProto(const model::TimeInterval& time, v1::TimePrediction& proto) {
  proto.set_seconds(time.time.value());
  proto.set_p10_seconds(time.p10.value());
  proto.set_p90_seconds(time.p90.value());
}

void ToProto(const model::RateInterval& rate,
             v1::EstimateServedLoadResponse::RateInterval& proto) {
  proto.set_p10(rate.p10);
  proto.set_p90(rate.p90);
}

// Of requests and observations.
template <class Proto>
model::ServedLoad LoadOf(const Proto& proto) {
  model::ServedLoad load;
  load.shape = FromProto(proto.shape());
  if (proto.load_case() == Proto::kConcurrencyCount) {
    load.concurrency = proto.concurrency_count();
  }
  if (proto.load_case() == Proto::kRequestsPerSecond) {
    load.requests_per_second = proto.requests_per_second();
  }
  if (proto.has_requests_per_slot_count()) {
    load.requests_per_slot = proto.requests_per_slot_count();
  }
  return load;
}

v1::ServedLimit ToProto(model::ServedLimit limit) {
  switch (limit) {
    case model::ServedLimit::kLoad:
      return v1::SERVED_LIMIT_LOAD;
    case model::ServedLimit::kSequences:
      return v1::SERVED_LIMIT_SEQUENCES;
    case model::ServedLimit::kKvCapacity:
      return v1::SERVED_LIMIT_KV_CAPACITY;
  }
  return v1::SERVED_LIMIT_UNSPECIFIED;
}

void ToProto(const model::FirstTokenParts& parts,
             v1::EstimateServedLoadResponse::FirstTokenParts& proto) {
  proto.set_prompt_seconds(parts.prompt.value());
  proto.set_wait_seconds(parts.wait.value());
  proto.set_queue_seconds(parts.queue.value());
  proto.set_burst_seconds(parts.burst.value());
  proto.set_decode_pass_seconds(parts.decode_passes.value());
  proto.set_engine_seconds(parts.constants.value());
}

v1::BatchLimit ToProto(model::BatchLimit limit) {
  switch (limit) {
    case model::BatchLimit::kSlo:
      return v1::BATCH_LIMIT_SLO;
    case model::BatchLimit::kKvBudget:
      return v1::BATCH_LIMIT_KV_BUDGET;
    case model::BatchLimit::kEngine:
      return v1::BATCH_LIMIT_ENGINE;
  }
  return v1::BATCH_LIMIT_UNSPECIFIED;
}

// What one sequence more than `answer` has would break.
std::string ReasonOf(const model::BatchAnswer& answer,
                     const model::BatchQuestion& question,
                     const model::ServingEngine& engine) {
  const int64_t next = answer.batch + 1;
  switch (answer.limit) {
    case model::BatchLimit::kSlo: {
      if (!answer.broken_target.has_value()) return "";
      std::string broken =
          absl::StrFormat("%d would break %s of %g s", next,
                          model::SloTargetField(*answer.broken_target),
                          question.slo[*answer.broken_target]->value());
      if (!answer.next_batch_time.has_value()) return broken;
      return absl::StrFormat("%s: %.4g s", broken,
                             answer.next_batch_time->value());
    }
    case model::BatchLimit::kKvBudget:
      if (question.free_kv_tokens.has_value()) {
        return absl::StrFormat("%d have no room in %d tokens of the cache",
                               next, *question.free_kv_tokens);
      }
      return absl::StrFormat("%d have no room in the cache, %d tokens", next,
                             engine.kv_token_capacity());
    case model::BatchLimit::kEngine:
      return absl::StrFormat(
          "the engine runs %d sequences, and %d new tokens a pass%s",
          engine.max_batch(),
          engine.limits().max_batched_tokens * engine.data_ranks(),
          engine.data_ranks() > 1 ? ", on all data ranks together" : "");
  }
  return "";
}

}  // namespace

model::PassSums FromProto(const v1::ForwardPassSums& proto) {
  return {
      .prefill_requests = proto.prefill_request_count(),
      .prefill_tokens = proto.prefill_token_count(),
      .prefill_prior_tokens = proto.prefill_prior_token_count(),
      .prefill_token_variance = proto.prefill_token_variance(),
      .decode_requests = proto.decode_request_count(),
      .decode_prior_tokens = proto.decode_prior_token_count(),
      .decode_prior_token_variance = proto.decode_prior_token_variance(),
      .decode_tokens_per_request =
          proto.decode_tokens_per_request_count() == 0
              ? 1
              : proto.decode_tokens_per_request_count(),
  };
}

model::BatchQuestion FromProto(const v1::RecommendBatchSizeRequest& proto,
                               model::Violations& violations) {
  model::BatchQuestion question;
  question.slo = FromProto(proto.slo());
  for (const auto& share : proto.contexts()) {
    question.contexts.push_back(
        {.context = share.context_token_count(), .weight = share.weight()});
  }
  if (proto.contexts().empty()) {
    question.contexts.push_back({.context = proto.context_token_count()});
  } else if (proto.context_token_count() != 0) {
    violations.Add("context_token_count",
                   absl::StrCat("is ", proto.context_token_count(),
                                " beside contexts; one of both says it all"));
  }
  question.prefill_tokens = proto.prefill_token_count();
  question.draft_tokens = proto.draft_token_count();
  if (proto.has_acceptance_rate()) {
    question.acceptance_rate = proto.acceptance_rate();
  }
  if (proto.has_kv_token_budget_count()) {
    question.free_kv_tokens = proto.kv_token_budget_count();
  }
  if (proto.has_shape()) question.shape = FromProto(proto.shape());
  return question;
}

model::LatencyQuery FromProto(const v1::LatencyQuery& proto) {
  const v1::EngineState& state = proto.state();
  model::LatencyQuery query;
  query.state = {
      .running_requests = state.running_request_count(),
      .waiting_requests = state.waiting_request_count(),
      .kv_usage_ratio = state.kv_cache_usage_ratio(),
      .prefill_tokens_in_flight = state.prefill_tokens_in_flight_count(),
      .decode_tokens_in_flight = state.decode_tokens_in_flight_count()};
  query.input_tokens = proto.input_token_count();
  query.prefix_hit_ratio = proto.prefix_cache_hit_ratio();
  query.generated_tokens = proto.generated_token_count();
  query.gain = GainOf(proto);
  if (proto.has_output_token_count()) {
    query.output_tokens = proto.output_token_count();
  }
  query.slo = FromProto(proto.slo());
  return query;
}

model::CapacityQuestion FromProto(const v1::FindEngineCapacityRequest& proto,
                                  model::Violations& violations) {
  model::CapacityQuestion question;
  question.shape = FromProto(proto.shape());
  question.slo = FromProto(proto.slo());
  question.gain = GainOf(proto);
  switch (proto.objective()) {
    case v1::FindEngineCapacityRequest::OBJECTIVE_UNSPECIFIED:
    case v1::FindEngineCapacityRequest::OBJECTIVE_THROUGHPUT:
      question.objective = model::CapacityObjective::kThroughput;
      break;
    case v1::FindEngineCapacityRequest::OBJECTIVE_LATENCY:
      question.objective = model::CapacityObjective::kLatency;
      break;
    default:  // Of a newer version: proto3 lets any number through.
      violations.Add("objective",
                     absl::StrCat("is ", static_cast<int>(proto.objective()),
                                  "; allowed: OBJECTIVE_THROUGHPUT, "
                                  "OBJECTIVE_LATENCY"));
  }
  return question;
}

model::LatencyModelQuestion FromProto(const v1::FitLatencyModelRequest& proto) {
  model::LatencyModelQuestion question;
  question.shape = FromProto(proto.shape());
  question.max_batch = proto.max_batch_request_count();
  return question;
}

model::ServedLoad FromProto(const v1::EstimateServedLoadRequest& proto) {
  model::ServedLoad load = LoadOf(proto);
  load.gain = GainOf(proto);
  return load;
}

model::Observation FromProto(const v1::Observation& proto) {
  model::Observation observation;
  if (proto.has_step()) observation.step = FromProto(proto.step());
  observation.step_time = model::Seconds::Of(proto.step_seconds());
  if (proto.has_shape()) observation.run = LoadOf(proto);
  observation.time_to_first_token =
      Target(proto.has_time_to_first_token_seconds(),
             proto.time_to_first_token_seconds());
  observation.time_per_output_token =
      Target(proto.has_time_per_output_token_seconds(),
             proto.time_per_output_token_seconds());
  return observation;
}

void ToProto(const model::ObservedFactors& observed, bool applied,
             v1::ObservedFactors& proto) {
  proto.set_step_ratio(observed.factors.step);
  proto.set_first_token_ratio(observed.factors.first_token);
  proto.set_step_observation_count(observed.step_count);
  proto.set_first_token_observation_count(observed.first_token_count);
  proto.set_applied(applied);
}

void ToProto(const model::ServedAnswer& answer,
             const model::ServedIntervals& intervals,
             v1::EstimateServedLoadResponse& proto) {
  if (intervals.time_to_first_token.has_value()) {
    ToProto(*intervals.time_to_first_token,
            *proto.mutable_time_to_first_token());
    ToProto(answer.first_token, *proto.mutable_first_token_parts());
  }
  if (intervals.inter_token_latency.has_value()) {
    ToProto(*intervals.inter_token_latency,
            *proto.mutable_inter_token_latency());
  }
  if (intervals.time_per_output_token.has_value()) {
    ToProto(*intervals.time_per_output_token,
            *proto.mutable_time_per_output_token());
  }
  if (intervals.end_to_end.has_value()) {
    ToProto(*intervals.end_to_end, *proto.mutable_end_to_end_latency());
  }
  proto.set_requests_per_second(answer.requests_per_second);
  proto.set_output_tokens_per_second(answer.output_tokens_per_second);
  proto.set_utilization_ratio(answer.utilization);
  proto.set_most_requests_per_second(answer.most_requests_per_second);
  ToProto(intervals.requests_per_second, *proto.mutable_requests_interval());
  ToProto(intervals.output_tokens_per_second,
          *proto.mutable_output_tokens_interval());
  ToProto(intervals.most_requests_per_second,
          *proto.mutable_most_requests_interval());
  ToProto(intervals.utilization, *proto.mutable_utilization_interval());
  proto.set_batch_request_count(answer.batch);
  if (!answer.saturated) proto.set_concurrency_count(answer.concurrency);
  proto.set_limit(ToProto(answer.limit));
  proto.set_saturated(answer.saturated);
}

void ToProto(const model::StepPrediction& step, v1::TimePrediction& proto) {
  proto.set_seconds(step.time.value());
  proto.set_p10_seconds(step.p10.value());
  proto.set_p90_seconds(step.p90.value());
}

void ToProto(const model::BatchAnswer& answer,
             const model::BatchQuestion& question,
             const model::ServingEngine& engine,
             v1::RecommendBatchSizeResponse& proto) {
  proto.set_max_batch_request_count(static_cast<int32_t>(answer.batch));
  proto.set_limit(ToProto(answer.limit));
  proto.set_reason(ReasonOf(answer, question, engine));
  ToProto(answer.step, *proto.mutable_step_time());
  if (answer.headroom.has_value()) {
    proto.set_slo_headroom_seconds(answer.headroom->headroom.value());
  }
  proto.set_output_tokens_per_second(answer.output_tokens_per_second);
  proto.set_bound(BoundToProto(answer.step.bound));
  proto.set_tokens_per_pass_count(answer.tokens_per_pass);
  if (answer.broken_target.has_value()) {
    proto.set_broken_target(
        std::string(model::SloTargetField(*answer.broken_target)));
  }
  if (answer.next_batch_time.has_value()) {
    proto.set_next_batch_seconds(answer.next_batch_time->value());
  }
  const model::SloValues& values = answer.values;
  if (values.time_to_first_token.has_value()) {
    proto.set_time_to_first_token_seconds(values.time_to_first_token->value());
  }
  if (values.time_per_output_token.has_value()) {
    proto.set_time_per_output_token_seconds(
        values.time_per_output_token->value());
  }
  if (values.end_to_end.has_value()) {
    proto.set_end_to_end_latency_seconds(values.end_to_end->value());
  }
}

void ToProto(const model::LatencyAnswer& answer, v1::LatencyPrediction& proto) {
  if (answer.time_to_first_token.has_value()) {
    ToProto(*answer.time_to_first_token, *proto.mutable_time_to_first_token());
  }
  if (answer.time_per_output_token.has_value()) {
    ToProto(*answer.time_per_output_token,
            *proto.mutable_time_per_output_token());
  }
  if (answer.inter_token_latency.has_value()) {
    ToProto(*answer.inter_token_latency, *proto.mutable_inter_token_latency());
  }
  if (answer.end_to_end.has_value()) {
    ToProto(*answer.end_to_end, *proto.mutable_end_to_end_latency());
  }
  if (answer.headroom.has_value()) {
    proto.set_slo_headroom_seconds(answer.headroom->headroom.value());
  }
  proto.set_meets_slo(answer.meets_slo);
  proto.set_waits_for_room(answer.waits_for_room);
  proto.set_bound(BoundToProto(answer.bound));
  proto.set_extrapolated(answer.extrapolated);
}

void ToProto(const model::CapacityAnswer& answer,
             v1::FindEngineCapacityResponse& proto) {
  proto.set_requests_per_second(answer.requests_per_second);
  proto.set_output_tokens_per_second(answer.output_tokens_per_second);
  proto.set_batch_request_count(static_cast<int32_t>(answer.batch));
  const model::SloValues& values = answer.values;
  if (values.time_to_first_token.has_value()) {
    proto.set_time_to_first_token_seconds(values.time_to_first_token->value());
  }
  if (values.time_per_output_token.has_value()) {
    proto.set_time_per_output_token_seconds(
        values.time_per_output_token->value());
  }
  if (values.end_to_end.has_value()) {
    proto.set_end_to_end_latency_seconds(values.end_to_end->value());
  }
  if (values.inter_token_latency.has_value()) {
    proto.set_inter_token_latency_seconds(values.inter_token_latency->value());
  }
  proto.set_meets_slo(answer.meets_slo);
  proto.set_utilization_ratio(answer.utilization);
  if (answer.limit.has_value()) proto.set_limit(ToProto(*answer.limit));
  if (answer.broken_target.has_value()) {
    proto.set_broken_target(
        std::string(model::SloTargetField(*answer.broken_target)));
  }
}

void ToProto(const model::LatencyModel& answer,
             v1::FitLatencyModelResponse& proto) {
  if (answer.decode.has_value()) {
    proto.set_alpha_seconds(answer.decode->constant.value());
    proto.set_beta_seconds(answer.decode->slope.value());
    proto.set_max_decode_error_ratio(answer.decode->max_error_ratio);
  }
  if (answer.prefill.has_value()) {
    proto.set_gamma_seconds(answer.prefill->constant.value());
    proto.set_delta_seconds(answer.prefill->slope.value());
    proto.set_max_prefill_error_ratio(answer.prefill->max_error_ratio);
  }
  proto.set_max_batch_request_count(static_cast<int32_t>(answer.max_batch));
}

}  // namespace mansard::server
