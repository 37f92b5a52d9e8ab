#include "tests/support/raw_calls.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/rpc_method.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mansard::testing {
namespace {

using grpc::internal::RpcMethod;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return "";
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// HealthCheckRequest: field 1, the service's name (shorter than 128 bytes).
grpc::ByteBuffer HealthRequest(const std::string& service) {
  std::string bytes;
  if (!service.empty()) {
    bytes = {'\x0A', static_cast<char>(service.size())};
    bytes += service;
  }
  return ToBuffer(bytes);
}

// HealthCheckResponse: field 1, an enum.
Serving ServingOf(const grpc::ByteBuffer& response) {
  const std::string bytes = ToString(response);
  return bytes.size() == 2 && bytes[0] == '\x08'
             ? static_cast<Serving>(bytes[1])
             : Serving::kUnknown;
}

std::chrono::system_clock::time_point InSeconds(int seconds) {
  return std::chrono::system_clock::now() + std::chrono::seconds(seconds);
}

}  // namespace

std::optional<Serving> CheckHealth(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& service,
    grpc::Status* status) {
  grpc::ClientContext context;
  context.set_deadline(InSeconds(10));
  const RpcMethod method("/grpc.health.v1.Health/Check", RpcMethod::NORMAL_RPC,
                         channel);
  grpc::ByteBuffer response;
  const grpc::Status result = grpc::internal::BlockingUnaryCall(
      channel.get(), method, &context, HealthRequest(service), &response);
  if (status != nullptr) *status = result;
  if (!result.ok()) return std::nullopt;
  return ServingOf(response);
}

HealthWatch::HealthWatch(std::shared_ptr<grpc::Channel> channel,
                         const std::string& service)
    : channel_(std::move(channel)) {
  context_.set_deadline(InSeconds(60));
  const RpcMethod method("/grpc.health.v1.Health/Watch",
                         RpcMethod::SERVER_STREAMING, channel_);
  reader_.reset(grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
      channel_.get(), method, &context_, HealthRequest(service)));
}

HealthWatch::~HealthWatch() {
  context_.TryCancel();
  reader_->Finish();
}

std::optional<Serving> HealthWatch::Next() {
  grpc::ByteBuffer response;
  if (!reader_->Read(&response)) return std::nullopt;
  return ServingOf(response);
}

std::vector<std::string> ReflectedServices(
    const std::shared_ptr<grpc::Channel>& channel) {
  using Stream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  grpc::ClientContext context;
  context.set_deadline(InSeconds(10));
  const RpcMethod method(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      RpcMethod::BIDI_STREAMING, channel);
  const std::unique_ptr<Stream> stream(
      grpc::internal::ClientReaderWriterFactory<
          grpc::ByteBuffer, grpc::ByteBuffer>::Create(channel.get(), method,
                                                      &context));
  // ServerReflectionRequest: field 7 list_services, "*".
  stream->Write(ToBuffer("\x3A\x01*"));
  stream->WritesDone();
  grpc::ByteBuffer answer;
  const bool answered = stream->Read(&answer);
  stream->Finish();
  if (!answered) return {};

  // The library that serves reflection holds its messages.
  using google::protobuf::Message;
  const auto* type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
          "grpc.reflection.v1alpha.ServerReflectionResponse");
  if (type == nullptr) return {};
  const std::unique_ptr<Message> response(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(type)
          ->New());
  if (!response->ParseFromString(ToString(answer))) return {};
  const Message& list = response->GetReflection()->GetMessage(
      *response, type->FindFieldByName("list_services_response"));
  const auto* services = list.GetDescriptor()->FindFieldByName("service");
  std::vector<std::string> names;
  for (int i = 0; i < list.GetReflection()->FieldSize(list, services); ++i) {
    const Message& service =
        list.GetReflection()->GetRepeatedMessage(list, services, i);
    names.push_back(service.GetReflection()->GetString(
        service, service.GetDescriptor()->FindFieldByName("name")));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mansard::testing
