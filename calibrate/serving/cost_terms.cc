#include "calibrate/serving/cost_terms.h"

#include <algorithm>

namespace mansard::calibrate {
namespace {

using model::kOpGroupCount;
using model::Seconds;

std::vector<double> TermsOf(const ServedRun& run,
                            const model::StepGroups& passes,
                            Seconds constants) {
  const model::OpCosts priors = UnfittedCosts(run.row->engine).costs;
  std::vector<double> terms(kStepTerms);
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    terms[i] = std::max(0.0, priors[i].factor * passes.times[i].value());
    terms[kOpGroupCount + i] =
        std::max(0.0, (passes.ops[i] * priors[i].each).value());
  }
  terms[kStepCosts] = constants.value();
  return terms;
}

// `part` is so many times `whole`.
double Times(Seconds part, Seconds whole) {
  return whole > Seconds::Zero() ? part / whole : 0;
}

// What each of the others in the batch adds to a token, once in its outputs.
double PromptsPerToken(const ServedRun& run) {
  return (run.parts.batch - 1) /
         static_cast<double>(run.load.shape.output_tokens);
}

}  // namespace

std::vector<double> TermsOfOutputToken(const ServedRun& run) {
  model::StepGroups passes = run.parts.decode.groups;
  passes.Add(run.parts.prompt.groups, PromptsPerToken(run));
  return TermsOf(run, passes, Seconds::Zero());
}

std::vector<double> StepTermsOfFirstToken(const ServedRun& run,
                                          const model::EngineCosts& costs) {
  const model::ServedPassTimes times = PassesOf(run.parts, costs.costs);
  const model::ServedTimes served =
      TimesOfRun(run, costs.costs, costs.first_token);
  const model::FirstTokenParts& parts = served.first_token;
  const double queued =
      Times(parts.queue, *served.values.time_per_output_token);
  model::StepGroups passes;
  passes.Add(run.parts.prompt.groups,
             Times(parts.prompt + parts.wait, times.prompt) +
                 queued * PromptsPerToken(run));
  passes.Add(run.parts.prompt_alone.groups,
             Times(parts.burst, times.prompt_alone));
  passes.Add(run.parts.decode.groups,
             Times(parts.decode_passes, times.decode) + queued);
  return TermsOf(run, passes, parts.constants);
}

std::vector<double> TermsOfFirstToken(const ServedRun& run,
                                      const model::OpCosts& steps) {
  const model::FirstTokenCosts priors =
      UnfittedCosts(run.row->engine).first_token;
  const model::ServedTimes times = TimesOfRun(run, steps, priors);
  const model::ServedForm form = FormOf(run, priors);
  std::vector<double> terms(kFirstTokenTermCount);
  terms[kPrompt] = times.first_token.prompt.value();
  terms[kWait] = times.first_token.wait.value();
  terms[kQueue] = times.first_token.queue.value();
  terms[kBurst] = times.first_token.burst.value();
  terms[kDecodePasses] = times.first_token.decode_passes.value();
  terms[kRequest] = priors.request.value();
  terms[kInputToken] = (form.input_tokens * priors.input_token).value();
  terms[kPromptLayer] =
      (form.prompt_passes * form.layers * priors.prompt_layer).value();
  terms[kConcurrent] =
      (run.load.concurrency * priors.concurrent_request).value();
  return terms;
}

}  // namespace mansard::calibrate
