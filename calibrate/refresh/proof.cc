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
constexpr double kLayerSeconds = 0.3;  // Of runs of one layer, once enough.
constexpr double kMostLayerSeconds = 3;
constexpr int kLayerTries = 5;
// A rate may move by this much between two looks.
constexpr double kSteady = 0.08;
constexpr int kPulseRuns = 21;
constexpr size_t kCasesPerPulse = 6;
constexpr double kMostDisturbed = 0.5;  // Of the runs of a layer.
constexpr double kMostNoisy = 0.1;      // Of the cases.
constexpr double kMostOther = 0.2;      // Of the looks while they ran.

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

// What the machine gives at the moment: other programs take memory and caches
// from ours without ever preempting it.
struct Pulse {
  double product = 0;  // Seconds, of one that memory bounds.
  double arithmetic = 0;
};

class PulseTaker {
 public:
  static absl::StatusOr<PulseTaker> Create(CpuBackend& backend) {
    PulseTaker taker;
    const Case cases[] = {
        {.kind = CaseKind::kGemm, .m = 4, .n = 2560, .k = 2048},
        {.kind = CaseKind::kMultiplyAdd}};
    for (const Case& one : cases) {
      ASSIGN_OR_RETURN(auto prepared, backend.Prepare(one));
      RETURN_IF_ERROR(prepared->Verify());
      taker.cases_.push_back(std::move(prepared));
    }
    return taker;
  }

  // One run of each.
  absl::StatusOr<Pulse> Take() {
    Pulse pulse;
    double* const seconds[] = {&pulse.product, &pulse.arithmetic};
    for (size_t i = 0; i < cases_.size(); ++i) {
      ASSIGN_OR_RETURN(const Sample sample, cases_[i]->Run());
      *seconds[i] = sample.seconds;
    }
    return pulse;
  }

 private:
  std::vector<std::unique_ptr<PreparedCase>> cases_;
};

// Empty: the same machine.
std::string Changes(const Pulse& before, const Pulse& after) {
  const std::pair<const char*, double> changes[] = {
      {"the rate of products", before.product / after.product - 1},
      {"the rate of arithmetic", before.arithmetic / after.arithmetic - 1},
  };
  for (const auto& [name, change] : changes) {
    if (std::abs(change) > kSteady) {
      return absl::StrFormat("%s changed by %+.0f %%", name, change * 100);
    }
  }
  return "";
}

Pulse MedianOf(const std::vector<Pulse>& pulses) {
  Pulse median;
  for (double Pulse::*const part : {&Pulse::product, &Pulse::arithmetic}) {
    std::vector<double> values;
    for (const Pulse& pulse : pulses) values.push_back(pulse.*part);
    median.*part = Median(std::move(values));
  }
  return median;
}

// Runs of a layer, and what the machine gave between them.
struct LayerRuns {
  std::vector<std::vector<double>> by_op;
  std::vector<double> layers;
  std::vector<Pulse> pulses;
  size_t disturbed = 0;
};

absl::StatusOr<LayerRuns> RunLayer(CpuLayer& layer, CpuBackend& backend,
                                   PulseTaker& pulses) {
  LayerRuns runs;
  runs.by_op.resize(layer.Run().size());
  const double start = backend.Now();
  const auto wants_more = [&] {
    const double seconds = backend.Now() - start;
    return runs.layers.size() + runs.disturbed < kMostRuns &&
           (seconds < kLayerSeconds ||
            (runs.layers.size() < kLeastRuns && seconds < kMostLayerSeconds));
  };
  while (wants_more()) {
    DisturbanceWatch watch;
    const std::vector<double> seconds = layer.Run();
    if (!watch.Check().empty()) {
      ++runs.disturbed;
      continue;
    }
    double sum = 0;
    for (size_t i = 0; i < seconds.size(); ++i) {
      runs.by_op[i].push_back(seconds[i]);
      sum += seconds[i];
    }
    runs.layers.push_back(sum);
    ASSIGN_OR_RETURN(const Pulse pulse, pulses.Take());
    runs.pulses.push_back(pulse);
  }
  return runs;
}

// Not empty: why the runs tell nothing of a machine that usually gives
// `usual`.
std::string NoiseOf(const LayerRuns& runs, const Pulse& usual) {
  const double all = static_cast<double>(runs.layers.size() + runs.disturbed);
  if (runs.layers.size() < kLeastRuns ||
      static_cast<double>(runs.disturbed) > kMostDisturbed * all) {
    return absl::StrFormat("%d of %.0f runs of a layer were preempted",
                           runs.disturbed, all);
  }
  std::string changes = Changes(usual, MedianOf(runs.pulses));
  if (!changes.empty()) absl::StrAppend(&changes, " since the cases ran");
  return changes;
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

bool HasFailure(const Record& record) {
  return std::any_of(record.results.begin(), record.results.end(),
                     [](const CaseResult& result) {
                       return result.outcome == Outcome::kFailed;
                     });
}

// Of a campaign in which more than this share of the cases had no result
// because of others: what was disturbed, or what time was left for.
std::string NoiseOf(const Record& record, double most) {
  size_t noisy = 0;
  const CaseResult* last = nullptr;
  for (const CaseResult& result : record.results) {
    if (result.outcome == Outcome::kMeasured) continue;
    ++noisy;
    last = &result;
  }
  if (static_cast<double>(noisy) <=
      most * static_cast<double>(record.results.size())) {
    return "";
  }
  return absl::StrCat(noisy, " of ", record.results.size(),
                      " cases gave no result, the last ",
                      CaseId(last->measured), ": ", last->reason);
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

namespace {

class Prover {
 public:
  Prover(CpuBackend& backend, CpuOps& ops, PulseTaker pulses, double deadline)
      : backend_(backend),
        ops_(ops),
        pulses_(std::move(pulses)),
        deadline_(deadline) {}

  absl::StatusOr<Proof> Run(const model::FabricMap& fabrics,
                            CampaignOptions options) {
    ASSIGN_OR_RETURN(const Record record, Calibrate(std::move(options)));
    absl::StatusOr<RefreshedProfile> profile = FitProfile(record, fabrics);
    if (!profile.ok()) {
      // Without a result of what others disturbed there is no fit, nor with
      // one that the gates do not believe. Wrong results are no noise.
      if (HasFailure(record)) return profile.status();
      proof_.noise = std::string(profile.status().message());
      const std::string noise = NoiseOf(record, /*most=*/0);
      if (!noise.empty()) absl::StrAppend(&proof_.noise, "; ", noise);
      return std::move(proof_);
    }
    proof_.profile = *std::move(profile);
    if (proof_.noise.empty()) proof_.noise = NoiseOf(record, kMostNoisy);
    for (const ProofCase& proved : ProofCases()) {
      if (!proof_.noise.empty()) break;
      RETURN_IF_ERROR(Prove(proved));
    }
    return std::move(proof_);
  }

 private:
  // With a look at the machine before, between and after the cases.
  absl::StatusOr<Record> Calibrate(CampaignOptions options) {
    std::vector<Pulse> taken;
    absl::Status status;
    const auto look = [&] {
      std::vector<Pulse> pulses;
      for (int run = 0; run < kPulseRuns && status.ok(); ++run) {
        const absl::StatusOr<Pulse> pulse = pulses_.Take();
        status.Update(pulse.status());
        if (pulse.ok()) pulses.push_back(*pulse);
      }
      if (status.ok()) taken.push_back(MedianOf(pulses));
    };
    options.progress = [&, shown = options.progress](const Standing& standing) {
      if (shown != nullptr) shown(standing);
      if (standing.done % kCasesPerPulse == 0) look();
    };
    ASSIGN_OR_RETURN(
        Record record,
        RunCampaign(backend_,
                    CpuCases(backend_.machine().cache_bytes, Extent::kQuick),
                    options));
    look();
    RETURN_IF_ERROR(status);
    usual_ = MedianOf(taken);
    size_t other = 0;
    for (const Pulse& pulse : taken) {
      const std::string changes = Changes(usual_, pulse);
      if (changes.empty()) continue;
      ++other;
      proof_.noise = absl::StrCat(changes, " while the cases ran, ", other,
                                  " of ", taken.size(), " times");
    }
    if (static_cast<double>(other) <=
        kMostOther * static_cast<double>(taken.size())) {
      proof_.noise.clear();
    }
    return record;
  }

  // Adds a row, or says why it is noise.
  absl::Status Prove(const ProofCase& proved) {
    CpuLayer layer(proved.shape, proved.pass, ops_, backend_.pool());
    for (int attempt = 0; attempt < kLayerTries; ++attempt) {
      if (backend_.Now() > deadline_) {
        absl::StrAppend(&proof_.noise, attempt > 0 ? "; " : "",
                        "time was up before ", PassText(proved));
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(LayerRuns runs, RunLayer(layer, backend_, pulses_));
      if (!std::isfinite(layer.OutputMagnitude())) {
        return absl::DataLossError("a layer's output is not finite");
      }
      proof_.noise = NoiseOf(runs, usual_);
      if (!proof_.noise.empty()) {
        absl::StrAppend(&proof_.noise, ", beside ", PassText(proved));
        continue;
      }
      ProofRow row = Predict(proved, *proof_.profile.profile);
      for (size_t i = 0; i < row.ops.size(); ++i) {
        row.ops[i].measured_seconds = Median(std::move(runs.by_op[i]));
      }
      row.measured_seconds = Median(std::move(runs.layers));
      proof_.rows.push_back(std::move(row));
      break;
    }
    return absl::OkStatus();
  }

  CpuBackend& backend_;
  CpuOps& ops_;
  PulseTaker pulses_;
  const double deadline_;
  Pulse usual_;
  Proof proof_;
};

// Layers that are off in both, to the same side.
bool AreOffAlike(const Proof& one, const Proof& other) {
  for (size_t i = 0; i < std::min(one.rows.size(), other.rows.size()); ++i) {
    const ProofRow& row = one.rows[i];
    const ProofRow& again = other.rows[i];
    if (!IsWithin(row) && !IsWithin(again) &&
        (row.Ratio() > 1) == (again.Ratio() > 1)) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Proof> RunProof(CpuBackend& backend,
                               const model::FabricMap& fabrics,
                               const ProofOptions& options) {
  const double deadline = backend.Now() + options.seconds;
  ASSIGN_OR_RETURN(CpuOps* const ops, backend.ops());
  ASSIGN_OR_RETURN(PulseTaker pulses, PulseTaker::Create(backend));
  return Prover(backend, *ops, std::move(pulses), deadline)
      .Run(fabrics, options.cases);
}

absl::StatusOr<Proof> RetryProof(const ProofTry& one) {
  std::vector<Proof> quiet;
  Proof last;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    ASSIGN_OR_RETURN(last, one());
    if (last.Holds()) return last;
    if (!last.noise.empty()) continue;
    for (const Proof& before : quiet) {
      if (AreOffAlike(before, last)) return last;
    }
    quiet.push_back(last);
  }
  if (last.noise.empty()) {
    last.noise = "no layer was off in two tries alike";
  }
  return last;
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
