// `mansard status` and `mansard version`.
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/output/report.h"
#include "clients/cli/version.h"
#include "google/protobuf/wrappers.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace mansard::cli {
namespace {

constexpr const char* kServices[] = {
    "mansard.v1.EstimationService", "mansard.v1.CatalogService",
    "mansard.v1.CalibrationService", "mansard.v1.PlanningService"};
constexpr char kServing[] = "SERVING";

struct ServiceHealth {
  std::string service;
  std::string status;
};

struct EngineStatus {
  std::string version;
  std::vector<ServiceHealth> services;
  int model_count = 0;
  int hardware_count = 0;
  double round_trip_seconds = 0;
};

std::string HealthName(int status) {
  // grpc.health.v1.HealthCheckResponse.ServingStatus.
  constexpr const char* kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING",
                                    "SERVICE_UNKNOWN"};
  return status >= 0 && status < 4 ? kNames[status]
                                   : absl::StrCat("status ", status);
}

// grpc.health.v1.Health.Check. Its request is one string with tag 1 and its
// response one enum with tag 1: on the wire the same as these wrappers.
absl::StatusOr<std::string> CheckHealth(const Session& session,
                                        const std::string& service) {
  using Stub = grpc::TemplatedGenericStub<google::protobuf::StringValue,
                                          google::protobuf::Int32Value>;
  Stub stub(session.client().channel());
  const auto context = session.client().NewContext();
  google::protobuf::StringValue request;
  request.set_value(service);
  google::protobuf::Int32Value response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(
      context.get(), "/grpc.health.v1.Health/Check", grpc::StubOptions(),
      &request, &response,
      [&done](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  if (status.error_code() == grpc::NOT_FOUND) return HealthName(3);
  if (status.error_code() == grpc::UNIMPLEMENTED) return HealthName(0);
  if (!status.ok()) return FromServer(status, session.server());
  return HealthName(response.value());
}

absl::StatusOr<EngineStatus> ReadStatus(const Session& session) {
  EngineStatus engine;
  bool serving = true;
  for (const char* service : kServices) {
    const absl::StatusOr<std::string> health = CheckHealth(session, service);
    if (!health.ok()) return health.status();
    engine.services.push_back({service, *health});
    serving = serving && *health == kServing;
  }
  if (!serving) return engine;
  v1::ServerInfo info;
  const absl::Time start = absl::Now();
  absl::Status status = session.Call(session.client().catalog(),
                                     &v1::CatalogService::Stub::GetServerInfo,
                                     v1::GetServerInfoRequest(), &info);
  if (!status.ok()) return status;
  engine.round_trip_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  engine.version = info.server_version();
  engine.model_count = info.model_graph_count();
  engine.hardware_count = info.hardware_profile_count();
  return engine;
}

std::string StatusJson(const EngineStatus& engine, const std::string& server) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 1);
  writer.StartObject();
  writer.Key("server");
  writer.String(server.c_str());
  writer.Key("client_version");
  writer.String(ClientVersion().c_str());
  writer.Key("server_version");
  writer.String(engine.version.c_str());
  writer.Key("services");
  writer.StartArray();
  for (const ServiceHealth& health : engine.services) {
    writer.StartObject();
    writer.Key("service");
    writer.String(health.service.c_str());
    writer.Key("status");
    writer.String(health.status.c_str());
    writer.EndObject();
  }
  writer.EndArray();
  writer.Key("model_graph_count");
  writer.Int(engine.model_count);
  writer.Key("hardware_profile_count");
  writer.Int(engine.hardware_count);
  writer.Key("round_trip_seconds");
  writer.Double(engine.round_trip_seconds);
  writer.EndObject();
  return absl::StrCat(buffer.GetString(), "\n");
}

Report HealthReport(const EngineStatus& engine) {
  Report report{{{"service", Unit::kNone, Align::kLeft},
                 {"health", Unit::kNone, Align::kLeft}},
                {}};
  for (const ServiceHealth& health : engine.services) {
    report.rows.push_back(
        {Text(health.service),
         Text(health.status,
              health.status == kServing ? Tone::kGood : Tone::kBad)});
  }
  return report;
}

std::string StatusText(const EngineStatus& engine, const std::string& server,
                       const Style& style) {
  std::string out = absl::StrFormat(
      "%-12s%s\n%-12s%s (this program: %s)\n", "server", server, "version",
      engine.version.empty() ? "-" : engine.version, ClientVersion());
  absl::StrAppendFormat(&out, "%-12s%d models, %d hardware profiles\n",
                        "catalog", engine.model_count, engine.hardware_count);
  absl::StrAppendFormat(
      &out, "%-12s%s\n\n", "round trip",
      engine.round_trip_seconds > 0
          ? absl::StrCat(WithUnit(engine.round_trip_seconds, Unit::kSeconds),
                         " a call")
          : "-");
  return out + TableText(HealthReport(engine), style);
}

}  // namespace

absl::StatusOr<Answer> RunStatus(const Session& session,
                                 const Arguments& arguments,
                                 const Style& style) {
  const absl::StatusOr<EngineStatus> engine = ReadStatus(session);
  if (!engine.ok()) return engine.status();
  const std::string server = session.embedded() ? "embedded" : session.server();
  Answer answer;
  if (arguments.output == OutputFormat::kJson) {
    answer.out = StatusJson(*engine, server);
  } else if (arguments.output == OutputFormat::kCsv) {
    answer.out = CsvText(HealthReport(*engine));
  } else {
    answer.out = StatusText(*engine, server, style);
  }
  for (const ServiceHealth& health : engine->services) {
    if (health.status != kServing) answer.code = ExitCode::kFailed;
  }
  return answer;
}

absl::StatusOr<Answer> RunVersion(const Arguments& arguments) {
  const std::string version = ClientVersion();
  return Answer{
      .out = arguments.output == OutputFormat::kJson
                 ? absl::StrCat("{\n \"version\": \"", version, "\"\n}\n")
                 : absl::StrCat("mansard ", version, "\n")};
}

}  // namespace mansard::cli
