#include "clients/cli/output/engine_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "clients/cli/output/model_text.h"

namespace mansard::cli {
namespace {

// "tp 4 dp 2"; "1 device" where all are 1.
std::string LayoutText(const v1::Parallelism& sizes) {
  const std::pair<const char*, int> all[] = {
      {"tp", sizes.tensor_size()},  {"dp", sizes.data_size()},
      {"ep", sizes.expert_size()},  {"moe-tp", sizes.moe_tensor_size()},
      {"cp", sizes.context_size()}, {"pp", sizes.pipeline_size()},
      {"nodes", sizes.node_count()}};
  std::vector<std::string> parts;
  for (const auto& [name, size] : all) {
    if (size > 1) parts.push_back(absl::StrCat(name, " ", size));
  }
  return parts.empty() ? "1 device" : absl::StrJoin(parts, " ");
}

// "prefill-first" of "SCHEDULING_PREFILL_FIRST".
std::string WordOf(absl::string_view value, absl::string_view prefix) {
  absl::ConsumePrefix(&value, prefix);
  return absl::StrReplaceAll(absl::AsciiStrToLower(value), {{"_", "-"}});
}

std::string SchedulingText(const v1::Engine& engine) {
  return engine.scheduling() == v1::Engine::SCHEDULING_UNSPECIFIED
             ? "as the stack's engine does"
             : WordOf(v1::Engine::Scheduling_Name(engine.scheduling()),
                      "SCHEDULING_");
}

std::string RoleText(const v1::Engine& engine) {
  return engine.role() == v1::Engine::ROLE_UNSPECIFIED
             ? "aggregated"
             : WordOf(v1::Engine::Role_Name(engine.role()), "ROLE_");
}

std::string LimitsText(const v1::EngineLimits& limits) {
  std::vector<std::string> parts;
  const auto add = [&parts](int64_t count, const char* what) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", what));
  };
  add(limits.max_batched_token_count(), "tokens a pass");
  add(limits.max_sequence_count(), "sequences");
  add(limits.kv_block_token_count(), "tokens a block");
  add(limits.kv_token_capacity_count(), "tokens in the cache");
  if (limits.has_memory_utilization_ratio()) {
    parts.push_back(absl::StrFormat("%.4g of the memory",
                                    limits.memory_utilization_ratio()));
  }
  return parts.empty() ? "the kernel stack's own" : absl::StrJoin(parts, ", ");
}

std::string AdmissionText(const v1::EngineAdmission& admission) {
  std::vector<std::string> parts;
  if (admission.poll_pass_count() > 1) {
    parts.push_back(absl::StrCat("once in ", admission.poll_pass_count(),
                                 " decode passes"));
  }
  if (admission.batch_wait_pass_count() > 0) {
    parts.push_back(absl::StrCat("held back for ",
                                 admission.batch_wait_pass_count(),
                                 " passes to run together"));
    if (admission.batch_wait_token_ratio() > 0) {
      absl::StrAppendFormat(&parts.back(), ", or until they fill %.4g of one",
                            admission.batch_wait_token_ratio());
    }
  }
  return parts.empty() ? "at once" : absl::StrJoin(parts, "; ");
}

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrCat(absl::StrFormat("  %-12s", label), Wrapped(text, 14));
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC",
                          absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

std::vector<Cell> EngineRow(const v1::Engine& engine) {
  const v1::Target& target = engine.target();
  return {
      Text(IdOf(engine.name())),
      Text(IdOf(target.model_graph())),
      Text(IdOf(target.hardware_profile())),
      Text(engine.resolution().kernel_stack()),
      Text(LayoutText(target.parallelism())),
      NumberOrNothing(static_cast<double>(engine.kv_token_capacity_count())),
      NumberOrNothing(engine.request_capacity_count())};
}

std::vector<Column> EngineColumns() {
  return {{"engine", Unit::kNone, Align::kLeft},
          {"model", Unit::kNone, Align::kLeft},
          {"hardware", Unit::kNone, Align::kLeft},
          {"stack", Unit::kNone, Align::kLeft},
          {"layout", Unit::kNone, Align::kLeft},
          {"kv tokens", Unit::kNone, Align::kRight, "kv_token_capacity_count"},
          {"requests", Unit::kNone, Align::kRight, "request_capacity_count"}};
}

}  // namespace

Report EngineListReport(const v1::ListEnginesResponse& response) {
  Report report{EngineColumns(), {}};
  for (const v1::Engine& engine : response.engines()) {
    report.rows.push_back(EngineRow(engine));
  }
  return report;
}

Report EngineReport(const v1::Engine& engine) {
  return {EngineColumns(), {EngineRow(engine)}};
}

std::string EngineText(const v1::Engine& engine, const Style& /*style*/) {
  const v1::Resolution& resolution = engine.resolution();
  std::string out = absl::StrCat(IdOf(engine.name()),
                                 engine.display_name().empty() ? "" : "  ",
                                 engine.display_name(), "\n");
  absl::StrAppend(
      &out, Line("model", engine.target().model_graph()),
      Line("hardware", engine.target().hardware_profile()),
      Line("stack", absl::StrCat(resolution.kernel_stack(), " on ",
                                 resolution.fabric())),
      Line("layout", LayoutText(engine.target().parallelism())),
      Line("scheduling", SchedulingText(engine)),
      Line("admission", AdmissionText(engine.admission())),
      Line("role", RoleText(engine)),
      Line("limits", LimitsText(engine.limits())),
      Line("holds",
           absl::StrCat(engine.kv_token_capacity_count(), " KV tokens, ",
                        engine.request_capacity_count(),
                        " requests of one token")),
      Line("revision", absl::StrCat(engine.revision_id(), ", of ",
                                    TimeText(engine.update_time()))));
  absl::StrAppend(
      &out,
      Line("resolved", absl::StrCat(resolution.model_graph_revision(), ", ",
                                    resolution.hardware_profile_revision())));
  for (const std::string& warning : resolution.warnings()) {
    absl::StrAppend(&out, Line("warning", warning));
  }
  return out;
}

Report CalibrationListReport(const v1::ListCalibrationsResponse& response) {
  Report report{
      {{"calibration", Unit::kNone, Align::kLeft},
       {"stack", Unit::kNone, Align::kLeft},
       {"created", Unit::kNone, Align::kLeft},
       {"measurements", Unit::kNone, Align::kRight},
       {"largest residual", Unit::kNone, Align::kRight, "max_residual_ratio"}},
      {}};
  for (const v1::Calibration& one : response.calibrations()) {
    report.rows.push_back(
        {Text(IdOf(one.name())), Text(one.fitted_stack().stack()),
         Text(TimeText(one.create_time())), Number(one.measurements_size()),
         ShownAs(NumberOrNothing(one.max_residual_ratio()),
                 absl::StrFormat("%.1f %%", 100 * one.max_residual_ratio()))});
  }
  return report;
}

Report CalibrationReport(const v1::Calibration& calibration) {
  Report report{{{"case", Unit::kNone, Align::kLeft},
                 {"outcome", Unit::kNone, Align::kLeft},
                 {"median", Unit::kSeconds, Align::kRight, "median_seconds"},
                 {"samples", Unit::kNone, Align::kRight, "sample_count"},
                 {"reason", Unit::kNone, Align::kLeft}},
                {}};
  for (const v1::Measurement& one : calibration.measurements()) {
    report.rows.push_back(
        {Text(one.case_()),
         Text(WordOf(v1::Measurement::Outcome_Name(one.outcome()), "OUTCOME_")),
         NumberOrNothing(one.median_seconds()),
         NumberOrNothing(one.sample_count()),
         one.reason().empty() ? Cell() : Text(one.reason())});
  }
  return report;
}

std::string CalibrationText(const v1::Calibration& calibration,
                            const Style& style) {
  std::string out = absl::StrCat(calibration.name(), "\n");
  absl::StrAppend(&out, Line("stack", calibration.fitted_stack().stack()),
                  Line("created", TimeText(calibration.create_time())));
  if (calibration.measurements_size() > 0) {
    absl::StrAppend(&out, "\n",
                    TableText(CalibrationReport(calibration), style));
  }
  return out;
}

}  // namespace mansard::cli
