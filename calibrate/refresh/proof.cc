#include "calibrate/refresh/proof.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/cpu/cpu_backend.h"
#include "calibrate/cpu/cpu_cases.h"
#include "calibrate/refresh/record_rows.h"
#include "model/base/status_macros.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

constexpr int kTries = 3;
constexpr size_t kLeastRuns = 5;
constexpr size_t kMostRuns = 60;
constexpr double kLayerSeconds = 0.4;  // Of runs of one layer, once enough.
// A clock or a bandwidth that moved by more between two looks.
constexpr double kSteady = 0.06;
constexpr double kMostDisturbed = 0.5;  // Of the runs of a layer.
constexpr double kMostNoisy = 0.1;      // Of the cases.

constexpr LayerShape kShapes[] = {
    {.hidden = 1024,
     .feed_forward = 2816,
     .query_heads = 8,
     .kv_heads = 4,
     .head_size = 128},
    {.hidden = 2048,
     .feed_forward = 5632,
     .query_heads = 16,
     .kv_heads = 8,
     .head_size = 128},
};
constexpr LayerPass kPasses[] = {
    {.prefill = true, .requests = 1, .context_tokens = 128},
    {.prefill = true, .requests = 1, .context_tokens = 256},
    {.requests = 1, .context_tokens = 128},
    {.requests = 1, .context_tokens = 512},
    {.requests = 4, .context_tokens = 128},
    {.requests = 4, .context_tokens = 512},
    {.requests = 16, .context_tokens = 128},
};

double PredictedSeconds(const Case& kernel,
                        const model::HardwareProfile& profile) {
  return model::Price(OpOf(kernel),
                      {profile.device(), profile.fabrics().front(),
                       profile.stacks().front()})
      .estimate.value();
}

// What the machine gives at the moment.
struct Pulse {
  double read_seconds = 0;
  double multiply_seconds = 0;
};

absl::StatusOr<Pulse> TakePulse(CpuBackend& backend) {
  const int64_t beyond_cache = 4 * backend.machine().cache_bytes;
  Pulse pulse;
  const std::pair<Case, double*> cases[] = {
      {{.kind = CaseKind::kRead, .bytes = beyond_cache}, &pulse.read_seconds},
      {{.kind = CaseKind::kMultiplyAdd}, &pulse.multiply_seconds},
  };
  for (const auto& [measured, seconds] : cases) {
    ASSIGN_OR_RETURN(const auto prepared, backend.Prepare(measured));
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i) {
      ASSIGN_OR_RETURN(const Sample sample, prepared->Run());
      samples.push_back(sample.seconds);
    }
    *seconds = Median(std::move(samples));
  }
  return pulse;
}

// Empty: the same machine.
std::string Changes(const Pulse& before, const Pulse& after) {
  const std::pair<const char*, double> changes[] = {
      {"memory", after.read_seconds / before.read_seconds - 1},
      {"arithmetic", after.multiply_seconds / before.multiply_seconds - 1},
  };
  for (const auto& [name, change] : changes) {
    if (std::abs(change) > kSteady) {
      return absl::StrFormat("%s changed by %+.0f %% while it was proved", name,
                             change * 100);
    }
  }
  return "";
}

// Not empty: why it is noise.
std::string RunLayer(CpuLayer& layer, CpuBackend& backend, ProofRow& row) {
  std::vector<std::vector<double>> by_op(row.ops.size());
  std::vector<double> layers;
  size_t disturbed = 0;
  layer.Run();
  const double start = backend.Now();
  while (
      layers.size() + disturbed < kMostRuns &&
      (layers.size() < kLeastRuns || backend.Now() - start < kLayerSeconds)) {
    DisturbanceWatch watch;
    const std::vector<double> seconds = layer.Run();
    if (!watch.Check().empty()) {
      ++disturbed;
      continue;
    }
    double sum = 0;
    for (size_t i = 0; i < seconds.size(); ++i) {
      by_op[i].push_back(seconds[i]);
      sum += seconds[i];
    }
    layers.push_back(sum);
  }
  const double runs = static_cast<double>(layers.size() + disturbed);
  if (layers.size() < kLeastRuns ||
      static_cast<double>(disturbed) > kMostDisturbed * runs) {
    return absl::StrFormat("%d of %.0f runs of a layer were preempted",
                           disturbed, runs);
  }
  for (size_t i = 0; i < by_op.size(); ++i) {
    row.ops[i].measured_seconds = Median(std::move(by_op[i]));
  }
  row.measured_seconds = Median(std::move(layers));
  return "";
}

ProofRow Predict(const ProofCase& proved,
                 const model::HardwareProfile& profile) {
  ProofRow row;
  row.proved = proved;
  for (const LayerOp& op : LayerOps(proved.shape, proved.pass)) {
    row.ops.push_back({op.name, PredictedSeconds(op.kernel, profile)});
    row.predicted_seconds += row.ops.back().predicted_seconds;
  }
  return row;
}

// Of a campaign that had cases without a result because of others.
std::string NoiseOf(const Record& record) {
  size_t noisy = 0;
  const CaseResult* last = nullptr;
  for (const CaseResult& result : record.results) {
    if (result.outcome != Outcome::kNoisy) continue;
    ++noisy;
    last = &result;
  }
  if (static_cast<double>(noisy) <=
      kMostNoisy * static_cast<double>(record.results.size())) {
    return "";
  }
  return absl::StrCat(noisy, " of ", record.results.size(),
                      " cases were noisy, the last ", CaseId(last->measured),
                      ": ", last->reason);
}

bool IsWithin(const ProofRow& row) {
  const double tolerance =
      row.proved.pass.prefill ? kPrefillTolerance : kDecodeTolerance;
  return std::abs(row.Ratio() - 1) <= tolerance;
}

std::string PassText(const ProofCase& proved) {
  return proved.pass.prefill
             ? absl::StrFormat("hidden %4d prefill %3d tokens",
                               proved.shape.hidden, proved.pass.rows())
             : absl::StrFormat("hidden %4d decode %2d x %3d tokens",
                               proved.shape.hidden, proved.pass.requests,
                               proved.pass.context_tokens);
}

}  // namespace

std::vector<ProofCase> ProofCases() {
  std::vector<ProofCase> cases;
  for (const LayerShape& shape : kShapes) {
    for (const LayerPass& pass : kPasses) cases.push_back({shape, pass});
  }
  return cases;
}

bool Proof::Holds() const {
  return noise.empty() && !rows.empty() &&
         std::all_of(rows.begin(), rows.end(), &IsWithin);
}

absl::StatusOr<Proof> RunProof(CpuBackend& backend,
                               const model::FabricMap& fabrics,
                               const CampaignOptions& options) {
  ASSIGN_OR_RETURN(CpuOps* const ops, backend.ops());
  Proof proof;
  ASSIGN_OR_RETURN(const Pulse before, TakePulse(backend));
  ASSIGN_OR_RETURN(
      const Record record,
      RunCampaign(backend,
                  CpuCases(backend.machine().cache_bytes, Extent::kQuick),
                  options));
  proof.noise = NoiseOf(record);
  absl::StatusOr<RefreshedProfile> profile = FitProfile(record, fabrics);
  if (!profile.ok()) {
    // Without a result of what others disturbed there is no fit.
    for (const CaseResult& result : record.results) {
      if (result.outcome != Outcome::kNoisy) continue;
      proof.noise = absl::StrCat(profile.status().message(), "; ",
                                 CaseId(result.measured), ": ", result.reason);
      return proof;
    }
    return profile.status();
  }
  proof.profile = *std::move(profile);
  for (const ProofCase& proved : ProofCases()) {
    ProofRow row = Predict(proved, *proof.profile.profile);
    CpuLayer layer(proved.shape, proved.pass, *ops, backend.pool());
    const std::string noise = RunLayer(layer, backend, row);
    if (!noise.empty()) {
      proof.noise = noise;
      return proof;
    }
    if (!std::isfinite(layer.OutputMagnitude())) {
      return absl::DataLossError("a layer's output is not finite");
    }
    proof.rows.push_back(std::move(row));
  }
  ASSIGN_OR_RETURN(const Pulse after, TakePulse(backend));
  if (const std::string changes = Changes(before, after); !changes.empty()) {
    proof.noise = changes;
  }
  return proof;
}

absl::StatusOr<Proof> RetryProof(CpuBackend& backend,
                                 const model::FabricMap& fabrics,
                                 const CampaignOptions& options) {
  Proof best;
  best.noise = "it was not tried";
  for (int attempt = 0; attempt < kTries; ++attempt) {
    ASSIGN_OR_RETURN(Proof proof, RunProof(backend, fabrics, options));
    if (proof.Holds()) return proof;
    if (proof.noise.empty() || !best.noise.empty()) best = std::move(proof);
  }
  return best;
}

std::string ProofText(const Proof& proof, bool with_ops) {
  std::string text;
  for (const ProofRow& row : proof.rows) {
    absl::StrAppendFormat(
        &text, "%-32s predicted %8.3f ms  measured %8.3f ms  ratio %.2f%s\n",
        PassText(row.proved), row.predicted_seconds * 1e3,
        row.measured_seconds * 1e3, row.Ratio(), IsWithin(row) ? "" : "  OFF");
    if (!with_ops) continue;
    for (const ProofOp& op : row.ops) {
      absl::StrAppendFormat(
          &text,
          "    %-28s predicted %8.1f us  measured %8.1f us  ratio %.2f\n",
          op.name, op.predicted_seconds * 1e6, op.measured_seconds * 1e6,
          op.measured_seconds / op.predicted_seconds);
    }
  }
  if (!proof.noise.empty()) {
    absl::StrAppend(&text, "too noisy to tell: ", proof.noise, "\n");
  }
  return text;
}

}  // namespace mansard::calibrate
