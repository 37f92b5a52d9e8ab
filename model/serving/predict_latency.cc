#include "model/serving/predict_latency.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/serving/served_form.h"

namespace mansard::model {
namespace {

// Sums of passes, whose errors go together.
class Interval {
 public:
  void Add(double weight, const StepPrediction& step) {
    sum_.time += weight * step.time;
    sum_.p10 += weight * step.p10;
    sum_.p90 += weight * step.p90;
  }
  void Add(double weight, const TimeInterval& other) {
    sum_.time += weight * other.time;
    sum_.p10 += weight * other.p10;
    sum_.p90 += weight * other.p90;
  }
  void Add(Seconds certain) {
    sum_.time += certain;
    sum_.p10 += certain;
    sum_.p90 += certain;
  }
  // Differences may have turned the ends.
  TimeInterval Result() const {
    const Seconds time = Max(Seconds::Zero(), sum_.time);
    return {time, Max(Seconds::Zero(), Min(sum_.p10, time)),
            Max(sum_.p90, time)};
  }

 private:
  TimeInterval sum_;
};

std::optional<Seconds> TimeOf(const std::optional<TimeInterval>& interval) {
  if (!interval.has_value()) return std::nullopt;
  return interval->time;
}

class Prediction {
 public:
  Prediction(const ServingEngine& engine, const LatencyQuery& query,
             StepTimer& timer)
      : engine_(engine),
        query_(query),
        state_(query.state),
        timer_(timer),
        mixed_(engine.role() == ServingRole::kAggregated &&
               engine.scheduling() == Scheduling::kMixed),
        begun_(query.generated_tokens > 0) {
    const RequestShape shape{query.input_tokens, 1, query.prefix_hit_ratio};
    cached_ = shape.cached_tokens();
    computed_ = shape.computed_tokens();
  }

  LatencyAnswer Run() {
    LatencyAnswer answer;
    answer.waits_for_room = !begun_ && MissingPlaces() > 0;
    if (engine_.role() != ServingRole::kPrefill) Decode(answer);
    if (engine_.role() != ServingRole::kDecode && !begun_) {
      FirstToken(answer);
    }
    if (query_.output_tokens.has_value()) EndToEnd(answer);
    const SloValues values = answer.values();
    answer.headroom = TightestMargin(query_.slo, values);
    answer.meets_slo = !answer.headroom.has_value() ||
                       answer.headroom->headroom >= Seconds::Zero();
    return answer;
  }

 private:
  // Of what decodes now; of this request where nothing does.
  double MeanContext() const {
    const auto running = static_cast<double>(state_.running_requests);
    if (state_.running_requests == 0) {
      return static_cast<double>(query_.input_tokens);
    }
    if (state_.decode_tokens_in_flight > 0) {
      return static_cast<double>(state_.decode_tokens_in_flight) / running;
    }
    const double used = state_.kv_usage_ratio *
                        static_cast<double>(engine_.kv_token_capacity());
    return used > 0 ? used / running : static_cast<double>(query_.input_tokens);
  }

  std::optional<ForwardPass> PassOf(int64_t batch, double context,
                                    const RequestGroup* prompt) const {
    RequestGroups groups;
    if (prompt != nullptr) groups.push_back(*prompt);
    if (batch > 0) {
      const int64_t fresh = 1 + query_.gain.drafts();
      groups.push_back({Role::kDecode,
                        std::min(batch, ForwardPass::kMaxRequests), fresh,
                        std::max<int64_t>(0, std::llround(context) - fresh)});
    }
    Violations none;
    return ForwardPass::Create(std::move(groups),
                               std::numeric_limits<int64_t>::max() / 4, none);
  }

  StepPrediction Step(int64_t batch, double context,
                      const RequestGroup* prompt) const {
    return engine_.Step(*PassOf(batch, context, prompt), timer_);
  }

  // Of this one, half way through its output.
  double OwnContext() const {
    return static_cast<double>(query_.input_tokens) +
           query_.output_tokens.value_or(0) / 2;
  }

  // Requests that would have to end before this one runs.
  double MissingPlaces() const {
    const double places =
        static_cast<double>(state_.running_requests + state_.waiting_requests +
                            1 - engine_.max_batch());
    if (!engine_.room().grows()) return std::max(0.0, places);
    const double free = (1 - state_.kv_usage_ratio) *
                        static_cast<double>(engine_.kv_token_capacity());
    const double lacking =
        static_cast<double>(query_.input_tokens - cached_ +
                            state_.prefill_tokens_in_flight) -
        free;
    return std::max({0.0, places, lacking / std::max(1.0, MeanContext())});
  }

  // With all that wait, which come first.
  void Decode(LatencyAnswer& answer) {
    const int64_t joining = begun_ ? 0 : state_.waiting_requests + 1;
    batch_ = std::clamp<int64_t>(state_.running_requests + joining, 1,
                                 engine_.max_batch());
    const auto joined = static_cast<double>(joining);
    const auto running = static_cast<double>(state_.running_requests);
    const double context =
        begun_ ? MeanContext()
               : (running * MeanContext() + joined * OwnContext()) /
                     (running + joined);
    const StepPrediction pass = Step(batch_, context, nullptr);
    answer.bound = pass.bound;
    answer.extrapolated |= pass.extrapolated;
    answer.inter_token_latency = TimeInterval{pass.time, pass.p10, pass.p90};
    Interval token;
    token.Add(1 / query_.gain.tokens_per_pass, pass);
    if (query_.output_tokens.has_value()) {
      AddPromptsOfOthers(context, pass, token);
    }
    answer.time_per_output_token = token.Result();
  }

  // Each other's once while one request makes its output; of this one's length.
  void AddPromptsOfOthers(double context, const StepPrediction& pass,
                          Interval& token) {
    if (engine_.role() == ServingRole::kDecode || batch_ == 1) return;
    const int64_t budget = engine_.limits().max_batched_tokens;
    const auto passes = static_cast<double>((computed_ + budget - 1) / budget);
    const int64_t ranks = std::min(batch_, engine_.data_ranks());
    const auto each = static_cast<int64_t>(
        std::ceil(static_cast<double>(computed_) / passes));
    const RequestGroup prompt{Role::kPrefill, ranks, each,
                              cached_ + (computed_ - each) / 2};
    const double share = static_cast<double>(batch_ - 1) /
                         *query_.output_tokens * passes /
                         static_cast<double>(ranks);
    token.Add(share, Step(mixed_ ? batch_ : 0, context, &prompt));
    if (mixed_) token.Add(-share, pass);
  }

  // Passes that decode, until the engine looks at this request. Of the pass
  // that polls nothing is known, nor of how long others were held back.
  double PassesHeld(int64_t ahead) const {
    const Admission& admission = engine_.admission();
    const double polls = static_cast<double>(admission.poll_passes - 1) / 2;
    const double enough =
        admission.batch_wait_token_share *
        static_cast<double>(engine_.limits().max_batched_tokens);
    if (static_cast<double>(ahead + computed_) >= enough) return polls;
    const double share = ahead > 0 || state_.waiting_requests > 0 ? .5 : 1;
    return polls + share * static_cast<double>(admission.batch_wait_passes);
  }

  void FirstToken(LatencyAnswer& answer) {
    const ServingConstants& constants = engine_.constants();
    const int64_t ranks = engine_.data_ranks();
    const int64_t budget = engine_.limits().max_batched_tokens;
    const int64_t ahead = (state_.prefill_tokens_in_flight + ranks - 1) / ranks;
    const int64_t passes = (ahead + computed_ + budget - 1) / budget;
    const int64_t last = ahead + computed_ - (passes - 1) * budget;
    const bool decodes = engine_.role() == ServingRole::kAggregated &&
                         state_.running_requests > 0;
    const int64_t beside = mixed_ ? state_.running_requests : 0;
    const double context = MeanContext();
    const int64_t side_by_side = ahead > 0 ? ranks : 1;

    Interval time;
    const int64_t before_last = std::max<int64_t>(0, computed_ - last);
    const RequestGroup tail{Role::kPrefill, side_by_side, last,
                            last <= computed_ ? cached_ + before_last : 0};
    time.Add(1, Step(beside, context, &tail));
    if (passes > 1) {
      const RequestGroup full{
          Role::kPrefill, side_by_side, budget,
          computed_ > budget ? cached_ + before_last / 2 : 0};
      time.Add(static_cast<double>(passes - 1), Step(beside, context, &full));
    }
    if (decodes) {
      const auto own = static_cast<double>(passes);
      const double waited = constants.decode_passes *
                            ((mixed_ ? .5 + own : .5) + PassesHeld(ahead));
      time.Add(waited - (mixed_ ? own : 0),
               Step(state_.running_requests, context, nullptr));
    }
    time.Add(constants.request +
             static_cast<double>(query_.input_tokens) * constants.input_token +
             static_cast<double>(passes) * Layers() * constants.prompt_layer +
             static_cast<double>(state_.running_requests +
                                 state_.waiting_requests + 1) *
                 constants.concurrent_request);
    AddWaitForPlace(answer, time);
    Interval own;
    own.Add(engine_.factors().first_token, time.Result());
    answer.time_to_first_token = own.Result();
  }

  double Layers() const {
    return static_cast<double>(
        engine_.target().graph().spec().layer_kind_indexes.size());
  }

  // Places come free as requests end.
  void AddWaitForPlace(const LatencyAnswer& answer, Interval& time) const {
    if (!answer.waits_for_room || state_.running_requests == 0 ||
        !query_.output_tokens.has_value() ||
        !answer.time_per_output_token.has_value()) {
      return;
    }
    time.Add(MissingPlaces() / static_cast<double>(state_.running_requests) *
                 *query_.output_tokens,
             *answer.time_per_output_token);
  }

  void EndToEnd(LatencyAnswer& answer) const {
    Interval all;
    if (answer.time_to_first_token.has_value()) {
      all.Add(1, *answer.time_to_first_token);
    }
    if (answer.time_per_output_token.has_value()) {
      const double left =
          *query_.output_tokens -
          std::max(1.0, static_cast<double>(query_.generated_tokens));
      all.Add(std::max(0.0, left), *answer.time_per_output_token);
    }
    answer.end_to_end = all.Result();
  }

  const ServingEngine& engine_;
  const LatencyQuery& query_;
  const EndpointState& state_;
  StepTimer& timer_;
  const bool mixed_;
  const bool begun_;
  int64_t cached_ = 0;
  int64_t computed_ = 1;
  int64_t batch_ = 1;
};

}  // namespace

SloValues LatencyAnswer::values() const {
  return {TimeOf(time_to_first_token), TimeOf(inter_token_latency),
          TimeOf(time_per_output_token), TimeOf(end_to_end)};
}

std::optional<LatencyAnswer> PredictLatency(const ServingEngine& engine,
                                            const LatencyQuery& query,
                                            StepTimer& timer,
                                            Violations& violations) {
  const size_t before = violations.all().size();
  CheckQuery(&engine, query, violations);
  if (violations.all().size() != before) return std::nullopt;
  return Prediction(engine, query, timer).Run();
}

}  // namespace mansard::model
