#include "model/serving/served_form.h"

#include <algorithm>

namespace mansard::model {
namespace {

FirstTokenParts FirstTokenOf(const ServedForm& form, double batch,
                             double concurrency, const ServedPassTimes& passes,
                             double rho, Seconds tpot,
                             const FallingTerms& falling) {
  const ServingConstants& constants = form.constants;
  const double steady = 1 - form.burst_share;
  const bool decodes = form.role == ServingRole::kAggregated;
  FirstTokenParts parts;
  parts.prompt = (steady * constants.prompt) * passes.prompt;
  const Held held = decodes ? HeldOf(form, batch, falling.batch) : Held();
  const double together = 1 + held.others;
  const double of_others =
      (std::clamp(form.prompts_a_pass, 1.0, together) + together) / 2 - 1;
  parts.wait =
      (steady * constants.wait * std::max(rho / (1 - rho) / 2, of_others)) *
      passes.prompt;
  parts.queue =
      decodes ? (steady * constants.queue *
                 std::max(0.0, concurrency / batch - 1) * form.output_tokens) *
                    tpot
              : (steady * std::max(0.0, concurrency - 1)) * passes.prompt_alone;
  parts.burst = (form.burst_share * constants.burst *
                 (std::min(form.prompts_a_pass, batch) + batch) / 2) *
                passes.prompt_alone;
  if (decodes) {
    const double passes_waited =
        form.scheduling == Scheduling::kMixed ? .5 + form.prompt_passes : .5;
    parts.decode_passes =
        (constants.decode_passes * (passes_waited + steady * held.passes)) *
        passes.decode;
  }
  parts.constants =
      constants.request + form.input_tokens * constants.input_token +
      (form.prompt_passes * form.layers) * constants.prompt_layer +
      concurrency * constants.concurrent_request;
  for (Seconds* part : {&parts.prompt, &parts.wait, &parts.queue, &parts.burst,
                        &parts.decode_passes, &parts.constants}) {
    *part = form.first_token_factor * *part;
  }
  return parts;
}

}  // namespace

void ServedForm::SetAdmission(const Admission& admission, int64_t token_budget,
                              int64_t prompt_tokens) {
  poll_passes = static_cast<double>(admission.poll_passes);
  batch_wait_passes = static_cast<double>(admission.batch_wait_passes);
  batch_wait_prompts = admission.batch_wait_token_share *
                       static_cast<double>(token_budget) /
                       static_cast<double>(prompt_tokens);
}

Held HeldOf(const ServedForm& form, double batch, double falling_batch) {
  const auto arriving = [&](double size) {
    return size * form.tokens_per_pass / form.output_tokens;
  };
  const double polls = form.poll_passes - 1;
  Held held = {polls / 2, arriving(batch) * polls};
  if (form.batch_wait_passes > 0) {
    const double wait = form.batch_wait_passes;
    const double enough = std::max(0.0, form.batch_wait_prompts - 1);
    const double ending = arriving(falling_batch) * wait;
    held.passes += std::min(wait * (1 + ending / 2) / (1 + ending),
                            enough / arriving(falling_batch) / 2);
    const double mean = arriving(batch) * wait;
    held.others += std::min(mean * (2 + mean) / (1 + mean), enough);
  }
  held.passes *= std::clamp(batch - 1, 0.0, 1.0);
  return held;
}

Seconds TimePerOutputToken(const ServedForm& form, double batch,
                           const ServedPassTimes& passes) {
  return passes.decode / form.tokens_per_pass +
         (std::max(0.0, batch - 1) / form.output_tokens) * passes.prompt;
}

ServedTimes TimesOf(const ServedForm& form, double batch, double concurrency,
                    const ServedPassTimes& passes,
                    const FallingTerms& falling) {
  ServedTimes times;
  if (form.role == ServingRole::kPrefill) {
    times.first_token =
        FirstTokenOf(form, batch, concurrency, passes, 0, Seconds::Zero(), {});
    times.values.time_to_first_token = times.first_token.Sum();
    times.values.end_to_end = times.first_token.Sum();
    times.in_batch = passes.prompt_alone;
    return times;
  }
  const Seconds tpot = TimePerOutputToken(form, batch, passes);
  times.in_batch = form.output_tokens * tpot;
  times.values.inter_token_latency = passes.decode;
  times.values.time_per_output_token = tpot;
  if (form.role == ServingRole::kDecode) return times;
  const double work =
      batch * (passes.prompt / (form.output_tokens * falling.tpot));
  times.prompt_utilization =
      std::min(form.constants.max_prompt_utilization, work);
  times.first_token = FirstTokenOf(form, batch, concurrency, passes,
                                   times.prompt_utilization, tpot, falling);
  times.values.time_to_first_token = times.first_token.Sum();
  times.values.end_to_end =
      times.first_token.Sum() + (form.output_tokens - 1) * tpot;
  return times;
}

ServedTimes TimesOf(const ServedForm& form, double batch, double concurrency,
                    const ServedPassTimes& passes) {
  return TimesOf(form, batch, concurrency, passes,
                 {TimePerOutputToken(form, batch, passes), batch});
}

ServedTimesRange TimesOver(const ServedForm& form, double first, double last,
                           const ServedPassRange& passes) {
  return {TimesOf(form, first, first, passes.least,
                  {TimePerOutputToken(form, last, passes.most), last}),
          TimesOf(form, last, last, passes.most,
                  {TimePerOutputToken(form, first, passes.least), first})};
}

double RequestRate(const ServedForm& form, double concurrency,
                   const ServedTimes& times) {
  switch (form.role) {
    case ServingRole::kAggregated:
      return concurrency / times.values.end_to_end->value();
    case ServingRole::kPrefill:
      return 1 / times.in_batch.value();
    case ServingRole::kDecode:
      return concurrency / times.in_batch.value();
  }
  return 0;
}

}  // namespace mansard::model
