// The end-to-end proof on the host: calibrate, predict a transformer layer, run
// it, compare.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/refresh/cpu_layer.h"
#include "calibrate/refresh/fit_profile.h"

namespace mansard::calibrate {

class CpuBackend;

struct ProofCase {
  LayerShape shape;
  LayerPass pass;
};
// Hidden 1024 and 2048; prompts of 128 and 256 tokens, decodes of 1, 4 and 16
// requests with 128 and 512 tokens.
std::vector<ProofCase> ProofCases();

struct ProofOp {
  std::string name;
  double predicted_seconds = 0;
  double measured_seconds = 0;  // Median.
};
struct ProofRow {
  ProofCase proved;
  std::vector<ProofOp> ops;
  double predicted_seconds = 0;
  double measured_seconds = 0;  // Median of whole layers.

  double Ratio() const { return measured_seconds / predicted_seconds; }
};

// Measured over predicted may be off by this much.
inline constexpr double kDecodeTolerance = 0.15;
inline constexpr double kPrefillTolerance = 0.20;

struct Proof {
  std::vector<ProofRow> rows;
  RefreshedProfile profile;
  // Not empty: the machine was too noisy to tell anything, and why.
  std::string noise;

  // All rows are within their tolerance.
  bool Holds() const;
};

struct ProofOptions {
  CampaignOptions cases;
  double seconds = 60;  // Of a try; beyond it is noise, too.
};

// One try: quick cases, fit, every layer. Between cases and between the runs of
// a layer it looks at what products and arithmetic give; a layer beside which
// that is not what it was when the cases ran is run again, and noise in the
// end. Error: a fit's, or the backend cannot run what it needs (OpenBLAS is not
// there).
absl::StatusOr<Proof> RunProof(CpuBackend& backend,
                               const model::FabricMap& fabrics,
                               const ProofOptions& options);

using ProofTry = std::function<absl::StatusOr<Proof>()>;

// Up to three tries, and the first that holds. A layer that is off, to the same
// side, in two tries without noise is off; else none told anything, and the
// last one says why. Error: a try's.
absl::StatusOr<Proof> RetryProof(const ProofTry& one);

// One line a layer, and below it one an op where `with_ops`.
std::string ProofText(const Proof& proof, bool with_ops);

}  // namespace mansard::calibrate
