// `mansard kv`.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "clients/cli/commands/answer.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/kv_text.h"

namespace mansard::cli {
namespace {

// "10GB/s", "800MB/s", "1.5TB/s".
absl::StatusOr<double> BytesPerSecondOf(const std::string& text) {
  constexpr std::pair<const char*, double> kUnits[] = {
      {"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}};
  for (const auto& [unit, factor] : kUnits) {
    absl::string_view number = text;
    double value = 0;
    if (absl::ConsumeSuffix(&number, unit) &&
        absl::SimpleAtod(number, &value) && std::isfinite(value)) {
      return value * factor;
    }
  }
  return UsageError(absl::StrCat(
      "--storage-bandwidth is \"", text,
      "\"; allowed: a number with MB/s, GB/s or TB/s, such as 10GB/s"));
}

absl::StatusOr<double> LatencyOf(const std::string& text) {
  absl::Duration latency;
  if (!absl::ParseDuration(text, &latency)) {
    return UsageError(absl::StrCat("--storage-latency is \"", text,
                                   "\"; allowed: such as 200us, 1.5ms, 0s"));
  }
  return absl::ToDoubleSeconds(latency);
}

absl::Status FillPrefix(const KvFlags& flags,
                        v1::PlanKvTransferRequest* request) {
  request->set_prefix_token_count(flags.tokens.value_or(0));
  request->set_cached_token_count(flags.cached.value_or(0));
  request->set_nic_count(static_cast<int32_t>(flags.nics.value_or(0)));
  for (const absl::string_view source : absl::StrSplit(flags.from, ',')) {
    request->add_source_tiers(std::string(source));
  }
  if (!flags.storage_bandwidth.empty()) {
    const absl::StatusOr<double> rate =
        BytesPerSecondOf(flags.storage_bandwidth);
    if (!rate.ok()) return rate.status();
    request->set_storage_bandwidth_bytes_per_second(*rate);
  }
  if (!flags.storage_latency.empty()) {
    const absl::StatusOr<double> latency = LatencyOf(flags.storage_latency);
    if (!latency.ok()) return latency.status();
    request->set_storage_latency_seconds(*latency);
  }
  return absl::OkStatus();
}

std::string Named(absl::string_view flag, absl::string_view value) {
  return value.empty() ? std::string(flag) : absl::StrCat(flag, " ", value);
}

std::string FlagOf(const Arguments& arguments, const std::string& field) {
  const KvFlags& flags = arguments.kv;
  const auto shown = [](const std::optional<int64_t>& count) {
    return count.has_value() ? absl::StrCat(*count) : std::string();
  };
  if (field == "prefix_token_count") {
    return Named("--tokens", shown(flags.tokens));
  }
  if (field == "cached_token_count") {
    return Named("--cached", shown(flags.cached));
  }
  if (field == "nic_count") return Named("--nics", shown(flags.nics));
  if (absl::StartsWith(field, "source_tiers")) {
    return Named("--from", flags.from);
  }
  if (field == "storage_bandwidth_bytes_per_second") {
    return Named("--storage-bandwidth", flags.storage_bandwidth);
  }
  if (field == "storage_latency_seconds") {
    return Named("--storage-latency", flags.storage_latency);
  }
  return FlagOfField(arguments.estimate, field);
}

std::string TableAnswer(const v1::PlanKvTransferResponse& response,
                        const std::vector<std::string>& assumptions,
                        const Arguments& arguments, const Style& style) {
  std::string out = style.Paint(
      Tone::kStrong,
      absl::StrCat("prefix  ", Grouped(*arguments.kv.tokens), " tokens"));
  if (arguments.kv.cached.value_or(0) > 0) {
    absl::StrAppend(&out, ", ", Grouped(*arguments.kv.cached), " cached");
  }
  absl::StrAppend(
      &out, "   ",
      WithUnit(static_cast<double>(response.instance_bytes()), Unit::kBytes),
      " to have, or ", WithUnit(response.recompute_seconds(), Unit::kSeconds),
      " to recompute\n\n", TableText(SourcesReport(response), style), "\n");
  if (!arguments.quiet) {
    for (const std::string& assumption : assumptions) {
      absl::StrAppend(&out, "assumed: ", Wrapped(assumption, 9));
    }
  }
  absl::StrAppend(&out, FooterText(response.resolution(), v1::TIER_UNSPECIFIED,
                                   arguments.quiet, style));
  return out;
}

}  // namespace

absl::StatusOr<Answer> RunKv(const Session& session, const Arguments& arguments,
                             const Style& style) {
  v1::PlanKvTransferRequest request;
  const absl::Status prefix = FillPrefix(arguments.kv, &request);
  if (!prefix.ok()) return prefix;
  std::vector<std::string> assumptions;
  const absl::Status filled = FillSubject(
      session, arguments.estimate, request.mutable_target(), &assumptions);
  if (!filled.ok()) return filled;
  FillTarget(arguments.estimate, request.mutable_target());
  v1::PlanKvTransferResponse response;
  const absl::Status called = session.Call(
      session.client().planning(), &v1::PlanningService::Stub::PlanKvTransfer,
      request, &response, [&arguments](const std::string& field) {
        return FlagOf(arguments, field);
      });
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  return AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] { return SourcesReport(response); },
      [&] { return TableAnswer(response, assumptions, arguments, style); });
}

}  // namespace mansard::cli
