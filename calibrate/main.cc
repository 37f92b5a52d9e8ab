// mansard-calibrate: writes down what the devices at hand are.
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
#include "calibrate/gpu.h"
#include "model/base/status_macros.h"

ABSL_FLAG(bool, bandwidth, false,
          "describe: also measure the read bandwidth of device memory");

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

int Run(const std::vector<char*>& arguments) {
  if (arguments.size() != 2 || std::string(arguments[1]) != "describe") {
    std::fprintf(stderr, "usage: mansard-calibrate describe [--bandwidth]\n");
    return kUsage;
  }
  const absl::Status status = Describe(absl::GetFlag(FLAGS_bandwidth));
  if (!status.ok()) {
    std::fprintf(stderr, "mansard-calibrate: %s\n",
                 std::string(status.message()).c_str());
    return kFailed;
  }
  return 0;
}

}  // namespace
}  // namespace mansard::calibrate

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "mansard-calibrate describe [--bandwidth]\n"
      "Prints what each visible CUDA device reports, as the text form of a "
      "mansard.v1.Device.");
  return mansard::calibrate::Run(absl::ParseCommandLine(argc, argv));
}
