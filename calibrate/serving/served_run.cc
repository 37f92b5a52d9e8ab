#include "calibrate/serving/served_run.h"

#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "calibrate/tables/names.h"

namespace mansard::calibrate {
namespace {

using model::Microseconds;
using model::Milliseconds;
using model::OpGroup;

model::OpCost& CostOf(model::OpCosts& costs, OpGroup group) {
  return costs[static_cast<size_t>(group)];
}

// "Blackwell Ultra sm_103" -> "Blackwell".
std::string Generation(const std::string& architecture) {
  return architecture.substr(0, architecture.find(' '));
}

}  // namespace

model::ServedForm FormOf(const ServedRun& run,
                         const model::FirstTokenCosts& costs) {
  model::ServedForm form;
  form.constants = costs;
  form.scheduling = run.parts.prefill_first ? model::Scheduling::kPrefillFirst
                                            : model::Scheduling::kMixed;
  form.input_tokens = static_cast<double>(run.load.shape.input_tokens);
  form.output_tokens = static_cast<double>(run.load.shape.output_tokens);
  form.prompt_passes = run.parts.prompt_passes;
  form.prompts_a_pass = run.parts.prompts_a_pass;
  form.SetAdmission(run.parts.admission, run.parts.token_budget,
                    run.load.shape.computed_tokens());
  form.layers = run.parts.layers;
  form.burst_share = 1 / run.load.requests_per_slot;
  return form;
}

model::ServedPassTimes PassesOf(const ServedParts& parts,
                                const model::OpCosts& costs) {
  return {parts.decode.groups.With(costs),
          Max(model::Seconds::Zero(), parts.prompt.groups.With(costs)),
          parts.prompt_alone.groups.With(costs)};
}

model::ServedTimes TimesWithoutCosts(const ServedRun& run,
                                     const model::ServedPassTimes& passes) {
  model::FirstTokenCosts none;
  none.request = none.input_token = none.prompt_layer =
      none.concurrent_request = model::Seconds::Zero();
  return model::TimesOf(FormOf(run, none), run.parts.batch,
                        run.load.concurrency, passes);
}

model::ServedTimes RooflineOf(const ServedRun& run) {
  const ServedParts& parts = run.parts;
  return TimesWithoutCosts(run,
                           {parts.decode.roofline,
                            Max(model::Seconds::Zero(), parts.prompt.roofline),
                            parts.prompt_alone.roofline});
}

model::ServedTimes FloorOf(const ServedRun& run) {
  model::ServedTimes times;
  const ServedParts& parts = run.parts;
  // Prompts beside decodes share the weights' bytes: at the least they add
  // nothing.
  times.values.time_per_output_token = parts.decode.groups.floor;
  times.values.time_to_first_token = parts.prompt_alone.groups.floor;
  return times;
}

model::ServedTimes TimesOfRun(const ServedRun& run, const model::OpCosts& costs,
                              const model::FirstTokenCosts& first_token) {
  return model::TimesOf(FormOf(run, first_token), run.parts.batch,
                        run.load.concurrency, PassesOf(run.parts, costs));
}

std::vector<ServedRun> RunsOf(const std::vector<ServingRow>& rows,
                              ServingTargets& targets) {
  const std::vector<RowStanding> standings = StandingsOf(rows);
  std::vector<ServedRun> runs;
  model::OpList ops;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ServingRow& row = rows[i];
    if (!row.CountsForCoverage() || row.load != LoadType::kFixedConcurrency ||
        row.output_tokens < 2) {
      continue;
    }
    const MaybeTarget& target = targets.TargetOf(row);
    const auto* served =
        std::get_if<std::shared_ptr<const ServedTarget>>(&target);
    if (served == nullptr) continue;
    ServedRun run;
    run.row = &row;
    run.standing = standings[i];
    run.load = LoadOf(row);
    run.parts = PartsOfRun(**served, row, run.load, ops);
    run.slot_limited = IsSlotLimited(row, run.parts.requests_that_fit);
    run.experts = (*served)->has_experts;
    run.weight_bits = (*served)->weight_bits;
    run.architecture = Generation((*served)->architecture);
    runs.push_back(std::move(run));
  }
  return runs;
}

model::EngineCosts UnfittedCosts(absl::string_view framework) {
  model::EngineCosts costs;
  CostOf(costs.costs, OpGroup::kRouting).each = Microseconds(15);
  CostOf(costs.costs, OpGroup::kDecodeAttention).each = Microseconds(6);
  CostOf(costs.costs, OpGroup::kPromptAttention).each = Microseconds(6);
  CostOf(costs.costs, OpGroup::kCollective).each = Microseconds(1);
  CostOf(costs.costs, OpGroup::kLargeCollective).each = Microseconds(1);
  CostOf(costs.costs, OpGroup::kQuantize).each = Microseconds(2);
  CostOf(costs.costs, OpGroup::kIndex).each = Microseconds(15);
  const absl::string_view engine = EngineId(framework);
  if (engine == "trtllm") costs.first_token.request = Milliseconds(22);
  if (engine == "sglang") {
    costs.first_token.request = Milliseconds(155);
    costs.prefill_first = true;
  }
  costs.provenance = {model::ProvenanceKind::kAssumed,
                      "Mansard design, end to end §1.4 and §2", ""};
  return costs;
}

bool StartsUp(const ServedRun& run) {
  const model::EngineCosts costs = UnfittedCosts(run.row->engine);
  const model::ServedTimes times =
      TimesOfRun(run, costs.costs, costs.first_token);
  return HoldsStartUp(*run.row, model::ToMilliseconds(times.first_token.Sum()));
}

}  // namespace mansard::calibrate
