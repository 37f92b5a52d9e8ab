#include "server/catalog/entries.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "model/base/status_macros.h"
#include "model/io/graph_io.h"
#include "model/io/revision.h"
#include "server/catalog/resource_name.h"

namespace mansard::server {
namespace {

// Sets what is known of a resource besides its content.
template <class Proto>
void SetTimes(absl::Time create_time, absl::Time update_time, Proto& proto) {
  *proto.mutable_create_time() = ToProto(create_time);
  *proto.mutable_update_time() = ToProto(update_time);
}

// As it was created first, where that is known.
template <class Entry>
absl::Time CreateTime(const Entry* current, absl::Time now) {
  return current != nullptr && current->proto.has_create_time()
             ? FromProto(current->proto.create_time())
             : now;
}

template <class Proto>
StoredResource Stored(StoredKind kind, const std::string& id,
                      const Proto& proto) {
  StoredResource resource{.kind = kind,
                          .id = id,
                          .revision_id = proto.revision_id(),
                          .etag = proto.etag(),
                          .create_time = FromProto(proto.create_time()),
                          .update_time = FromProto(proto.update_time()),
                          .content = ""};
  Proto content = proto;
  ClearOutputOnly(content);
  resource.content = BytesOf(content);
  return resource;
}

absl::Status Unreadable() {
  return absl::DataLossError("its content does not parse");
}

// The revision and the etag are those that it was stored with: another version
// may compute others of the same content.
template <class Proto>
void TakeStored(const StoredResource& resource, const char* collection,
                Proto& proto) {
  proto.set_name(ResourceName(collection, resource.id));
  proto.set_revision_id(resource.revision_id);
  proto.set_etag(resource.etag);
  SetTimes(resource.create_time, resource.update_time, proto);
}

}  // namespace

void ClearOutputOnly(v1::ModelGraph& proto) {
  proto.clear_name();
  proto.clear_size();
  proto.clear_revision_id();
  proto.clear_create_time();
  proto.clear_update_time();
  proto.clear_etag();
}

void ClearOutputOnly(v1::HardwareProfile& proto) {
  proto.clear_name();
  proto.clear_revision_id();
  proto.clear_create_time();
  proto.clear_update_time();
  proto.clear_etag();
}

google::protobuf::Timestamp ToProto(absl::Time time) {
  const int64_t micros = absl::ToUnixMicros(time);
  constexpr int64_t kMicros = 1'000'000;
  // Rounded down, so that the rest is never negative.
  const int64_t seconds = micros / kMicros - (micros % kMicros < 0 ? 1 : 0);
  google::protobuf::Timestamp proto;
  proto.set_seconds(seconds);
  proto.set_nanos(static_cast<int32_t>((micros - seconds * kMicros) * 1000));
  return proto;
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

std::string BytesOf(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream output(&bytes);
    google::protobuf::io::CodedOutputStream coded(&output);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string EtagOfBytes(absl::string_view bytes) {
  model::ContentHasher hasher;
  hasher.Add(bytes);
  return absl::StrCat("\"", hasher.LongText(), "\"");
}

// The revision is the hash of the rest.
std::string EtagOf(const v1::ModelGraph& proto) {
  return EtagOfBytes(absl::StrCat(proto.revision_id(), "\n",
                                  proto.display_name(), "\n", proto.source(),
                                  "\n", proto.other_weight_source()));
}

std::string EtagOf(const v1::HardwareProfile& proto) {
  return EtagOfBytes(absl::StrCat(
      proto.revision_id(), "\n", proto.display_name(), "\n",
      proto.calibrate_time().seconds(), " ", proto.calibrate_time().nanos()));
}

std::shared_ptr<const GraphEntry> EntryBeneath(
    std::shared_ptr<const model::ModelGraph> graph) {
  auto entry = std::make_shared<GraphEntry>();
  entry->proto = model::GraphToProto(*graph);
  entry->proto.set_etag(EtagOf(entry->proto));
  entry->graph = std::move(graph);
  entry->bytes = entry->proto.ByteSizeLong();
  return entry;
}

std::shared_ptr<const ProfileEntry> EntryBeneath(
    std::shared_ptr<const model::HardwareProfile> profile) {
  auto entry = std::make_shared<ProfileEntry>();
  entry->proto = model::ProfileToProto(*profile);
  entry->proto.set_etag(EtagOf(entry->proto));
  entry->profile = std::move(profile);
  entry->bytes = entry->proto.ByteSizeLong();
  return entry;
}

absl::StatusOr<std::shared_ptr<const GraphEntry>> MakeEntry(
    const std::string& id, v1::ModelGraph said, const GraphEntry* current,
    absl::Time now, model::Violations& violations) {
  ClearOutputOnly(said);
  std::optional<model::ModelGraph> graph =
      model::GraphFromProto(said, id, violations);
  if (!graph.has_value()) return absl::InvalidArgumentError("broken rules");
  auto entry = std::make_shared<GraphEntry>();
  entry->stored = true;
  entry->proto = model::GraphToProto(*graph);
  entry->proto.set_etag(EtagOf(entry->proto));
  SetTimes(CreateTime(current, now), now, entry->proto);
  entry->graph = std::make_shared<const model::ModelGraph>(*std::move(graph));
  entry->bytes = entry->proto.ByteSizeLong();
  return entry;
}

absl::StatusOr<std::shared_ptr<const ProfileEntry>> MakeEntry(
    const std::string& id, v1::HardwareProfile said,
    const ProfileEntry* current, absl::Time now,
    const model::FabricMap& fabrics, model::Violations& violations) {
  ClearOutputOnly(said);
  std::optional<model::HardwareProfile> profile =
      model::ProfileFromProto(said, id, fabrics, violations);
  if (!profile.has_value()) return absl::InvalidArgumentError("broken rules");
  auto entry = std::make_shared<ProfileEntry>();
  entry->stored = true;
  entry->proto = model::ProfileToProto(*profile);
  if (said.has_calibrate_time()) {
    *entry->proto.mutable_calibrate_time() = said.calibrate_time();
  }
  entry->proto.set_etag(EtagOf(entry->proto));
  SetTimes(CreateTime(current, now), now, entry->proto);
  entry->profile =
      std::make_shared<const model::HardwareProfile>(*std::move(profile));
  entry->bytes = entry->proto.ByteSizeLong();
  return entry;
}

StoredResource ToStored(const std::string& id, const GraphEntry& entry) {
  return Stored(StoredKind::kModelGraph, id, entry.proto);
}

StoredResource ToStored(const std::string& id, const ProfileEntry& entry) {
  return Stored(StoredKind::kHardwareProfile, id, entry.proto);
}

std::shared_ptr<const GraphEntry> GraphFromStored(
    const StoredResource& resource) {
  auto entry = std::make_shared<GraphEntry>();
  entry->stored = true;
  model::Violations violations;
  std::optional<model::ModelGraph> graph;
  if (entry->proto.ParseFromString(resource.content)) {
    graph = model::GraphFromProto(entry->proto, resource.id, violations);
    entry->error = violations.ToStatus();
  } else {
    entry->error = Unreadable();
  }
  if (graph.has_value()) {
    entry->proto = model::GraphToProto(*graph);
    entry->graph = std::make_shared<const model::ModelGraph>(*std::move(graph));
  }
  TakeStored(resource, kModelGraphs, entry->proto);
  entry->bytes = entry->proto.ByteSizeLong();
  return entry;
}

std::shared_ptr<const ProfileEntry> ProfileFromStored(
    const StoredResource& resource, const model::FabricMap& fabrics) {
  auto entry = std::make_shared<ProfileEntry>();
  entry->stored = true;
  model::Violations violations;
  std::optional<model::HardwareProfile> profile;
  v1::HardwareProfile content;
  if (content.ParseFromString(resource.content)) {
    profile =
        model::ProfileFromProto(content, resource.id, fabrics, violations);
    entry->error = violations.ToStatus();
  } else {
    entry->error = Unreadable();
  }
  entry->proto = content;
  if (profile.has_value()) {
    entry->proto = model::ProfileToProto(*profile);
    if (content.has_calibrate_time()) {
      *entry->proto.mutable_calibrate_time() = content.calibrate_time();
    }
    entry->profile =
        std::make_shared<const model::HardwareProfile>(*std::move(profile));
  }
  TakeStored(resource, kHardwareProfiles, entry->proto);
  entry->bytes = entry->proto.ByteSizeLong();
  return entry;
}

}  // namespace mansard::server
