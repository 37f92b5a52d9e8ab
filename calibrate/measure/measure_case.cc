#include "calibrate/measure/measure_case.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr size_t kLeastSamples = 3;
constexpr double kDrift = 0.03;  // Worth a word.
// Of all samples; beyond it what is left is the luck of the draw.
constexpr double kMostRejected = 0.5;

bool CannotRun(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status) ||
         absl::IsResourceExhausted(status);
}

class Loop {
 public:
  Loop(Backend& backend, PreparedCase& prepared, const LoopOptions& options,
       double deadline, double& fastest_clock, const SampleSink& sink)
      : backend_(backend),
        prepared_(prepared),
        options_(options),
        deadline_(deadline),
        fastest_clock_(fastest_clock),
        sink_(sink) {}

  absl::Status WarmUp() {
    double last = 0;
    for (int run = 0; run < options_.max_warm_ups; ++run) {
      ASSIGN_OR_RETURN(const Sample sample, prepared_.Run());
      if (last > 0 &&
          std::abs(sample.seconds / last - 1) < options_.warm_up_agreement) {
        break;
      }
      last = sample.seconds;
      if (backend_.Now() >= deadline_) break;
    }
    return absl::OkStatus();
  }

  absl::Status Sustain() {
    const double end =
        std::min(deadline_, backend_.Now() + options_.sustained_seconds);
    while (backend_.Now() < end) {
      ASSIGN_OR_RETURN(const Sample sample, prepared_.Run());
    }
    return absl::OkStatus();
  }

  // Until the stopping rule holds. `throttles`: a slow clock is a disturbance,
  // as it is not in a sustained case.
  absl::Status Take(bool throttles) {
    kept_.clear();
    clocks_.clear();
    const double start = backend_.Now();
    while (!IsEnough(start)) {
      ASSIGN_OR_RETURN(Sample sample, prepared_.Run());
      fastest_clock_ = std::max(fastest_clock_, sample.clock_hertz);
      const bool slow =
          throttles && sample.clock_hertz > 0 &&
          sample.clock_hertz < options_.least_clock_ratio * fastest_clock_;
      if (slow && sample.disturbance.empty()) {
        sample.disturbance =
            absl::StrFormat("throttled to %.2f GHz", sample.clock_hertz * 1e-9);
      }
      sink_(sample);
      if (sample.disturbance.empty()) {
        kept_.push_back(sample.seconds);
        if (sample.clock_hertz > 0) clocks_.push_back(sample.clock_hertz);
      } else {
        ++rejected_;
        disturbance_ = sample.disturbance;
      }
      if (slow) backend_.Sleep(options_.recovery_seconds);
    }
    return absl::OkStatus();
  }

  const std::vector<double>& kept() const { return kept_; }
  const std::vector<double>& clocks() const { return clocks_; }
  size_t rejected() const { return rejected_; }
  const std::string& disturbance() const { return disturbance_; }

 private:
  bool IsEnough(double start) const {
    const double now = backend_.Now();
    if (now >= deadline_) return true;
    // A disturbed case must end too.
    const size_t most = static_cast<size_t>(options_.max_samples);
    if (kept_.size() >= most || kept_.size() + rejected_ >= 2 * most) {
      return true;
    }
    if (now - start >= options_.case_seconds &&
        (kept_.size() >= kLeastSamples ||
         now - start >= 2 * options_.case_seconds)) {
      return true;
    }
    return kept_.size() >= static_cast<size_t>(options_.min_samples) &&
           Summarize(kept_).RelativeHalfWidth() <= options_.target_half_width;
  }

  Backend& backend_;
  PreparedCase& prepared_;
  const LoopOptions& options_;
  const double deadline_;
  double& fastest_clock_;
  const SampleSink& sink_;
  std::vector<double> kept_;
  std::vector<double> clocks_;
  size_t rejected_ = 0;
  std::string disturbance_;  // The last.
};

// What was seen that does not spoil the median.
std::string Remarks(const SampleStatistics& seconds, bool retested) {
  std::vector<std::string> remarks;
  if (seconds.outliers > 0) {
    remarks.push_back(absl::StrFormat("%d outliers of %d samples",
                                      seconds.outliers, seconds.count));
  }
  if (std::abs(seconds.drift) > kDrift) {
    remarks.push_back(absl::StrFormat("drifted by %+.1f %% while measured",
                                      seconds.drift * 100));
  }
  if (retested) remarks.push_back("measured twice: two groups of samples");
  return absl::StrJoin(remarks, "; ");
}

void Judge(const Loop& loop, const LoopOptions& options, bool retested,
           CaseResult& result) {
  result.rejected = loop.rejected();
  if (loop.kept().empty()) {
    result.outcome = Outcome::kNoisy;
    result.reason = loop.rejected() == 0
                        ? "the time budget ended before a sample"
                        : absl::StrCat("all ", loop.rejected(),
                                       " samples disturbed, the last: ",
                                       loop.disturbance());
    return;
  }
  result.seconds = Summarize(loop.kept());
  if (!loop.clocks().empty()) result.clock_hertz = Median(loop.clocks());
  const double all = static_cast<double>(loop.kept().size() + loop.rejected());
  const double half_width = result.seconds.RelativeHalfWidth();
  result.outcome = Outcome::kNoisy;
  if (loop.kept().size() < kLeastSamples) {
    result.reason = absl::StrCat("only ", loop.kept().size(),
                                 " samples before time was up");
  } else if (static_cast<double>(loop.rejected()) > kMostRejected * all) {
    result.reason =
        absl::StrFormat("%d of %.0f samples disturbed, the last: %s",
                        loop.rejected(), all, loop.disturbance());
  } else if (result.seconds.bimodal) {
    result.reason = "two groups of samples, again when measured anew";
  } else if (half_width > options.noisy_half_width) {
    result.reason = absl::StrFormat("the median is known to +-%.1f %% only",
                                    half_width * 100);
  } else {
    result.outcome = Outcome::kMeasured;
    result.reason = Remarks(result.seconds, retested);
  }
}

absl::Status Measure(Loop& loop, const Case& measured, bool& retested) {
  RETURN_IF_ERROR(loop.WarmUp());
  if (measured.sustained) RETURN_IF_ERROR(loop.Sustain());
  RETURN_IF_ERROR(loop.Take(!measured.sustained));
  if (!loop.kept().empty() && Summarize(loop.kept()).bimodal) {
    retested = true;
    return loop.Take(!measured.sustained);
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kMeasured:
      return "measured";
    case Outcome::kNoisy:
      return "noisy";
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

CaseResult MeasureCase(Backend& backend, const Case& measured,
                       const LoopOptions& options, double deadline,
                       double& fastest_clock, const SampleSink& sink) {
  CaseResult result;
  result.measured = measured;
  absl::StatusOr<std::unique_ptr<PreparedCase>> prepared =
      backend.Prepare(measured);
  if (!prepared.ok()) {
    result.outcome =
        CannotRun(prepared.status()) ? Outcome::kSkipped : Outcome::kFailed;
    result.reason = std::string(prepared.status().message());
    return result;
  }
  result.run_operations = backend.RunOperations(measured);
  bool retested = false;
  Loop loop(backend, **prepared, options, deadline, fastest_clock, sink);
  absl::Status status = (*prepared)->Verify();
  if (status.ok()) status = Measure(loop, measured, retested);
  if (!status.ok()) {
    result.outcome = Outcome::kFailed;
    result.reason = std::string(status.message());
    return result;
  }
  Judge(loop, options, retested, result);
  return result;
}

}  // namespace mansard::calibrate
