#include "calibrate/fit/plans.h"

#include "calibrate/fit/collective_plan.h"
#include "calibrate/fit/decode_plan.h"
#include "calibrate/fit/elementwise_plan.h"
#include "calibrate/fit/expert_plan.h"
#include "calibrate/fit/gemm_plan.h"
#include "calibrate/fit/prefill_plan.h"

namespace mansard::calibrate {
namespace {

// Decodes and prompts share a table.
std::vector<FitPlan> LatentPlans(const model::Device& device,
                                 const MeasuredCase& measured) {
  std::vector<FitPlan> plans = LatentDecodePlans(device, measured);
  return plans.empty() ? LatentPrefillPlans(device, measured) : plans;
}

struct TablePlans {
  const char* table;
  MakePlans make;
};
// In the order of fitting.
constexpr TablePlans kPlans[] = {
    {"gemm", &GemmPlans},
    {"elementwise_norm", &ElementwisePlans},
    {"attention_decode", &DecodePlans},
    {"attention_prefill", &PrefillPlans},
    {"mla", &LatentPlans},
    {"collectives", &CollectivePlans},
    {"grouped_gemm_moe", &ExpertPlans},
    {"moe_all_to_all", &ExchangePlans},
};

}  // namespace

RowPlans PlansFor(const model::Device& device, const MeasuredCase& measured) {
  int order = 0;
  for (const TablePlans& one : kPlans) {
    if (measured.table == one.table) {
      return {order, one.make(device, measured)};
    }
    ++order;
  }
  return {};
}

}  // namespace mansard::calibrate
