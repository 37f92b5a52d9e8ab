#include "calibrate/fit/host_costs.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

using model::Microseconds;

struct EngineCost {
  const char* stack;  // How the id begins.
  const char* engine;
  double request_us;
  double prompt_token_us;
  double launch_us;
};
// A sequence: the design's fit of measured serving, 5.2 us of all engines, of
// vLLM 1.06 times that; a prompt's token, of all. Steps that run as a graph
// have no cost of their own: in the same fit one does not carry over. A launch
// without graphs: a few microseconds of the driver, which no row tells apart.
constexpr EngineCost kEngines[] = {{"vllm-", "vLLM", 5.5, .5, 5},
                                   {"sglang-", "SGLang", 5.2, .5, 5},
                                   {"trtllm-", "TensorRT-LLM", 5.2, .5, 5}};

}  // namespace

std::optional<model::HostCost> EngineHostCost(absl::string_view stack) {
  for (const EngineCost& cost : kEngines) {
    if (!absl::StartsWith(stack, cost.stack)) continue;
    model::HostCost host;
    host.request = Microseconds(cost.request_us);
    host.prefill_token = Microseconds(cost.prompt_token_us);
    host.eager_launch = Microseconds(cost.launch_us);
    host.cuda_graphs = true;
    host.provenance = {
        model::ProvenanceKind::kFitted,
        absl::StrCat("Mansard design, end to end §2: prototype's fit of ",
                     cost.engine,
                     "'s serving rows; eager launches: assumed, performance "
                     "model §1.8"),
        ""};
    return host;
  }
  return std::nullopt;
}

}  // namespace mansard::calibrate
