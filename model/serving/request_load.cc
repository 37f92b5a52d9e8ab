#include "model/serving/request_load.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

ContextShare MeanContext(const RequestShape& shape, const DraftGain& gain) {
  const auto mean = static_cast<int64_t>(std::ceil(shape.mean_context()));
  return {std::max<int64_t>(mean, 1 + gain.drafts()), 1};
}

}  // namespace

int DraftGain::drafts() const {
  return draft_tokens.value_or(static_cast<int>(std::ceil(tokens_per_pass)) -
                               1);
}

void CheckGain(const DraftGain& gain, Violations& violations) {
  const double tokens = gain.tokens_per_pass;
  if (gain.draft_tokens.has_value() &&
      !violations.CheckRange("draft_token_count", *gain.draft_tokens, 0,
                             ForwardPass::kMaxDraftTokens)) {
    return;
  }
  const int most = 1 + gain.draft_tokens.value_or(ForwardPass::kMaxDraftTokens);
  if (!(tokens >= 1 && tokens <= most)) {
    violations.Add(
        "accepted_tokens_per_pass_count",
        absl::StrCat("is ", tokens, "; allowed: 1 to ", most,
                     ", what a pass computes of a sequence at most"));
  }
}

void CheckRequest(const ServingEngine* engine, const RequestShape& shape,
                  const DraftGain& gain, Violations& violations) {
  CheckGain(gain, violations);
  const size_t before = violations.all().size();
  const Violations::Scope scope(violations, "shape");
  CheckShape(shape, violations);
  if (engine == nullptr || violations.all().size() != before) return;
  const int64_t longest = engine->target().graph().spec().max_context;
  if (shape.input_tokens + shape.output_tokens > longest) {
    violations.Add(
        "output_token_count",
        absl::StrCat(
            "is ", shape.output_tokens, ", which with ", shape.input_tokens,
            " input tokens exceeds the model's longest context, ", longest));
  }
}

int64_t MostSequences(const ServingEngine& engine, const RequestShape& shape,
                      const DraftGain& gain) {
  return std::min(engine.max_batch(), engine.room().RequestsThatFit(
                                          MeanContext(shape, gain).context));
}

RequestLoad::RequestLoad(const ServingEngine& engine, const RequestShape& shape,
                         const DraftGain& gain, StepTimer& timer)
    : batches_(engine, {MeanContext(shape, gain)},
               {gain.drafts(), gain.modules_draft}),
      passes_(batches_, shape, timer),
      form_(passes_.FormOf(gain.tokens_per_pass)) {}

}  // namespace mansard::model
