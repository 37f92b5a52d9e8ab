#include "calibrate/serving/cost_terms.h"

#include <algorithm>

namespace mansard::calibrate {
namespace {

using model::kOpGroupCount;

}  // namespace

std::vector<double> TermsOfOutputToken(const ServedRun& run) {
  model::StepGroups passes = run.parts.decode.groups;
  // What each of the others in the batch adds to a token, once in its outputs.
  passes.Add(run.parts.prompt.groups,
             (run.parts.batch - 1) /
                 static_cast<double>(run.load.shape.output_tokens));
  const model::OpCosts priors = UnfittedCosts(run.row->engine).costs;
  std::vector<double> terms(kStepCosts);
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    terms[i] = std::max(0.0, priors[i].factor * passes.times[i].value());
    terms[kOpGroupCount + i] =
        std::max(0.0, (passes.ops[i] * priors[i].each).value());
  }
  return terms;
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
