#include "clients/cli/commands/observe_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/resources.h"
#include "clients/observe/metrics_page.h"

namespace mansard::cli {
namespace {

constexpr absl::Duration kDefaultInterval = absl::Minutes(1);

struct Look {
  observe::EngineTotals totals;
  absl::Time time;
};

// `from`: the address as it was given, for errors of what is there.
absl::StatusOr<Look> LookAt(const observe::MetricsUrl& url,
                            const std::string& from, absl::Duration timeout) {
  const absl::StatusOr<std::string> page = observe::FetchMetrics(url, timeout);
  if (!page.ok()) return page.status();
  const absl::Time time = absl::Now();
  const auto there = [&from](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat(from, ": ", status.message()));
  };
  const auto samples = observe::ParseMetrics(*page);
  if (!samples.ok()) return there(samples.status());
  absl::StatusOr<observe::EngineTotals> totals = observe::TotalsOf(*samples);
  if (!totals.ok()) return there(totals.status());
  return Look{*std::move(totals), time};
}

absl::StatusOr<absl::Duration> IntervalOf(const std::string& text) {
  if (text.empty()) return kDefaultInterval;
  absl::Duration interval;
  if (!absl::ParseDuration(text, &interval) ||
      interval < absl::Milliseconds(100) || interval > absl::Hours(24)) {
    return UsageError(absl::StrCat("--every is \"", text,
                                   "\"; allowed: such as 30s, 5m; 100ms to "
                                   "24h"));
  }
  return interval;
}

std::string RunLine(const observe::ObservedRun& run) {
  const auto ms = [](const std::optional<absl::Duration>& time) {
    return time.has_value()
               ? absl::StrFormat("%.4g ms", absl::ToDoubleMilliseconds(*time))
               : std::string("unknown");
  };
  return absl::StrFormat(
      "%.0f requests of %.0f + %.0f tokens, %.3g in the engine, %.3g/s: to the "
      "first token %s, per output token %s",
      run.request_count, run.input_tokens, run.output_tokens, run.concurrency,
      run.requests_per_second, ms(run.time_to_first_token),
      ms(run.time_per_output_token));
}

// The looks at one engine.
class Watch {
 public:
  Watch(observe::MetricsUrl url, std::string from, absl::Duration interval,
        absl::Duration timeout)
      : url_(std::move(url)),
        from_(std::move(from)),
        interval_(interval),
        timeout_(timeout) {}

  // The run between the look before and one after the interval. Where too few
  // requests have ended, the next run begins where this one did; where the
  // engine has started anew, at the look that saw it.
  absl::StatusOr<observe::ObservedRun> Next() {
    if (!before_.has_value()) {
      const absl::StatusOr<Look> first = LookAt(url_, from_, timeout_);
      if (!first.ok()) return first.status();
      before_ = *first;
    }
    absl::SleepFor(interval_);
    const absl::StatusOr<Look> after = LookAt(url_, from_, timeout_);
    if (!after.ok()) return after.status();
    absl::StatusOr<observe::ObservedRun> run = observe::RunBetween(
        before_->totals, after->totals, after->time - before_->time);
    if (run.ok() || absl::IsAborted(run.status())) before_ = *after;
    return run;
  }

  // False until a first look has succeeded: it is not waited for.
  bool has_looked() const { return before_.has_value(); }

 private:
  const observe::MetricsUrl url_;
  const std::string from_;
  const absl::Duration interval_;
  const absl::Duration timeout_;
  std::optional<Look> before_;
};

}  // namespace

v1::Observation ToObservation(const observe::ObservedRun& run) {
  const auto tokens = [](double mean) {
    return static_cast<int>(std::clamp(std::round(mean), 1.0, 2e9));
  };
  v1::Observation observation;
  v1::RequestShape& shape = *observation.mutable_shape();
  shape.set_input_token_count(tokens(run.input_tokens));
  shape.set_output_token_count(tokens(run.output_tokens));
  shape.set_prefix_cache_hit_ratio(run.prefix_cache_hit_ratio);
  observation.set_concurrency_count(run.concurrency);
  if (run.time_to_first_token.has_value()) {
    observation.set_time_to_first_token_seconds(
        absl::ToDoubleSeconds(*run.time_to_first_token));
  }
  if (run.time_per_output_token.has_value()) {
    observation.set_time_per_output_token_seconds(
        absl::ToDoubleSeconds(*run.time_per_output_token));
  }
  return observation;
}

absl::StatusOr<v1::ReportObservationsResponse> ReportFromMetrics(
    const Session& session, const Arguments& arguments,
    const FieldNamer& flag_of_field) {
  const ServingFlags& flags = arguments.serving;
  absl::StatusOr<observe::MetricsUrl> url =
      observe::ParseMetricsUrl(flags.from);
  if (!url.ok()) {
    return UsageError(absl::StrCat("--from: ", url.status().message()));
  }
  const absl::StatusOr<absl::Duration> interval = IntervalOf(flags.every);
  if (!interval.ok()) return interval.status();
  // Now, and not after the first interval.
  const absl::StatusOr<v1::Engine> engine =
      EngineResource::Get(session, EngineResource::Name(arguments.operand));
  if (!engine.ok()) return engine.status();
  const int64_t wanted = flags.reports.value_or(1);
  Watch watch(*std::move(url), flags.from, *interval, arguments.timeout);
  v1::ReportObservationsResponse response;
  for (int64_t done = 0; wanted == 0 || done < wanted;) {
    const absl::StatusOr<observe::ObservedRun> run = watch.Next();
    if (!run.ok() && wanted == 1) return Failed(run.status().message());
    if (wanted != 1) {
      std::fputs(
          absl::StrCat(run.ok() ? RunLine(*run) : run.status().message(), "\n")
              .c_str(),
          stderr);
    }
    if (!run.ok()) {
      if (!watch.has_looked()) absl::SleepFor(*interval);
      continue;
    }
    v1::ReportObservationsRequest request;
    request.set_engine(EngineResource::Name(arguments.operand));
    *request.add_observations() = ToObservation(*run);
    request.set_replace_all(flags.forget && done == 0);
    request.set_validate_only(arguments.catalog.dry_run);
    // The session's deadline counts from the start of the command.
    const Session now(session.client().channel(), session.server(),
                      arguments.timeout);
    const absl::Status called =
        now.Call(now.client().calibration(),
                 &v1::CalibrationService::Stub::ReportObservations, request,
                 &response, flag_of_field);
    if (!called.ok()) return WithHint(called, CatalogHint(called));
    ++done;
  }
  return response;
}

}  // namespace mansard::cli
