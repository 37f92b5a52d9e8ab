#include "calibrate/serving/served_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrate/judge/predictor.h"
#include "calibrate/tables/serving_recipes.h"
#include "model/base/violations.h"
#include "model/serving/served_passes.h"
#include "model/workload/forward_pass.h"

namespace mansard::calibrate {
namespace {

using model::ForwardPass;
using model::RequestGroup;
using model::Role;

constexpr double kMeanLength = 0.9;

class Run {
 public:
  Run(const ServedTarget& served, model::OpList& ops)
      : served_(served), ops_(ops) {}

  PassParts Time(int64_t batch, int64_t context,
                 const RequestGroup* prompt) const {
    model::RequestGroups groups;
    if (prompt != nullptr) groups.push_back(*prompt);
    if (batch > 0) groups.push_back({Role::kDecode, batch, 1, context - 1});
    model::Violations none;
    const auto pass = ForwardPass::Create(
        std::move(groups), model::RequestShape::kMaxTokens * 2, none);
    PassParts parts;
    parts.groups = model::GroupsOfStep(served_.target, *pass, ops_);
    for (const model::Op& op : ops_) {
      parts.roofline += op.repeat * PlainRoofline(op, served_.target.view());
    }
    return parts;
  }

 private:
  const ServedTarget& served_;
  model::OpList& ops_;
};

bool IsLengthDrawn(const ServingRow& row) {
  const auto is = [&](double input, double output) {
    return row.input_tokens == input && row.output_tokens == output;
  };
  return row.load == LoadType::kFixedConcurrency &&
         (is(1024, 1024) || is(1024, 8192) || is(8192, 1024));
}

}  // namespace

RunLoad LoadOf(const ServingRow& row) {
  const double factor = IsLengthDrawn(row) ? kMeanLength : 1;
  RunLoad load;
  load.shape.input_tokens =
      std::max<int64_t>(1, std::llround(factor * row.input_tokens));
  load.shape.output_tokens =
      std::max<int64_t>(1, std::llround(factor * row.output_tokens));
  load.concurrency = row.in_flight();
  return load;
}

bool IsPrefillFirst(const ServingRow& row) { return row.engine == "SGLang"; }

ServedParts PartsOfRun(const ServedTarget& served, const ServingRow& row,
                       const RunLoad& load, model::OpList& ops) {
  const model::Layout& layout = served.target.layout();
  const auto& graph = served.target.graph().spec();
  const auto context =
      static_cast<int64_t>(std::llround(load.shape.mean_context()));
  const ServingRecipe recipe = RecipeOf(row);
  const int64_t budget = recipe.max_batched_tokens > 0
                             ? recipe.max_batched_tokens
                             : served.limits.max_batched_tokens;
  ServedParts parts;
  parts.data_ranks = layout.data();
  parts.requests_that_fit = served.RequestsThatFit(context);
  parts.batch = std::max(
      1.0,
      std::floor(std::min({load.concurrency, parts.requests_that_fit,
                           static_cast<double>(served.limits.max_sequences) *
                               parts.data_ranks})));
  parts.layers = static_cast<double>(graph.layer_kind_indexes.size());
  const auto batch = static_cast<int64_t>(parts.batch);
  const model::PromptChunks chunks = model::ChunksOf(load.shape, budget);
  parts.prompt_passes = static_cast<double>(chunks.passes);
  parts.prompts_a_pass =
      static_cast<double>(budget / load.shape.computed_tokens());
  parts.token_budget = budget;
  parts.admission = recipe.admission;
  parts.prefill_first = IsPrefillFirst(row);
  const Run run(served, ops);
  parts.decode = run.Time(batch, context, nullptr);
  const int64_t ranks = std::min<int64_t>(batch, layout.data());
  const double share = 1 / static_cast<double>(ranks);
  for (const model::PromptChunk& chunk : chunks.looks) {
    RequestGroup prompt = chunk.prompt;
    prompt.request_count = ranks;
    const double weight = chunk.weight * share;
    parts.prompt_alone.Add(run.Time(0, context, &prompt), weight);
    if (parts.prefill_first) continue;
    parts.prompt.Add(run.Time(batch, context, &prompt), weight);
    parts.prompt.Add(parts.decode, -weight);
  }
  if (parts.prefill_first) parts.prompt = parts.prompt_alone;
  return parts;
}

}  // namespace mansard::calibrate
