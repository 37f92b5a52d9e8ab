// Served load by its formulas, pass by pass and without any search: what tests
// compare with. Written from the design's end-to-end section, not from
// served_form.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {

struct ReferenceTimes {
  double decode = 0;
  double prompt = 0;
  double alone = 0;
  double passes = 0;
  double ttft = 0;
  double tpot = 0;
  double end_to_end = 0;
  double rate = 0;
};

struct ReferenceLoad {
  model::RequestShape shape;
  int64_t batch = 1;
  double concurrency = 1;
  double slots_share = 0;  // 1 / requests a slot.
  double tokens_per_pass = 1;
  int64_t drafts = 0;
};

struct ReferenceHeld {
  double passes = 0;
  double others = 0;
};

// `rate` requests a pass, of whose prompts so many fill a pass.
inline ReferenceHeld HeldBy(const model::Admission& admission, double rate,
                            double prompts_of_budget) {
  // Whichever of the passes between two looks it comes in: 0 to N - 1 wait.
  ReferenceHeld held;
  for (int64_t left = 0; left < admission.poll_passes; ++left) {
    held.passes +=
        static_cast<double>(left) / static_cast<double>(admission.poll_passes);
  }
  held.others = rate * static_cast<double>(admission.poll_passes - 1);
  if (admission.batch_wait_passes == 0) return held;
  // Of a group that ends by time the first waits all of it, those that come
  // after it half as long on average; of one that ends by size the last waits
  // for none. Requests see their group more often the larger it is.
  const double enough =
      std::max(0.0, admission.batch_wait_token_share * prompts_of_budget - 1);
  const auto w = static_cast<double>(admission.batch_wait_passes);
  double requests = 0;
  double waits = 0;
  double others = 0;
  double chance = std::exp(-rate * w);  // Of `more` in the time.
  for (int more = 0; more < 1000; ++more) {
    requests += chance * (1 + more);
    waits += chance * (w + more * w / 2);
    others += chance * (1 + more) * more;
    chance *= rate * w / (more + 1);
  }
  held.passes += std::min(waits / requests, enough / rate / 2);
  held.others += std::min(others / requests, enough);
  return held;
}

// Of an aggregated engine, in seconds.
inline ReferenceTimes ReferenceOf(const model::ServingEngine& engine,
                                  const ReferenceLoad& load) {
  using model::RequestGroup;
  using model::Role;
  model::StepTimer timer;
  const auto time = [&](model::RequestGroups groups) {
    return engine
        .StepTime(BuildPass(std::move(groups), int64_t{1} << 40), timer)
        .value();
  };
  const double isl = static_cast<double>(load.shape.input_tokens);
  const double o = static_cast<double>(load.shape.output_tokens);
  // Of a prompt that the cache has whole, one token is computed.
  const auto cached = std::min(
      static_cast<int64_t>(std::floor(isl * load.shape.prefix_hit_ratio)),
      load.shape.input_tokens - 1);
  const int64_t i = load.shape.input_tokens - cached;
  const int64_t budget = engine.limits().max_batched_tokens;
  const auto n = static_cast<int64_t>(
      std::ceil(static_cast<double>(i) / static_cast<double>(budget)));
  const int64_t ranks = std::min(load.batch, engine.data_ranks());
  const bool mixed = engine.scheduling() == model::Scheduling::kMixed;
  const RequestGroup decodes{
      Role::kDecode, load.batch, 1 + load.drafts,
      std::max<int64_t>(
          0, static_cast<int64_t>(std::ceil(isl + o / 2)) - 1 - load.drafts)};

  ReferenceTimes times;
  times.passes = static_cast<double>(n);
  times.decode = time({decodes});
  double with_decodes = 0;
  for (int64_t pass = 0; pass < n; ++pass) {
    const int64_t begin = i * pass / n;
    const RequestGroup chunk{Role::kPrefill, ranks, i * (pass + 1) / n - begin,
                             cached + begin};
    times.alone += time({chunk}) / static_cast<double>(ranks);
    with_decodes +=
        (time({chunk, decodes}) - times.decode) / static_cast<double>(ranks);
  }
  times.prompt = mixed ? std::max(0.0, with_decodes) : times.alone;

  const double b = static_cast<double>(load.batch);
  const double a = load.tokens_per_pass;
  const double s = load.slots_share;
  const model::ServingConstants& k = engine.constants();
  times.tpot = times.decode / a + (b - 1) / o * times.prompt;
  const double rho =
      std::min(k.max_prompt_utilization, b * times.prompt / (o * times.tpot));
  const double wait = rho / (1 - rho) * times.prompt / 2;
  const double burst =
      times.alone * (std::min(static_cast<double>(budget / i), b) + b) / 2;
  const double queue =
      load.concurrency > b ? (load.concurrency / b - 1) * o * times.tpot : 0;
  const auto layers = static_cast<double>(
      engine.target().graph().spec().layer_kind_indexes.size());
  const ReferenceHeld held =
      HeldBy(engine.admission(), b * a / o,
             static_cast<double>(budget) / static_cast<double>(i));
  const double in_pass = std::max<double>(1, static_cast<double>(budget / i));
  const double behind =
      ((std::min(in_pass, 1 + held.others) + 1 + held.others) / 2 - 1) *
      times.prompt;
  times.ttft = (1 - s) * (times.prompt + std::max(wait, behind) + queue) +
               s * burst * k.burst +
               k.decode_passes *
                   (.5 + (mixed ? times.passes : 0) +
                    (1 - s) * (b > 1 ? held.passes : 0)) *
                   times.decode +
               k.request.value() + k.input_token.value() * isl +
               k.prompt_layer.value() * times.passes * layers +
               k.concurrent_request.value() * load.concurrency;
  times.end_to_end = times.ttft + (o - 1) * times.tpot;
  times.rate = load.concurrency / times.end_to_end;
  return times;
}

}  // namespace mansard::testing
