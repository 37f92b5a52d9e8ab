#include "calibrate/fit/gemm_fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::GemmMachine;
using model::GemmProblem;
using model::Seconds;
using model::TiledGemmFamily;

constexpr double kWide = 0.4;    // Of a logarithm: about 40 %.
constexpr double kTight = 0.05;  // What datasheets and other fits pin down.

// How one parameter is fitted. Rates and times are bounded around their prior,
// fractions by 1.
struct Term {
  const char* name;
  double (*get)(const TiledGemmFamily&);
  void (*set)(TiledGemmFamily&, double);
  double log_sigma;
  double reach;  // The bounds are prior / reach and prior * reach.
  double most;   // And this, where it is above 0.
};

template <auto member>
double Get(const TiledGemmFamily& family) {
  using Value = std::remove_cvref_t<decltype(family.*member)>;
  if constexpr (std::is_same_v<Value, double>) {
    return family.*member;
  } else {
    return (family.*member).value();
  }
}
template <auto member>
void Set(TiledGemmFamily& family, double value) {
  using Value = std::remove_reference_t<decltype(family.*member)>;
  if constexpr (std::is_same_v<Value, double>) {
    family.*member = value;
  } else {
    family.*member = Value::Of(value);
  }
}
template <auto member>
constexpr Term TermOf(const char* name, double log_sigma, double reach,
                      double most) {
  return {name, &Get<member>, &Set<member>, log_sigma, reach, most};
}

using F = TiledGemmFamily;
constexpr Term kTerms[] = {
    TermOf<&F::launch>("launch_seconds", kWide, 8, 0),
    TermOf<&F::wave>("wave_seconds", kWide, 8, 0),
    TermOf<&F::split_cost>("split_seconds", kWide, 6, 0),
    TermOf<&F::block_latency>("block_latency_seconds", kWide, 6, 0),
    TermOf<&F::peak_fraction>("peak_fraction_ratio", 0.15, 2, 1),
    TermOf<&F::droop>("droop_ratio", kWide, 6, 1),
    TermOf<&F::droop_time>("droop_seconds", kWide, 8, 0),
    TermOf<&F::hbm_fraction>("hbm_fraction_ratio", kTight, 1.5, 1),
    TermOf<&F::l2_feed>("l2_feed_bytes_per_second", kWide, 6, 0),
    TermOf<&F::sm_hbm_feed>("sm_hbm_feed_bytes_per_second", 0.2, 3, 0),
    TermOf<&F::sm_smem_feed>("sm_smem_feed_bytes_per_second", 0.2, 4, 0),
};

std::vector<FitParameter> ParametersAround(const TiledGemmFamily& prior) {
  std::vector<FitParameter> parameters;
  for (const Term& term : kTerms) {
    FitParameter parameter;
    parameter.name = term.name;
    parameter.prior = term.get(prior);
    parameter.lower = parameter.prior / term.reach;
    parameter.upper = parameter.prior * term.reach;
    if (term.most > 0) parameter.upper = std::min(parameter.upper, term.most);
    parameter.log_sigma = term.log_sigma;
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

TiledGemmFamily WithValues(TiledGemmFamily family,
                           const std::vector<double>& values) {
  for (size_t i = 0; i < std::size(kTerms); ++i) {
    kTerms[i].set(family, values[i]);
  }
  return family;
}

// Four digits: the rows do not tell more, and data files stay readable.
double Rounded(double value) {
  double rounded = value;
  const bool read = absl::SimpleAtod(absl::StrFormat("%.4g", value), &rounded);
  return read ? rounded : value;
}

std::vector<GemmRow> Sample(const std::vector<GemmRow>& rows) {
  if (rows.size() <= kMaxFitRows) return rows;
  std::vector<GemmRow> sample;
  for (size_t i = 0; i < kMaxFitRows; ++i) {
    sample.push_back(rows[i * rows.size() / kMaxFitRows]);
  }
  return sample;
}

// Fits of one set of rows.
class Fitter {
 public:
  Fitter(const GemmMachine& machine, const TiledGemmFamily& prior)
      : machine_(machine), prior_(prior) {}

  absl::StatusOr<FitResult> Fit(const std::vector<GemmRow>& rows,
                                const TiledGemmFamily& around,
                                const FitOptions& options) const {
    std::vector<double> measured;
    std::vector<GemmProblem> problems;
    for (const GemmRow& row : rows) {
      measured.push_back(row.time.value());
      problems.push_back(ProblemOf(row));
    }
    const Predict predict = [&](const std::vector<double>& values,
                                std::vector<double>& predicted) {
      const TiledGemmFamily family = WithValues(prior_, values);
      for (size_t i = 0; i < problems.size(); ++i) {
        predicted[i] =
            TimeTiledGemm(family, machine_, problems[i]).time.value();
      }
    };
    return FitMap(ParametersAround(around), measured, predict, options);
  }

  double Residual(const TiledGemmFamily& family, const GemmRow& row) const {
    return std::log(row.time /
                    TimeTiledGemm(family, machine_, ProblemOf(row)).time);
  }

  // Of each half by a fit of the other.
  absl::StatusOr<std::vector<double>> CrossResiduals(
      const std::vector<GemmRow>& rows, const TiledGemmFamily& start) const {
    std::vector<double> residuals;
    for (const size_t half : {0u, 1u}) {
      std::vector<GemmRow> fitted;
      for (size_t i = half; i < rows.size(); i += 2) fitted.push_back(rows[i]);
      ASSIGN_OR_RETURN(const FitResult result,
                       Fit(fitted, start, {.evaluations = 150}));
      const TiledGemmFamily family = WithValues(prior_, result.values);
      for (size_t i = 1 - half; i < rows.size(); i += 2) {
        residuals.push_back(Residual(family, rows[i]));
      }
    }
    return residuals;
  }

 private:
  const GemmMachine& machine_;
  const TiledGemmFamily& prior_;
};

}  // namespace

GemmMachine MachineOf(const model::Device& device, model::Format compute) {
  const model::DeviceSpec& spec = device.spec();
  GemmMachine machine;
  machine.multiprocessors = spec.multiprocessor_count.has_value()
                                ? spec.multiprocessor_count->value
                                : 1;
  machine.tensor = device.TensorRate(compute);
  machine.hbm = device.HbmBandwidth();
  machine.smem = spec.smem.has_value()
                     ? spec.smem->capacity.value / machine.multiprocessors
                     : model::Bytes::Infinity();
  return machine;
}

GemmProblem ProblemOf(const GemmRow& row) {
  GemmProblem problem;
  problem.m = static_cast<double>(row.m);
  problem.n = static_cast<double>(row.n);
  problem.k = static_cast<double>(row.k);
  problem.batch = static_cast<double>(row.batch);
  return problem;
}

absl::StatusOr<GemmFit> FitTiledGemm(const std::vector<GemmRow>& rows,
                                     const model::Device& device,
                                     model::Format compute,
                                     const TiledGemmFamily& prior) {
  const GemmMachine machine = MachineOf(device, compute);
  const Fitter fitter(machine, prior);
  const std::vector<GemmRow> sample = Sample(rows);
  GemmFit fit;
  fit.rows = sample.size();
  ASSIGN_OR_RETURN(fit.result, fitter.Fit(sample, prior, {}));
  for (double& value : fit.result.values) value = Rounded(value);
  fit.family = WithValues(prior, fit.result.values);
  for (size_t i = 0; i < std::size(kTerms); ++i) {
    if (fit.result.weak[i]) fit.weak.emplace_back(kTerms[i].name);
  }
  ASSIGN_OR_RETURN(std::vector<double> crossed,
                   fitter.CrossResiduals(sample, fit.family));
  fit.family.facts.sigma =
      Rounded(std::min(1.0, SpreadOf(std::move(crossed), kCoverage)));
  return fit;
}

}  // namespace mansard::calibrate
