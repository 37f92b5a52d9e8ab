#include "calibrate/refresh/fit_profile.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibrate/refresh/cpu_plans.h"
#include "calibrate/refresh/measured_device.h"
#include "calibrate/refresh/record_rows.h"
#include "google/protobuf/text_format.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::ProvenanceKind;

constexpr char kFabric[] = "ethernet-25g";

// Of the prefill cases; 128 where there is none, which then is missing.
int HeadSizeOf(const Record& record) {
  for (const CaseResult& result : record.results) {
    if (result.measured.kind == CaseKind::kPrefillAttention) {
      return static_cast<int>(result.measured.head_size);
    }
  }
  return 128;
}

// " at 4.1 to 4.2 GHz"; empty where no clock is known.
std::string ClocksText(const Record& record) {
  double low = 0;
  double high = 0;
  for (const CaseResult& result : record.results) {
    if (result.outcome != Outcome::kMeasured || result.clock_hertz <= 0) {
      continue;
    }
    low = low > 0 ? std::min(low, result.clock_hertz) : result.clock_hertz;
    high = std::max(high, result.clock_hertz);
  }
  if (high <= 0) return "";
  return absl::StrFormat(" at %.2f to %.2f GHz", low * 1e-9, high * 1e-9);
}

class Refresher {
 public:
  Refresher(const Record& record, model::Device device, model::Fabric fabric)
      : record_(record),
        device_(std::move(device)),
        fabric_(std::move(fabric)),
        plans_(CpuPlans(device_, HeadSizeOf(record))),
        stack_(CpuBaseStack(plans_)) {
    stack_.id = kCalibratedStack;
  }

  absl::StatusOr<RefreshedProfile> Run() {
    RETURN_IF_ERROR(ReadRows());
    for (const CpuPlan& plan : plans_) RETURN_IF_ERROR(Fit(plan));
    ASSIGN_OR_RETURN(model::HardwareProfile profile, Profile());
    result_.profile =
        std::make_shared<const model::HardwareProfile>(std::move(profile));
    return std::move(result_);
  }

 private:
  // All kinds that the plans need, and at least as many rows as parameters.
  absl::Status ReadRows() {
    std::vector<std::string> missing;
    for (const CpuPlan& plan : plans_) {
      std::vector<MeasuredCase>& rows = rows_[plan.kind];
      rows = RowsOf(record_, plan.kind);
      size_t needed = 1;
      for (const FitSlot& slot : plan.plan.slots) needed += slot.free.size();
      if (rows.size() < needed) {
        missing.push_back(absl::StrCat(CaseKindName(plan.kind), " (",
                                       rows.size(), " measured, ", needed,
                                       " needed)"));
      }
    }
    if (missing.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "too few measured cases of ", absl::StrJoin(missing, ", ")));
  }

  absl::StatusOr<model::HardwareProfile> Profile() const {
    model::Violations violations;
    std::optional<model::KernelStack> stack =
        model::KernelStack::Create(stack_, violations);
    if (!stack.has_value()) return violations.ToStatus();
    std::optional<model::HardwareProfile> profile =
        model::HardwareProfile::Create(
            "",
            absl::StrCat(record_.device.name, ", ", record_.device.threads,
                         record_.device.threads == 1 ? " thread" : " threads",
                         ", calibrated ", record_.date),
            device_, {fabric_}, {*std::move(stack)}, violations);
    if (!profile.has_value()) return violations.ToStatus();
    return *std::move(profile);
  }

  // The rows that the gates let pass.
  std::vector<const MeasuredCase*> Sieve(
      CaseKind kind, const model::HardwareProfile& profile) {
    std::vector<const MeasuredCase*> rows;
    for (const MeasuredCase& row : rows_[kind]) rows.push_back(&row);
    DropSuspects(
        profile,
        [](const MeasuredCase& row) {
          return absl::StrCat(row.table, " ", row.shape);
        },
        rows, result_.named);
    return rows;
  }

  absl::Status Fit(const CpuPlan& plan) {
    ASSIGN_OR_RETURN(const model::HardwareProfile profile, Profile());
    absl::StatusOr<FamilyFit> fitted =
        FitFamilies(Sieve(plan.kind, profile), profile,
                    profile.stacks().front(), plan.plan, {.evaluations = 400});
    if (!fitted.ok()) return Explained(fitted.status(), plan);
    FamilyFit& fit = *fitted;
    for (FitSlot& slot : fit.slots) {
      std::visit(
          [&](auto& family) {
            Describe(fit, ProvenanceOf(fit), "cases", family.facts);
          },
          slot.prior);
      RETURN_IF_ERROR(Place(slot, stack_));
      if (plan.kind == CaseKind::kResidual) {
        stack_.elementwise = std::get<model::ElementwiseFamily>(slot.prior);
        stack_.elementwise.facts.id = "elementwise";
      }
      result_.families.push_back({model::FactsOf(slot.prior).id, fit.rows,
                                  fit.result.mean_loss, fit.sigma, fit.weak});
    }
    return absl::OkStatus();
  }

  // With what the gates took away.
  absl::Status Explained(const absl::Status& status,
                         const CpuPlan& plan) const {
    std::string message = absl::StrCat(plan.plan.name, ": ", status.message());
    for (const NamedResult& named : result_.named) {
      if (!named.suspect.dropped) continue;
      absl::StrAppend(&message, "; dropped ", named.case_id, ": ",
                      named.suspect.evidence);
    }
    return absl::Status(status.code(), message);
  }

  model::Provenance ProvenanceOf(const FamilyFit& fit) const {
    return {ProvenanceKind::kFitted,
            absl::StrFormat("%s on %s (id %s)%s: %d cases, mean loss %.4f",
                            record_.device.software, record_.device.name,
                            record_.device.id_hash, ClocksText(record_),
                            fit.rows, fit.result.mean_loss),
            record_.date};
  }

  const Record& record_;
  const model::Device device_;
  const model::Fabric fabric_;
  const std::vector<CpuPlan> plans_;
  model::KernelStackSpec stack_;
  std::map<CaseKind, std::vector<MeasuredCase>> rows_;
  RefreshedProfile result_;
};

// What ends a comment would end the file's head.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What is left of a burst's rate after seconds of it.
std::string SustainedText(const Record& record) {
  std::string text;
  for (const CaseResult& result : record.results) {
    Case burst = result.measured;
    burst.sustained = false;
    const CaseResult* const other = record.Find(burst);
    if (!result.measured.sustained || result.outcome != Outcome::kMeasured ||
        other == nullptr || other->outcome != Outcome::kMeasured) {
      continue;
    }
    absl::StrAppendFormat(&text, "# Sustained: %s runs at %.3f of its burst\n",
                          CaseId(burst),
                          other->seconds.median / result.seconds.median);
  }
  return text;
}

// What was measured, and what became of the rest.
std::string SamplesText(const Record& record) {
  size_t kept = 0;
  size_t rejected = 0;
  std::string text;
  for (const CaseResult& result : record.results) {
    kept += result.seconds.count;
    rejected += result.rejected;
    if (result.outcome == Outcome::kMeasured) continue;
    absl::StrAppend(&text, "# ", OutcomeName(result.outcome), ": ",
                    CaseId(result.measured), ": ", OneLine(result.reason),
                    "\n");
  }
  const std::string head =
      absl::StrFormat("# Samples: %d kept, %d set aside as disturbed;%s\n",
                      kept, rejected, ClocksText(record));
  return absl::StrCat(head, SustainedText(record), text);
}

}  // namespace

void DropSuspects(const model::HardwareProfile& profile,
                  const std::function<std::string(const MeasuredCase&)>& id_of,
                  std::vector<const MeasuredCase*>& rows,
                  std::vector<NamedResult>& named) {
  std::set<const MeasuredCase*> dropped;
  for (SuspectRow& suspect : SuspectRows(rows, profile)) {
    if (suspect.dropped) dropped.insert(suspect.row);
    std::string id = id_of(*suspect.row);
    suspect.row = nullptr;
    named.push_back({std::move(id), std::move(suspect)});
  }
  std::erase_if(
      rows, [&](const MeasuredCase* row) { return dropped.count(row) > 0; });
}

absl::StatusOr<RefreshedProfile> FitProfile(const Record& record,
                                            const model::FabricMap& fabrics) {
  if (record.device.backend != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("backend: the record is of \"", record.device.backend,
                     "\"; a profile is made of: cpu"));
  }
  const auto fabric = fabrics.find(kFabric);
  if (fabric == fabrics.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("fabrics: \"", kFabric, "\" is missing"));
  }
  ASSIGN_OR_RETURN(model::Device device, MeasuredDevice(record));
  return Refresher(record, std::move(device), fabric->second).Run();
}

std::string ProfileHead(const RefreshedProfile& refreshed,
                        const Record& record) {
  const DeviceIdentity& device = record.device;
  std::string text = absl::StrFormat(
      "# proto-file: mansard/v1/catalog.proto\n"
      "# proto-message: mansard.v1.HardwareProfile\n"
      "# Written by mansard-calibrate run, %s.\n"
      "# Device: %s, id hash %s, %d %s, %.2f GHz\n"
      "# Libraries: %s\n",
      record.date, OneLine(device.name), device.id_hash, device.threads,
      device.backend == "cuda" ? "multiprocessors" : "threads",
      device.clock_hertz * 1e-9, OneLine(device.software));
  for (const auto& [key, value] : device.notes) {
    absl::StrAppend(&text, "# ", key, ": ", OneLine(value), "\n");
  }
  absl::StrAppend(&text, SamplesText(record));
  for (const RefreshedFamily& family : refreshed.families) {
    absl::StrAppendFormat(
        &text, "# %s: %d cases, mean loss %.4f, residuals +-%.1f %%",
        family.family, family.rows, family.mean_loss, family.sigma * 100);
    if (!family.weak.empty()) {
      absl::StrAppend(&text, ", at prior: ", absl::StrJoin(family.weak, ", "));
    }
    absl::StrAppend(&text, "\n");
  }
  for (const NamedResult& named : refreshed.named) {
    absl::StrAppend(&text, "# ", SanityGateName(named.suspect.gate), ": ",
                    named.case_id, ": ", OneLine(named.suspect.evidence), "; ",
                    named.suspect.policy, "\n");
  }
  return text;
}

std::string ProfileBody(const model::HardwareProfile& profile) {
  v1::HardwareProfile proto = model::ProfileToProto(profile);
  // The catalog's: names and revisions are the server's to give.
  proto.clear_fabrics();
  proto.clear_revision_id();
  for (const model::Fabric& fabric : profile.fabrics()) {
    proto.add_fabric_ids(fabric.spec().id);
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(proto, &text);
  return text;
}

std::string ProfileText(const RefreshedProfile& refreshed,
                        const Record& record) {
  return absl::StrCat(ProfileHead(refreshed, record),
                      ProfileBody(*refreshed.profile));
}

}  // namespace mansard::calibrate
