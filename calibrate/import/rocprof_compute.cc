#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibrate/import/cells.h"
#include "calibrate/import/kernels.h"
#include "calibrate/tables/csv.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Cells = std::vector<std::string>;

constexpr double kLanes = 64;
constexpr double kMatrixOperations = 512;

struct MatrixCounter {
  const char* counter;
  const char* format;
};
constexpr MatrixCounter kMatrixCounters[] = {
    {"SQ_INSTS_VALU_MFMA_MOPS_BF16", "bf16"},
    {"SQ_INSTS_VALU_MFMA_MOPS_F16", "fp16"},
    {"SQ_INSTS_VALU_MFMA_MOPS_F8", "fp8"},
    {"SQ_INSTS_VALU_MFMA_MOPS_I8", "int8"},
    {"SQ_INSTS_VALU_MFMA_MOPS_F32", "fp32"},
    {"SQ_INSTS_VALU_MFMA_MOPS_F64", "fp64"},
    {"SQ_INSTS_VALU_MFMA_MOPS_F6F4", "fp4"},
};

// Counters of one dispatch; columns that are missing, and empty cells, are
// unknown.
class Dispatch {
 public:
  Dispatch(const CsvReader& reader, const Cells& cells)
      : reader_(reader), cells_(cells) {}

  std::string Text(absl::string_view column) const {
    const absl::StatusOr<size_t> at = reader_.Column(column);
    return at.ok() ? cells_[*at] : "";
  }
  std::optional<double> Number(absl::string_view column) const {
    return ReadNumber(Text(column));
  }
  // "x" of some releases, "x_sum" of others.
  std::optional<double> Count(absl::string_view column) const {
    const auto sum = Number(absl::StrCat(column, "_sum"));
    return sum.has_value() ? sum : Number(column);
  }

 private:
  const CsvReader& reader_;
  const Cells& cells_;
};

std::optional<double> VectorWork(const Dispatch& dispatch) {
  std::optional<double> work;
  for (const char* format : {"F16", "F32", "F64"}) {
    constexpr std::pair<const char*, double> kOperations[] = {
        {"ADD", 1}, {"MUL", 1}, {"TRANS", 1}, {"FMA", 2}};
    for (const auto& [operation, count] : kOperations) {
      const auto instructions = dispatch.Number(
          absl::StrCat("SQ_INSTS_VALU_", operation, "_", format));
      if (!instructions.has_value()) continue;
      work = work.value_or(0) + kLanes * count * *instructions;
    }
  }
  return work;
}

void CountMatrixWork(const Dispatch& dispatch, MeasuredKernel& kernel) {
  double most = 0;
  for (const MatrixCounter& counter : kMatrixCounters) {
    const auto count = dispatch.Number(counter.counter);
    if (!count.has_value()) continue;
    const double work = kMatrixOperations * *count;
    kernel.counts.tensor_flops = kernel.counts.tensor_flops.value_or(0) + work;
    if (work <= most) continue;
    most = work;
    kernel.tensor_format = counter.format;
  }
}

// Requests of 32, 64 and, on MI300, 128 bytes. Its counters have a 0 in their
// names.
std::optional<double> MemoryBytes(const Dispatch& dispatch) {
  for (const char* unit : {"TCC_EA0", "TCC_EA"}) {
    const auto reads = dispatch.Count(absl::StrCat(unit, "_RDREQ"));
    const auto small = dispatch.Count(absl::StrCat(unit, "_RDREQ_32B"));
    const auto writes = dispatch.Count(absl::StrCat(unit, "_WRREQ"));
    const auto wide = dispatch.Count(absl::StrCat(unit, "_WRREQ_64B"));
    if (!reads || !small || !writes || !wide) continue;
    const double large = dispatch.Count("TCC_BUBBLE").value_or(0);
    return 128 * large + 64 * (*reads - *small - large) + 32 * *small +
           64 * *wide + 32 * (*writes - *wide);
  }
  return std::nullopt;
}

// 64 bytes a request of the vector caches, as the tool's own roofline has it.
std::optional<double> CacheBytes(const Dispatch& dispatch) {
  const auto reads = dispatch.Count("TCP_TCC_READ_REQ");
  const auto writes = dispatch.Count("TCP_TCC_WRITE_REQ");
  if (!reads || !writes) return std::nullopt;
  const double atomics =
      dispatch.Count("TCP_TCC_ATOMIC_WITH_RET_REQ").value_or(0) +
      dispatch.Count("TCP_TCC_ATOMIC_WITHOUT_RET_REQ").value_or(0);
  return 64 * (*reads + *writes + atomics);
}

absl::StatusOr<MeasuredKernel> KernelOf(const Dispatch& dispatch) {
  MeasuredKernel kernel;
  kernel.name = dispatch.Text("Kernel_Name");
  if (kernel.name.empty()) kernel.name = dispatch.Text("KernelName");
  kernel.grid = dispatch.Text("Grid_Size");
  kernel.block = dispatch.Text("Workgroup_Size");
  auto begin = dispatch.Number("Start_Timestamp");
  auto end = dispatch.Number("End_Timestamp");
  if (!begin) begin = dispatch.Number("BeginNs");
  if (!end) end = dispatch.Number("EndNs");
  if (begin.has_value() && end.has_value()) {
    if (*end < *begin) {
      return absl::InvalidArgumentError(
          absl::StrCat(kernel.name, ": ends before it begins"));
    }
    kernel.counts.seconds = (*end - *begin) * 1e-9;
  }
  CountMatrixWork(dispatch, kernel);
  kernel.counts.vector_flops = VectorWork(dispatch);
  kernel.counts.hbm_bytes = MemoryBytes(dispatch);
  kernel.counts.l2_bytes = CacheBytes(dispatch);
  if (const auto lines = dispatch.Count("TCP_TOTAL_CACHE_ACCESSES")) {
    kernel.counts.l1_bytes = 64 * *lines;
  }
  return kernel;
}

}  // namespace

absl::StatusOr<ProfiledKernels> ReadRocprofCompute(absl::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  CsvReader reader(text);
  if (!reader.Column("Kernel_Name").ok() && !reader.Column("KernelName").ok()) {
    return absl::InvalidArgumentError(
        "has no column Kernel_Name in its first line; import pmc_perf.csv");
  }
  std::vector<MeasuredKernel> kernels;
  Cells cells;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
    if (!more) break;
    ASSIGN_OR_RETURN(MeasuredKernel kernel, KernelOf(Dispatch(reader, cells)));
    kernels.push_back(std::move(kernel));
  }
  return GroupLaunches(std::move(kernels), {});
}

}  // namespace mansard::calibrate
