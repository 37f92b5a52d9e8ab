// mansard-calibrate: writes down what the devices at hand are, fits kernel
// families to measured tables, and judges the engine on them.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "calibrate/device_record.h"
#include "calibrate/fit/commands.h"
#include "calibrate/gpu.h"
#include "model/base/status_macros.h"

ABSL_FLAG(bool, bandwidth, false,
          "describe: also measure the read bandwidth of device memory");

ABSL_FLAG(std::vector<std::string>, measured, {},
          "fit, validate: CSV tables of measured matrix products, separated by "
          "commas; further ones may follow as arguments");
ABSL_FLAG(std::string, out, "",
          "fit: folder that the kernel stacks are written to");
ABSL_FLAG(std::string, output, "table", "validate: table or json");
ABSL_FLAG(std::string, hardware, "",
          "validate: hardware profile for all rows; by default each row's own");
ABSL_FLAG(std::string, stack, "",
          "validate: kernel stack for all rows; by default each row's own "
          "engine and version, else the profile's first");
ABSL_FLAG(std::string, tier, "",
          "validate: \"spec\" asks the profile's first stack, whatever is "
          "calibrated");
ABSL_FLAG(bool, fitted_rows, false,
          "validate: also judge the rows that fits saw");

namespace mansard::calibrate {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

// One fragment a visible device, to standard output.
absl::Status Describe(bool with_bandwidth) {
  ASSIGN_OR_RETURN(std::vector<DeviceRecord> records, ReadDevices());
  const std::string today =
      absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  for (size_t device = 0; device < records.size(); ++device) {
    if (with_bandwidth) {
      ASSIGN_OR_RETURN(records[device].read_bandwidth,
                       MeasureReadBandwidth(static_cast<int>(device)));
    }
    std::printf("%s# Device %zu\n%s", device > 0 ? "\n" : "", device,
                ToTextproto(records[device], today).c_str());
  }
  return absl::OkStatus();
}

std::vector<std::string> Tables(const std::vector<char*>& arguments) {
  std::vector<std::string> tables = absl::GetFlag(FLAGS_measured);
  for (size_t i = 2; i < arguments.size(); ++i) tables.push_back(arguments[i]);
  return tables;
}

absl::Status PrintValidation(const std::vector<std::string>& tables) {
  const std::string tier = absl::GetFlag(FLAGS_tier);
  if (!tier.empty() && tier != "spec") {
    return absl::InvalidArgumentError(
        absl::StrCat("--tier: is \"", tier, "\"; allowed: spec"));
  }
  ValidateOptions options;
  options.hardware = absl::GetFlag(FLAGS_hardware);
  options.stack = absl::GetFlag(FLAGS_stack);
  options.spec_tier = tier == "spec";
  options.fitted_rows = absl::GetFlag(FLAGS_fitted_rows);
  ASSIGN_OR_RETURN(const std::string text,
                   RunValidate(tables, options, absl::GetFlag(FLAGS_output)));
  std::printf("%s", text.c_str());
  return absl::OkStatus();
}

int Run(const std::vector<char*>& arguments) {
  const std::string command = arguments.size() > 1 ? arguments[1] : "";
  absl::Status status;
  if (command == "describe" && arguments.size() == 2) {
    status = Describe(absl::GetFlag(FLAGS_bandwidth));
  } else if (command == "fit") {
    status = RunFit(Tables(arguments), absl::GetFlag(FLAGS_out));
  } else if (command == "validate") {
    status = PrintValidation(Tables(arguments));
  } else {
    std::fprintf(stderr,
                 "usage: mansard-calibrate describe [--bandwidth] | fit "
                 "--measured=CSV --out=DIR | validate --measured=CSV\n");
    return kUsage;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "mansard-calibrate: %s\n",
                 std::string(status.message()).c_str());
    return absl::IsInvalidArgument(status) ? kUsage : kFailed;
  }
  return 0;
}

}  // namespace
}  // namespace mansard::calibrate

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "mansard-calibrate describe [--bandwidth]\n"
      "Prints what each visible CUDA device reports, as the text form of a "
      "mansard.v1.Device.\n"
      "mansard-calibrate fit --measured=CSV[,CSV...] --out=DIR\n"
      "Fits GEMM families to measured tables; writes the kernel stacks of each "
      "device.\n"
      "mansard-calibrate validate --measured=CSV[,CSV...] [--output=json]\n"
      "Judges predictions on the rows that no fit saw.");
  return mansard::calibrate::Run(absl::ParseCommandLine(argc, argv));
}
