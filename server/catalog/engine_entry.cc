#include "server/catalog/engine_entry.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"
#include "server/catalog/resource_name.h"
#include "server/convert/serving.h"

namespace mansard::server {
namespace {

std::string IdIn(const std::string& name, const char* collection) {
  absl::string_view id = name;
  absl::ConsumePrefix(&id, collection);
  absl::ConsumePrefix(&id, "/");
  return std::string(id);
}

void CheckTarget(const v1::Target& target, model::Violations& violations) {
  const model::Violations::Scope scope(violations, "target");
  if (target.has_inline_model_graph()) {
    violations.Add("inline_model_graph",
                   "is set; an engine names its model: modelGraphs/{id}");
  }
  if (target.has_inline_hardware_profile()) {
    violations.Add(
        "inline_hardware_profile",
        "is set; an engine names its hardware: hardwareProfiles/{id}");
  }
  if (target.has_kv_transfer()) {
    violations.Add("kv_transfer", "is set; an engine has none");
  }
}

template <class Enum>
void CheckEnum(absl::string_view field, Enum value, bool known,
               model::Violations& violations) {
  if (known) return;
  violations.Add(field, absl::StrCat("is ", static_cast<int>(value),
                                     "; allowed: the values of its enum"));
}

// A count on all data ranks together as that of one; none where it is 0.
std::optional<int64_t> OfRank(absl::string_view field, int64_t count,
                              int64_t ranks, model::Violations& violations) {
  if (count == 0) return std::nullopt;
  if (count < 0) {
    violations.Add(
        field, absl::StrCat("is ", count, "; allowed: 1 or more, 0: not set"));
    return std::nullopt;
  }
  return (count + ranks - 1) / ranks;
}

model::EngineMemoryChoice ChoiceOf(const v1::Engine& said,
                                   model::Violations& violations) {
  const model::Violations::Scope scope(violations, "limits");
  const v1::EngineLimits& limits = said.limits();
  const int64_t ranks = std::max(said.target().parallelism().data_size(), 1);
  const size_t before = violations.all().size();
  model::EngineMemoryChoice choice;
  choice.token_budget =
      OfRank("max_batched_token_count", limits.max_batched_token_count(), ranks,
             violations);
  choice.sequence_limit = OfRank(
      "max_sequence_count", limits.max_sequence_count(), ranks, violations);
  choice.block_tokens = OfRank("kv_block_token_count",
                               limits.kv_block_token_count(), 1, violations);
  OfRank("kv_token_capacity_count", limits.kv_token_capacity_count(), ranks,
         violations);
  if (limits.has_memory_utilization_ratio()) {
    choice.usable_fraction = limits.memory_utilization_ratio();
  }
  model::CheckEngineMemoryChoice(choice, violations);
  if (violations.all().size() != before) return {};
  return choice;
}

std::optional<model::Scheduling> FromProto(v1::Engine::Scheduling scheduling) {
  switch (scheduling) {
    case v1::Engine::SCHEDULING_MIXED:
      return model::Scheduling::kMixed;
    case v1::Engine::SCHEDULING_PREFILL_FIRST:
      return model::Scheduling::kPrefillFirst;
    default:
      return std::nullopt;  // As the stack's engine does.
  }
}

model::ServingRole FromProto(v1::Engine::Role role) {
  switch (role) {
    case v1::Engine::ROLE_PREFILL:
      return model::ServingRole::kPrefill;
    case v1::Engine::ROLE_DECODE:
      return model::ServingRole::kDecode;
    default:
      return model::ServingRole::kAggregated;
  }
}

model::Admission FromProto(const v1::EngineAdmission& said) {
  model::Admission admission;
  if (said.poll_pass_count() != 0) {
    admission.poll_passes = said.poll_pass_count();
  }
  admission.batch_wait_passes = said.batch_wait_pass_count();
  if (said.batch_wait_token_ratio() != 0) {
    admission.batch_wait_token_share = said.batch_wait_token_ratio();
  }
  return admission;
}

// The other limits are the target's already.
model::ServingSpec SpecOf(const v1::Engine& said) {
  model::ServingSpec spec;
  if (const int64_t tokens = said.limits().kv_token_capacity_count();
      tokens > 0) {
    spec.limits.kv_token_capacity = tokens;
  }
  spec.scheduling = FromProto(said.scheduling());
  spec.admission = FromProto(said.admission());
  spec.role = FromProto(said.role());
  return spec;
}

bool HasCurves(const model::Engine& engine) {
  model::Violations none;
  const auto pass = model::ForwardPass::Create(
      {{.role = model::Role::kDecode, .request_count = 1, .new_tokens = 1}},
      /*max_context=*/1, none);
  return pass.has_value() &&
         engine.SourceOf(*pass) == model::StepSource::kEngine;
}

// What the observations say, and whether it applies.
void Observe(const v1::Engine& said, model::ServingEngine& engine,
             EngineEntry& entry) {
  if (said.observations().empty()) return;
  std::vector<model::Observation> observations;
  for (const v1::Observation& observation : said.observations()) {
    observations.push_back(server::FromProto(observation));
  }
  entry.observed = model::ObserveFactors(engine, observations);
  if (said.apply_observed_factors()) {
    engine.SetFactors(entry.observed.factors);
  }
}

// Fills in all that is resolved. `entry.proto` has what was said.
absl::Status ResolveEntry(const Snapshot& snapshot, EngineEntry& entry,
                          model::Violations& violations) {
  const size_t before = violations.all().size();
  const v1::Engine said = entry.proto;
  CheckEnum("scheduling", said.scheduling(),
            v1::Engine::Scheduling_IsValid(said.scheduling()), violations);
  CheckEnum("role", said.role(), v1::Engine::Role_IsValid(said.role()),
            violations);
  model::CheckAdmission(FromProto(said.admission()), violations);
  const model::EngineMemoryChoice choice = ChoiceOf(said, violations);
  TargetAnswer answer;
  if (said.has_target()) {
    CheckTarget(said.target(), violations);
    const model::Violations::Scope scope(violations, "target");
    answer = ResolveTarget(snapshot, said.target(), violations, choice);
  } else {
    violations.Add("target", "is required");
  }
  if (violations.all().size() != before) {
    return absl::InvalidArgumentError("broken rules");
  }
  RETURN_IF_ERROR(answer.error);
  entry.resolved = std::move(answer.resolved);
  std::unique_ptr<model::ServingEngine> engine = model::ServingEngine::Resolve(
      entry.resolved->target, SpecOf(said), violations);
  if (engine == nullptr) return absl::InvalidArgumentError("broken rules");
  Observe(said, *engine, entry);
  entry.engine = std::move(engine);
  entry.has_curves = HasCurves(entry.engine->engine());
  return absl::OkStatus();
}

// What is stored of an engine: what was said, and what was observed.
v1::Engine ContentOf(const v1::Engine& proto) {
  v1::Engine content = proto;
  ClearOutputOnly(content);
  *content.mutable_observations() = proto.observations();
  return content;
}

// Of the content: the revision without the label, and without observations that
// change no answer.
void TakeHashes(v1::Engine& proto) {
  v1::Engine content = ContentOf(proto);
  proto.set_etag(EtagOfBytes(BytesOf(content)));
  content.clear_display_name();
  if (!content.apply_observed_factors()) content.clear_observations();
  proto.set_revision_id(model::RevisionOf(content));
}

// The answer's part that is resolved.
void Complete(EngineEntry& entry) {
  entry.proto.set_kv_token_capacity_count(entry.engine->kv_token_capacity());
  entry.proto.set_request_capacity_count(
      static_cast<int32_t>(entry.engine->room().RequestsThatFit(1)));
  v1::Resolution& resolution = *entry.proto.mutable_resolution();
  resolution = entry.resolved->resolution;
  resolution.set_content_hash(entry.resolved->hasher.Text());
  resolution.set_engine_revision(entry.Revision());
  if (entry.proto.observations().empty()) return;
  ToProto(entry.observed, entry.proto.apply_observed_factors(),
          *resolution.mutable_observed_factors());
}

// Whether what was observed of one holds for the other.
bool IsSameDeployment(const v1::Engine& a, const v1::Engine& b) {
  return BytesOf(a.target()) == BytesOf(b.target()) &&
         BytesOf(a.limits()) == BytesOf(b.limits()) &&
         BytesOf(a.admission()) == BytesOf(b.admission()) &&
         a.scheduling() == b.scheduling() && a.role() == b.role();
}

// Without what is resolved.
std::shared_ptr<EngineEntry> Bare(const std::string& id, v1::Engine said) {
  auto entry = std::make_shared<EngineEntry>();
  entry->id = id;
  entry->model_id = IdIn(said.target().model_graph(), kModelGraphs);
  entry->hardware_id =
      IdIn(said.target().hardware_profile(), kHardwareProfiles);
  entry->proto = std::move(said);
  return entry;
}

// Resolved, or broken.
std::shared_ptr<const EngineEntry> ResolvedOrBroken(
    const Snapshot& snapshot, std::shared_ptr<EngineEntry> entry) {
  model::Violations violations;
  entry->error = ResolveEntry(snapshot, *entry, violations);
  if (!violations.empty()) entry->error = violations.ToStatus();
  if (entry->error.ok()) {
    Complete(*entry);
  } else {
    entry->resolved = nullptr;
    entry->engine = nullptr;
  }
  return entry;
}

// Resolved at `now`.
absl::StatusOr<std::shared_ptr<const EngineEntry>> Made(
    const Snapshot& snapshot, std::shared_ptr<EngineEntry> entry,
    const EngineEntry* current, absl::Time now, model::Violations& violations) {
  RETURN_IF_ERROR(ResolveEntry(snapshot, *entry, violations));
  v1::Engine& proto = entry->proto;
  proto.set_name(ResourceName(kEngines, entry->id));
  TakeHashes(proto);
  *proto.mutable_create_time() =
      current == nullptr ? ToProto(now) : current->proto.create_time();
  *proto.mutable_update_time() = ToProto(now);
  Complete(*entry);
  return entry;
}

}  // namespace

std::string EngineEntry::Revision() const {
  return absl::StrCat(ResourceName(kEngines, id), "@", proto.revision_id());
}

void ClearOutputOnly(v1::Engine& proto) {
  proto.clear_name();
  proto.clear_kv_token_capacity_count();
  proto.clear_request_capacity_count();
  proto.clear_resolution();
  proto.clear_observations();
  proto.clear_revision_id();
  proto.clear_create_time();
  proto.clear_update_time();
  proto.clear_etag();
}

absl::StatusOr<std::shared_ptr<const EngineEntry>> MakeEntry(
    const Snapshot& snapshot, const std::string& id, v1::Engine said,
    const EngineEntry* current, absl::Time now, model::Violations& violations) {
  ClearOutputOnly(said);
  if (current != nullptr && IsSameDeployment(said, current->proto)) {
    *said.mutable_observations() = current->proto.observations();
  }
  return Made(snapshot, Bare(id, std::move(said)), current, now, violations);
}

absl::StatusOr<std::shared_ptr<const EngineEntry>> MakeObserved(
    const Snapshot& snapshot, const EngineEntry& current,
    const google::protobuf::RepeatedPtrField<v1::Observation>& observations,
    bool replace_all, absl::Time now) {
  v1::Engine said = ContentOf(current.proto);
  if (replace_all) said.clear_observations();
  said.mutable_observations()->MergeFrom(observations);
  const int beyond = said.observations_size() - kMaxObservations;
  if (beyond > 0) said.mutable_observations()->DeleteSubrange(0, beyond);
  model::Violations violations;
  auto made = Made(snapshot, Bare(current.id, std::move(said)), &current, now,
                   violations);
  if (!violations.empty()) return violations.ToStatus();
  return made;
}

std::shared_ptr<const EngineEntry> Refreshed(const EngineEntry& entry,
                                             const Snapshot& snapshot) {
  v1::Engine kept = entry.proto;
  kept.clear_kv_token_capacity_count();
  kept.clear_request_capacity_count();
  kept.clear_resolution();
  return ResolvedOrBroken(snapshot, Bare(entry.id, std::move(kept)));
}

StoredResource ToStored(const std::string& id, const EngineEntry& entry) {
  const v1::Engine content = ContentOf(entry.proto);
  return {.kind = StoredKind::kEngine,
          .id = id,
          .revision_id = entry.proto.revision_id(),
          .etag = entry.proto.etag(),
          .create_time = FromProto(entry.proto.create_time()),
          .update_time = FromProto(entry.proto.update_time()),
          .content = BytesOf(content)};
}

std::shared_ptr<const EngineEntry> EngineFromStored(
    const StoredResource& resource, const Snapshot& snapshot) {
  v1::Engine said;
  const bool parsed = said.ParseFromString(resource.content);
  if (!parsed) said.Clear();
  said.set_name(ResourceName(kEngines, resource.id));
  said.set_revision_id(resource.revision_id);
  said.set_etag(resource.etag);
  *said.mutable_create_time() = ToProto(resource.create_time);
  *said.mutable_update_time() = ToProto(resource.update_time);
  std::shared_ptr<EngineEntry> entry = Bare(resource.id, std::move(said));
  if (parsed) return ResolvedOrBroken(snapshot, std::move(entry));
  entry->error = absl::DataLossError("its content does not parse");
  return entry;
}

}  // namespace mansard::server
