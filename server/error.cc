#include "server/error.h"

#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"

namespace mansard::server {
namespace {

constexpr char kTypePrefix[] = "type.googleapis.com/";
// Together below the 8 KB of trailers: the message is sent twice.
constexpr size_t kMaxMessageBytes = 1000;
constexpr size_t kMaxBadRequestBytes = 4000;
constexpr size_t kMaxPreconditionBytes = 2000;
constexpr size_t kMaxMetadataBytes = 200;
constexpr size_t kMaxFieldBytes = 200;
constexpr size_t kMaxDescriptionBytes = 400;
constexpr size_t kMaxQuotedBytes = 80;

template <class Detail>
std::string TypeUrl() {
  return absl::StrCat(kTypePrefix, Detail::descriptor()->full_name());
}

template <class Detail>
void Attach(absl::Status& status, const Detail& detail) {
  status.SetPayload(TypeUrl<Detail>(), absl::Cord(detail.SerializeAsString()));
}

template <class Detail>
std::optional<Detail> DetailOf(const absl::Status& status) {
  const auto payload = status.GetPayload(TypeUrl<Detail>());
  Detail detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return detail;
}

google::rpc::BadRequest ToBadRequest(const model::Violations& violations) {
  google::rpc::BadRequest bad_request;
  size_t bytes = 0;
  for (const model::Violation& violation : violations.all()) {
    google::rpc::BadRequest::FieldViolation shown;
    shown.set_field(Clip(violation.field, kMaxFieldBytes));
    shown.set_description(Clip(violation.description, kMaxDescriptionBytes));
    bytes += shown.ByteSizeLong();
    if (bytes > kMaxBadRequestBytes) break;
    *bad_request.add_field_violations() = std::move(shown);
  }
  const size_t left = violations.all().size() -
                      static_cast<size_t>(bad_request.field_violations_size());
  if (left > 0) {
    bad_request.add_field_violations()->set_description(
        absl::StrCat("and ", left, " more violations"));
  }
  return bad_request;
}

}  // namespace

ErrorBuilder::ErrorBuilder(absl::StatusCode code, absl::string_view reason)
    : code_(code) {
  info_.set_reason(std::string(reason));
  info_.set_domain(kErrorDomain);
}

ErrorBuilder& ErrorBuilder::Message(absl::string_view message) {
  message_ = Clip(message, kMaxMessageBytes);
  return *this;
}

ErrorBuilder& ErrorBuilder::Metadata(absl::string_view key,
                                     absl::string_view value) {
  if (value.empty()) return *this;
  (*info_.mutable_metadata())[std::string(key)] =
      Clip(value, kMaxMetadataBytes);
  return *this;
}

ErrorBuilder& ErrorBuilder::Resource(absl::string_view type,
                                     absl::string_view name) {
  resource_.set_resource_type(std::string(type));
  resource_.set_resource_name(Clip(name, kMaxMetadataBytes));
  resource_.set_description(message_);
  return *this;
}

ErrorBuilder& ErrorBuilder::Precondition(absl::string_view type,
                                         absl::string_view subject,
                                         absl::string_view description) {
  if (precondition_.ByteSizeLong() > kMaxPreconditionBytes) return *this;
  google::rpc::PreconditionFailure::Violation& violation =
      *precondition_.add_violations();
  violation.set_type(std::string(type));
  violation.set_subject(Clip(subject, kMaxFieldBytes));
  violation.set_description(Clip(description, kMaxDescriptionBytes));
  return *this;
}

ErrorBuilder& ErrorBuilder::RetryAfter(absl::Duration delay) {
  const int64_t seconds = absl::IDivDuration(delay, absl::Seconds(1), &delay);
  retry_.mutable_retry_delay()->set_seconds(seconds);
  retry_.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(delay)));
  return *this;
}

absl::Status ErrorBuilder::Build() const {
  absl::Status status(code_, message_);
  Attach(status, info_);
  if (!resource_.resource_type().empty()) Attach(status, resource_);
  if (retry_.has_retry_delay()) Attach(status, retry_);
  if (!precondition_.violations().empty()) Attach(status, precondition_);
  return status;
}

absl::Status InvalidRequest(const model::Violations& violations) {
  absl::Status status =
      ErrorBuilder(absl::StatusCode::kInvalidArgument, "INVALID_REQUEST")
          .Message(violations.ToStatus().message())
          .Metadata("violation_count", absl::StrCat(violations.all().size()))
          .Build();
  Attach(status, ToBadRequest(violations));
  return status;
}

absl::Status AtPath(const absl::Status& error, absl::string_view path) {
  absl::Status status(
      error.code(),
      Clip(absl::StrCat(path, ": ", error.message()), kMaxMessageBytes));
  error.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    status.SetPayload(url, payload);
  });
  google::rpc::ErrorInfo info = ErrorInfoOf(error);
  (*info.mutable_metadata())["request"] = std::string(path);
  Attach(status, info);
  return status;
}

google::rpc::ErrorInfo ErrorInfoOf(const absl::Status& error) {
  if (auto info = DetailOf<google::rpc::ErrorInfo>(error)) return *info;
  google::rpc::ErrorInfo info;
  info.set_reason(absl::StatusCodeToString(error.code()));
  info.set_domain(kErrorDomain);
  return info;
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(Clip(status.message(), kMaxMessageBytes));
  details.add_details()->PackFrom(ErrorInfoOf(status));
  if (auto bad_request = DetailOf<google::rpc::BadRequest>(status)) {
    details.add_details()->PackFrom(*bad_request);
  }
  if (auto resource = DetailOf<google::rpc::ResourceInfo>(status)) {
    details.add_details()->PackFrom(*resource);
  }
  if (auto precondition = DetailOf<google::rpc::PreconditionFailure>(status)) {
    details.add_details()->PackFrom(*precondition);
  }
  if (auto retry = DetailOf<google::rpc::RetryInfo>(status)) {
    details.add_details()->PackFrom(*retry);
  }
  return details;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      details.message(), details.SerializeAsString());
}

std::string Clip(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit < 3 ? 0 : limit - 3;
  // Back over the bytes that continue a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "...");
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Clip(text, kMaxQuotedBytes), "\"");
}

}  // namespace mansard::server
