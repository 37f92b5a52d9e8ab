// Bytes as the output of every measuring tool: an error says what is wrong, and
// what is accepted is read by those it is made for.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/import/commands.h"
#include "calibrate/import/tool_output.h"
#include "calibrate/tables/csv.h"
#include "calibrate/tables/tables.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "mansard/v1/catalog.pb.h"
#include "model/io/profile_io.h"
#include "model/io/shipped.h"
#include "tests/fuzz/property.h"

namespace {

namespace calibrate = ::mansard::calibrate;
namespace fuzz = ::mansard::fuzz;
namespace model = ::mansard::model;
using calibrate::ToolFormat;

const model::ShippedData& Data() {
  static const model::ShippedData& data = *new model::ShippedData([] {
    absl::StatusOr<model::ShippedData> shipped = model::LoadShippedData();
    fuzz::Require(shipped.ok(), "the shipped data loads", shipped.status());
    return *std::move(shipped);
  }());
  return data;
}

void RequireRows(const std::string& table) {
  const auto rows = calibrate::ReadMeasured(table);
  fuzz::Require(rows.ok(), "rows are those of a table", rows.status());
  for (const calibrate::MeasuredCase& row : *rows) {
    fuzz::Require(row.measured.value() > 0, "a row has a time", table);
  }
}

// The domain may refuse numbers that no link has; it must not fail to read.
void RequireFabric(const std::string& text) {
  mansard::v1::Fabric fabric;
  fuzz::Require(google::protobuf::TextFormat::ParseFromString(text, &fabric) &&
                    fabric.links_size() > 0,
                "links are a fabric's", text);
  for (const mansard::v1::Link& link : fabric.links()) {
    const double rate = link.bandwidth_bytes_per_second().value();
    fuzz::Require(rate > 0, "a link has a bandwidth", text);
  }
  model::Violations violations;
  model::FabricFromProto(fabric, violations);
}

void RequireTable(const std::string& table) {
  calibrate::CsvReader reader(table);
  std::vector<std::string> cells;
  size_t rows = 0;
  while (true) {
    const absl::StatusOr<bool> more = reader.Next(cells);
    fuzz::Require(more.ok(), "the kernels are a table", more.status());
    if (!*more) break;
    ++rows;
  }
  fuzz::Require(rows > 0, "the table has kernels", table);
}

void Import(const std::string& text, ToolFormat format) {
  const bool kernels = format == ToolFormat::kNsightCompute ||
                       format == ToolFormat::kRocprofCompute;
  calibrate::ImportOptions options;
  options.format = std::string(calibrate::ToolFormatName(format));
  options.hardware = "h200-sxm";
  options.source = "fuzz";
  options.date = "2026-11-30";
  if (kernels) options.ops = "kernel,op\ne,gemm m=16 n=4096 k=4096\n";
  if (format == ToolFormat::kNcclTests) options.operation = "all_reduce";
  for (const bool draws : {false, true}) {
    if (draws && !kernels) continue;
    options.draws = draws;
    const auto result = calibrate::ImportText(text, options, Data());
    if (!result.ok()) {
      fuzz::Require(absl::IsInvalidArgument(result.status()) ||
                        absl::IsFailedPrecondition(result.status()),
                    "an error is of the input", result.status());
      fuzz::Require(!result.status().message().empty(), "an error says why",
                    result.status());
      continue;
    }
    if (kernels) {
      RequireTable(result->imported.text);
    } else if (format == ToolFormat::kNvbandwidth ||
               format == ToolFormat::kPerftest) {
      RequireFabric(result->imported.text);
    } else {
      RequireRows(result->imported.text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const ToolFormat format : calibrate::kToolFormats) Import(text, format);
  // Whatever it is, it is told or refused.
  const auto detected = calibrate::DetectToolFormat(text);
  fuzz::Require(detected.ok() || absl::IsInvalidArgument(detected.status()),
                "an error is of the input", detected.status());
  return 0;
}
