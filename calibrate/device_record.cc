#include "calibrate/device_record.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::calibrate {
namespace {

// Both edges of the memory clock carry data.
constexpr double kTransfersPerMemoryClock = 2;
constexpr double kBitsPerByte = 8;

// The marketing name of a compute capability, as hardware profiles spell it;
// "sm_75" and the like for one not listed.
std::string Architecture(int major, int minor) {
  if (major == 8 && minor == 0) return "ampere";
  if (major == 8 && minor == 9) return "ada";
  if (major == 9 && minor == 0) return "hopper";
  if (major == 10 || major == 12) return "blackwell";
  return absl::StrCat("sm_", major, minor);
}

// Zero where the driver leaves out clock or width.
double PeakMemoryBandwidth(const DeviceRecord& record) {
  return record.memory_clock_hertz * kTransfersPerMemoryClock *
         record.memory_bus_bits / kBitsPerByte;
}

class FragmentWriter {
 public:
  explicit FragmentWriter(absl::string_view observe_date)
      : observe_date_(observe_date) {}

  void Line(absl::string_view line) { absl::StrAppend(&text_, line, "\n"); }
  void Text(absl::string_view field, absl::string_view value) {
    absl::StrAppend(&text_, field, ": \"", absl::CEscape(value), "\"\n");
  }
  // A SourcedNumber.
  void Measured(absl::string_view field, double value) {
    Number(field, value, "KIND_MEASURED", "CUDA runtime on the device");
  }
  void Derived(absl::string_view field, double value,
               absl::string_view derivation) {
    Number(field, value, "KIND_DERIVED", derivation);
  }
  std::string Take() && { return std::move(text_); }

 private:
  void Number(absl::string_view field, double value, absl::string_view kind,
              absl::string_view source) {
    absl::StrAppendFormat(&text_,
                          "%s {\n"
                          "  value: %.17g\n"
                          "  provenance {\n"
                          "    kind: %s\n"
                          "    source: \"%s\"\n"
                          "    observe_date: \"%s\"\n"
                          "  }\n"
                          "}\n",
                          field, value, kind, source, observe_date_);
  }

  std::string text_;
  const std::string observe_date_;
};

void WriteMemoryLevels(const DeviceRecord& record, FragmentWriter& out) {
  out.Line("memory_levels {");
  out.Text("level", "smem");
  out.Derived("capacity_bytes",
              static_cast<double>(record.smem_bytes_per_multiprocessor) *
                  record.multiprocessor_count,
              "shared memory per multiprocessor x multiprocessors");
  out.Line("}");
  out.Line("memory_levels {");
  out.Text("level", "l2");
  out.Measured("capacity_bytes", static_cast<double>(record.l2_bytes));
  out.Line("}");
  out.Line("memory_levels {");
  out.Text("level", "hbm");
  out.Measured("capacity_bytes", static_cast<double>(record.memory_bytes));
  if (const double peak = PeakMemoryBandwidth(record); peak > 0) {
    out.Derived("bandwidth_bytes_per_second", peak,
                "memory clock x 2 x bus width / 8");
  }
  out.Line("}");
}

void WriteReadBandwidth(const DeviceRecord& record, FragmentWriter& out) {
  const ReadBandwidth& read = *record.read_bandwidth;
  out.Line(absl::StrFormat(
      "# Measured read stream: %.4g bytes/s, median of %d passes over %d "
      "bytes, +-%.2g %%",
      read.median_bytes_per_second, read.repeat_count, read.buffer_bytes,
      read.relative_spread * 100));
  if (const double peak = PeakMemoryBandwidth(record); peak > 0) {
    out.Line(absl::StrFormat("# = %.1f %% of the peak.",
                             read.median_bytes_per_second / peak * 100));
  }
}

}  // namespace

std::string ToTextproto(const DeviceRecord& record,
                        absl::string_view observe_date) {
  FragmentWriter out(observe_date);
  out.Line(absl::StrFormat(
      "# %s, compute capability %d.%d, CUDA %d.%d", absl::CEscape(record.name),
      record.compute_capability_major, record.compute_capability_minor,
      record.cuda_version / 1000, record.cuda_version % 1000 / 10));
  if (record.read_bandwidth.has_value()) WriteReadBandwidth(record, out);
  out.Text("vendor", "NVIDIA");
  out.Text("architecture", Architecture(record.compute_capability_major,
                                        record.compute_capability_minor));
  out.Measured("multiprocessor_count", record.multiprocessor_count);
  out.Measured("clock_hertz", record.clock_hertz);
  WriteMemoryLevels(record, out);
  return std::move(out).Take();
}

}  // namespace mansard::calibrate
