#include "calibrate/serving/other_runs.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "absl/strings/match.h"
#include "calibrate/serving/served_parts.h"
#include "model/base/violations.h"
#include "model/estimate/cache_bytes.h"
#include "model/estimate/step_time.h"
#include "model/serving/serving_spec.h"

namespace mansard::calibrate {
namespace {

using model::ForwardPass;
using model::Microseconds;
using model::Milliseconds;
using model::RequestGroup;
using model::Role;
using model::Seconds;

constexpr double kBurstShare = 0.1;
constexpr double kMostUtilization = 0.95;
constexpr int64_t kPassTokens = 8192;

Seconds TimeOf(const ServedTarget& served, const RequestGroup& group) {
  model::Violations none;
  const auto pass = ForwardPass::Create({group}, 1 << 30, none);
  if (!pass.has_value()) return Seconds::Zero();
  return model::StepTimer().Estimate(served.target, *pass);
}

double LayersOf(const ServedTarget& served) {
  return static_cast<double>(
      served.target.graph().spec().layer_kind_indexes.size());
}

const ServedTarget* Get(const MaybeTarget& target) {
  const auto* served =
      std::get_if<std::shared_ptr<const ServedTarget>>(&target);
  return served == nullptr ? nullptr : served->get();
}

// Keys and values of one prompt, from each rank over its own network card.
Seconds SendTime(const ServedTarget& served, int64_t tokens) {
  const model::RequestCache cache(served.target.graph(), served.target.layout(),
                                  0, served.target.formats(), nullptr);
  const model::Link* link =
      served.target.view().fabric.FindLink(model::LinkTier::kRdma);
  if (link == nullptr) return Seconds::Zero();
  return cache.OfRequest({Role::kDecode, 1, 1, tokens - 1}).total() /
         link->BandwidthAmong(2);
}

}  // namespace

StaticCosts StaticCostsOf(const ServingRow& row) {
  if (absl::StrContains(row.source, "splitwise")) {
    return {1.2, Milliseconds(0.24), Milliseconds(0.46)};
  }
  if (row.engine == "vLLM") return {1.12, Microseconds(85), Milliseconds(0.1)};
  if (row.engine == "TensorRT-LLM")
    return {1, Microseconds(70), Seconds::Zero()};
  return {1, Milliseconds(0.6), Milliseconds(0.46)};  // DeepSpeed.
}

std::optional<OtherPrediction> OtherRuns::StaticBatch(const ServingRow& row) {
  const auto input = static_cast<int64_t>(row.input_tokens);
  const auto output = static_cast<int64_t>(row.output_tokens);
  const auto batch = static_cast<int64_t>(row.batch);
  if (row.load != LoadType::kStaticBatch || batch < 1 || input < 1 ||
      output < 1) {
    return std::nullopt;
  }
  const ServedTarget* served = Get(kernels_.TargetOf(row));
  if (served == nullptr) return std::nullopt;
  const StaticCosts costs = StaticCostsOf(row);
  const int64_t running = std::min(
      batch, static_cast<int64_t>(served->RequestsThatFit(input + output)));
  const double waves =
      static_cast<double>(batch) / static_cast<double>(running);
  const double layers = LayersOf(*served);
  const Seconds decode =
      Max(costs.kernels * TimeOf(*served, {Role::kDecode, running, 1,
                                           input + output / 2 - 1}),
          layers * costs.layer) +
      static_cast<double>(running) * costs.sequence;
  const int64_t together = std::max<int64_t>(1, kPassTokens / input);
  const double passes =
      std::ceil(static_cast<double>(running) / static_cast<double>(together));
  const int64_t in_pass = std::min(running, together);
  const double whole =
      static_cast<double>(running) / static_cast<double>(in_pass);
  const Seconds prompts =
      Max(whole * TimeOf(*served, {Role::kPrefill, in_pass, input, 0}),
          (layers * passes) * costs.layer);
  OtherPrediction prediction;
  prediction.ttft_ms = ToMilliseconds(prompts);
  prediction.tpot_ms = ToMilliseconds(decode);
  prediction.latency_ms = ToMilliseconds(
      waves * (prompts + static_cast<double>(output - 1) * decode));
  return prediction;
}

std::optional<OtherPrediction> OtherRuns::Disaggregated(const ServingRow& row) {
  if (row.mode != ServingMode::kDisaggregated || row.prefill.workers < 1 ||
      row.decode.workers < 1 || row.in_flight() < 1 || row.input_tokens < 1 ||
      row.output_tokens < 2) {
    return std::nullopt;
  }
  const ServedTarget* prefill = Get(served_.TargetOf(row, RowPool::kPrefill));
  const ServedTarget* decode = Get(served_.TargetOf(row, RowPool::kDecode));
  if (prefill == nullptr || decode == nullptr) return std::nullopt;
  const RunLoad load = LoadOf(row);
  const auto context =
      static_cast<int64_t>(std::llround(load.shape.mean_context()));
  const double share =
      row.in_flight() / static_cast<double>(row.decode.workers);
  const auto batch = static_cast<int64_t>(std::max(
      1.0, std::floor(std::min(share, decode->RequestsThatFit(context)))));
  const Seconds tpot = TimeOf(*decode, {Role::kDecode, batch, 1, context - 1});
  const int ranks = prefill->target.layout().data();
  const Seconds alone =
      TimeOf(*prefill, {Role::kPrefill, ranks, load.shape.input_tokens, 0});
  const double servers = static_cast<double>(row.prefill.workers * ranks);
  const auto output = static_cast<double>(load.shape.output_tokens);
  const Seconds request = alone + output * tpot;
  const double busy =
      std::min(kMostUtilization, row.in_flight() / servers * (alone / request));
  const model::FirstTokenCosts costs =
      model::DefaultServingConstants(decode->target.view().stack.spec());
  const Seconds queue =
      std::max(0.0, share / static_cast<double>(batch) - 1) * output * tpot;
  const Seconds first =
      (1 - kBurstShare) * (alone + (busy / (1 - busy) / 2) * alone + queue) +
      (kBurstShare * row.in_flight() / servers / 2) * alone +
      SendTime(*prefill, load.shape.input_tokens) + costs.request +
      static_cast<double>(load.shape.input_tokens) * costs.input_token +
      row.in_flight() * costs.concurrent_request;
  OtherPrediction prediction;
  prediction.ttft_ms = ToMilliseconds(first);
  prediction.tpot_ms = ToMilliseconds(tpot);
  prediction.latency_ms = ToMilliseconds(first + (output - 1) * tpot);
  return prediction;
}

}  // namespace mansard::calibrate
