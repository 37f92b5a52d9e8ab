#include "model/serving/batch_question.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/graph/graph_rules.h"

namespace mansard::model {
namespace {

// Of a histogram an entry, else the one.
void CheckContext(const BatchQuestion& question, size_t index, double longest,
                  Violations& violations) {
  const auto context = static_cast<double>(question.contexts[index].context);
  const double least = 1.0 + std::max(0, question.draft_tokens);
  if (question.contexts.size() == 1) {
    violations.CheckRange("context_token_count", context, least, longest);
    return;
  }
  const Violations::Scope scope(violations, Indexed("contexts", index));
  violations.CheckRange("context_token_count", context, least, longest);
}

void CheckContexts(const ServingEngine* engine, const BatchQuestion& question,
                   Violations& violations) {
  const size_t count = question.contexts.size();
  if (count == 0 || count > BatchQuestion::kMaxContexts) {
    violations.Add("contexts",
                   absl::StrCat("has ", count, " entries; allowed: 1 to ",
                                BatchQuestion::kMaxContexts));
    return;
  }
  const double longest =
      engine == nullptr
          ? kMaxContext
          : static_cast<double>(engine->target().graph().spec().max_context);
  for (size_t i = 0; i < count; ++i) {
    const ContextShare& share = question.contexts[i];
    CheckContext(question, i, longest, violations);
    if (!(share.weight > 0) || std::isinf(share.weight)) {
      violations.Add(absl::StrCat(Indexed("contexts", i), ".weight"),
                     absl::StrCat("is ", share.weight,
                                  "; must be more than 0, and finite"));
    }
  }
}

void CheckDrafts(const BatchQuestion& question, Violations& violations) {
  violations.CheckRange("draft_token_count", question.draft_tokens, 0,
                        ForwardPass::kMaxDraftTokens);
  if (!question.acceptance_rate.has_value()) return;
  const double rate = *question.acceptance_rate;
  if (!(rate >= 0 && rate <= 1)) {
    violations.Add("acceptance_rate",
                   absl::StrCat("is ", rate, "; allowed: 0 to 1"));
  } else if (question.draft_tokens == 0) {
    violations.Add("acceptance_rate",
                   "is given, but draft_token_count is 0: nothing is drafted");
  }
}

double MostPromptTokens(const ServingEngine* engine) {
  return static_cast<double>(engine == nullptr
                                 ? ForwardPass::kMaxTotalTokens
                                 : engine->limits().max_batched_tokens *
                                       engine->data_ranks());
}

// Of times that the question has no answer for.
void CheckTargets(const ServingEngine* engine, const BatchQuestion& question,
                  Violations& violations) {
  const Violations::Scope scope(violations, "slo");
  CheckSlo(question.slo, violations);
  for (const SloTarget target :
       {SloTarget::kTimeToFirstToken, SloTarget::kEndToEnd}) {
    if (!question.slo[target].has_value()) continue;
    if (engine != nullptr && engine->role() == ServingRole::kDecode) {
      violations.Add(SloTargetField(target),
                     "is given, but the engine decodes only: it has no first "
                     "tokens");
    } else if (!question.shape.has_value()) {
      violations.Add(SloTargetField(target),
                     "is given without the shape of requests, which it needs");
    }
  }
}

}  // namespace

void CheckQuestion(const ServingEngine* engine, const BatchQuestion& question,
                   Violations& violations) {
  if (engine != nullptr && engine->role() == ServingRole::kPrefill) {
    violations.Add("engine",
                   "computes prompts only: it has no batch to decode");
  }
  CheckTargets(engine, question, violations);
  CheckContexts(engine, question, violations);
  CheckDrafts(question, violations);
  violations.CheckRange("prefill_token_count",
                        static_cast<double>(question.prefill_tokens), 0,
                        MostPromptTokens(engine));
  if (question.free_kv_tokens.has_value()) {
    violations.CheckRange("kv_token_budget_count",
                          static_cast<double>(*question.free_kv_tokens), 0,
                          static_cast<double>(ServingLimits::kMaxKvTokens));
  }
  if (question.shape.has_value()) {
    const Violations::Scope scope(violations, "shape");
    CheckShape(*question.shape, violations);
  }
}

double TokensPerPass(int draft_tokens, double acceptance_rate) {
  double tokens = 1;
  double accepted = 1;
  for (int i = 0; i < draft_tokens; ++i) {
    accepted *= acceptance_rate;
    tokens += accepted;
  }
  return tokens;
}

}  // namespace mansard::model
