// mansard-calibrate: writes down what the devices at hand are, measures them,
// and fits kernel families to measured tables.
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
#include "calibrate/import/commands.h"
#include "calibrate/refresh/commands.h"
#include "calibrate/revision/calibration_text.h"
#include "calibrate/revision/commands.h"
#include "calibrate/serving/commands.h"
#include "model/base/status_macros.h"

ABSL_FLAG(bool, bandwidth, false,
          "describe: also measure the read bandwidth of device memory");

ABSL_FLAG(std::vector<std::string>, measured, {},
          "fit: CSV tables of measured kernels, separated by "
          "commas; further ones may follow as arguments");
ABSL_FLAG(std::string, out, "",
          "fit: folder that the kernel stacks are written to; run: folder of "
          "the record and the profile; prove: of the record of a device; "
          "import: file, else standard output");
ABSL_FLAG(std::string, backend, "",
          "run, prove: what is measured: cpu, cuda; empty is cpu for prove");
ABSL_FLAG(absl::Duration, budget, absl::Minutes(10),
          "run: how long measuring may take");
ABSL_FLAG(
    std::string, hardware, "",
    "fit: only the stacks of this hardware profile; import: what the tool "
    "ran on");
ABSL_FLAG(std::string, stack, "",
          "fit: only this stack; import: the one that --ops are priced "
          "on; diff: only this stack, and no device");
ABSL_FLAG(std::string, plan, "",
          "fit: only families whose names of fits begin so, as \"gemm bf16\"");

ABSL_FLAG(std::string, format, "",
          "import: the tool, where its output does not tell: nvbandwidth, "
          "nccl-tests, ib_write_bw, ncu, rocprof-compute, cutlass, "
          "torch-profiler");
ABSL_FLAG(std::string, link, "",
          "import of nccl-tests: within a node, as \"NVLink4\"; by default as "
          "the hardware has it");
ABSL_FLAG(std::string, operation, "",
          "import of nccl-tests that do not name it: all_reduce, all_gather, "
          "reduce_scatter, alltoall, send_recv");
ABSL_FLAG(std::string, engine, "",
          "import of cutlass and torch-profiler: whose kernels they are: vLLM, "
          "SGLang, TensorRT-LLM");
ABSL_FLAG(std::string, engine_version, "", "import: of the engine");
ABSL_FLAG(std::string, date, "",
          "import: when it was measured, as 2026-11-30; by default the file's");
ABSL_FLAG(std::string, ops, "",
          "import of ncu and rocprof-compute: CSV of kernels and their ops");
ABSL_FLAG(std::string, svg, "",
          "import of ncu and rocprof-compute: file for the roofline");

ABSL_FLAG(std::string, output, "text", "diff: text or json");

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

RunOptions RunFlags() {
  return {.backend = absl::GetFlag(FLAGS_backend),
          .directory = absl::GetFlag(FLAGS_out),
          .budget_seconds = absl::ToDoubleSeconds(absl::GetFlag(FLAGS_budget))};
}

absl::Status Import(const std::string& input) {
  return RunImport({.input = input,
                    .out = absl::GetFlag(FLAGS_out),
                    .ops = absl::GetFlag(FLAGS_ops),
                    .svg = absl::GetFlag(FLAGS_svg)},
                   {.format = absl::GetFlag(FLAGS_format),
                    .hardware = absl::GetFlag(FLAGS_hardware),
                    .link = absl::GetFlag(FLAGS_link),
                    .operation = absl::GetFlag(FLAGS_operation),
                    .engine = absl::GetFlag(FLAGS_engine),
                    .engine_version = absl::GetFlag(FLAGS_engine_version),
                    .stack = absl::GetFlag(FLAGS_stack),
                    .date = absl::GetFlag(FLAGS_date)});
}

// Exits as diff does: 0 where nothing changed, 1 where something did, 2 for
// trouble.
int Diff(const std::string& a, const std::string& b) {
  constexpr int kChanged = 1;
  constexpr int kTrouble = 2;
  const absl::StatusOr<bool> changed =
      RunDiff({.a = a,
               .b = b,
               .stack = absl::GetFlag(FLAGS_stack),
               .hardware = absl::GetFlag(FLAGS_hardware),
               .output = absl::GetFlag(FLAGS_output)});
  if (changed.ok()) return *changed ? kChanged : 0;
  std::fprintf(stderr, "mansard-calibrate: %s\n",
               std::string(changed.status().message()).c_str());
  return kTrouble;
}

int Run(const std::vector<char*>& arguments) {
  const std::string command = arguments.size() > 1 ? arguments[1] : "";
  if (command == "diff" && arguments.size() == 4) {
    return Diff(arguments[2], arguments[3]);
  }
  absl::Status status;
  if (command == "describe" && arguments.size() == 2) {
    status = Describe(absl::GetFlag(FLAGS_bandwidth));
  } else if (command == "served") {
    status = RunServedReport(Tables(arguments));
  } else if (command == "fit") {
    const absl::StatusOr<bool> served = AreServingTables(Tables(arguments));
    status = !served.ok() ? served.status()
             : *served
                 ? RunServedFit(Tables(arguments), absl::GetFlag(FLAGS_out))
                 : RunFit(Tables(arguments), absl::GetFlag(FLAGS_out),
                          {.hardware = absl::GetFlag(FLAGS_hardware),
                           .stack = absl::GetFlag(FLAGS_stack),
                           .plan = absl::GetFlag(FLAGS_plan)});
  } else if (command == "run" && arguments.size() == 2) {
    status = RunCalibration(RunFlags());
    if (status.ok()) {
      status =
          WriteCalibration(absl::GetFlag(FLAGS_out), kRecordFile, kProfileFile);
    }
  } else if (command == "prove" && arguments.size() == 2) {
    RunOptions options = RunFlags();
    if (options.backend.empty()) options.backend = "cpu";
    status = RunProofCommand(options);
  } else if (command == "import" && arguments.size() == 3) {
    status = Import(arguments[2]);
  } else {
    std::fprintf(stderr,
                 "usage: mansard-calibrate describe [--bandwidth] | fit "
                 "--measured=CSV --out=DIR | served --measured=CSV | run "
                 "--backend=cpu|cuda --out=DIR [--budget=10m] | prove "
                 "[--backend=cpu|cuda] | import FILE [--hardware=ID] "
                 "[--out=FILE] | diff A B [--output=json]\n");
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
      "Fits kernel families to measured tables; writes the kernel stacks of "
      "each device; of served runs, those of engines as they serve.\n"
      "mansard-calibrate served --measured=CSV[,CSV...]\n"
      "Prints how right such stacks are on runs that their fit did not see.\n"
      "mansard-calibrate run --backend=cpu|cuda --out=DIR [--budget=10m]\n"
      "Measures the host processor or the visible CUDA devices; writes the "
      "record of every sample, the profile that follows from it, and both for "
      "mansard calibration apply. Goes on where a run was cut short.\n"
      "mansard-calibrate prove [--backend=cpu|cuda] [--out=DIR]\n"
      "Measures the host processor, predicts a transformer layer, runs it and "
      "compares; of a CUDA device, products and attention of shapes that the "
      "fit did not see.\n"
      "mansard-calibrate import FILE [--hardware=ID] [--format=TOOL] "
      "[--out=FILE] [--ops=CSV] [--svg=FILE]\n"
      "What other tools have measured: rows that fit reads (nccl-tests, "
      "CUTLASS "
      "profiler, torch.profiler), links of a fabric (nvbandwidth, "
      "ib_write_bw), "
      "kernels on the roofline (ncu, rocprof-compute).\n"
      "mansard-calibrate diff A B [--hardware=ID] [--output=json]\n"
      "What changed from one revision of a profile or stack to another; exits "
      "0 "
      "where nothing did, 1 where something did, 2 for trouble.");
  return mansard::calibrate::Run(absl::ParseCommandLine(argc, argv));
}
