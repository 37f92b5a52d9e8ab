// Bytes as a data file of each kind: an error names the file, and what is
// accepted survives a round trip.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "model/io/shipped.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/round_trip.h"

namespace {

namespace fuzz = ::mansard::fuzz;
namespace model = ::mansard::model;

constexpr char kId[] = "fuzz";
// What the seeds name; copied for every input, so not all that is shipped.
constexpr char kFabric[] = "pcie4-200g";

model::FabricMap OneFabric() {
  const absl::StatusOr<model::ShippedData> shipped = model::LoadShippedData();
  fuzz::Require(shipped.ok(), "the shipped data loads", shipped.status());
  return {{kFabric, shipped->fabrics.at(kFabric)}};
}

// Whether the file was accepted.
bool Accepted(const model::DataFiles& files, const std::string& path,
              model::ShippedData& data) {
  const absl::Status status = model::AddData(files, data);
  fuzz::Require(
      status.ok() || status.code() == absl::StatusCode::kFailedPrecondition,
      "an error is FAILED_PRECONDITION", status);
  fuzz::Require(status.ok() || absl::StartsWith(status.message(), path),
                "an error names the file", status);
  return status.ok();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // Every input that is not UTF-8 would be a line.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const model::FabricMap& fabrics = *new model::FabricMap(OneFabric());
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto path = [](const char* folder) {
    return absl::StrCat(folder, "/", kId, ".textproto");
  };
  model::ShippedData data{.graphs = {}, .profiles = {}, .fabrics = fabrics};

  const std::string hardware = path("hardware");
  if (Accepted({.fabrics = {}, .hardware = {{hardware, text}}, .models = {}},
               hardware, data)) {
    fuzz::RequireRoundTrip(*data.profiles.at(kId), kId, fabrics);
  }
  const std::string graph = path("models");
  if (Accepted({.fabrics = {}, .hardware = {}, .models = {{graph, text}}},
               graph, data)) {
    fuzz::RequireRoundTrip(*data.graphs.at(kId), kId);
  }
  const std::string fabric = path("fabrics");
  if (Accepted({.fabrics = {{fabric, text}}, .hardware = {}, .models = {}},
               fabric, data)) {
    fuzz::RequireRoundTrip(data.fabrics.at(kId));
  }
  return 0;
}
