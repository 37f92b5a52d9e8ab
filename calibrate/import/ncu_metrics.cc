#include "calibrate/import/ncu_metrics.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mansard::calibrate {
namespace {

constexpr char kTime[] = "gpu__time_duration.sum";
// As the details page calls it.
constexpr char kTimeLabel[] = "Duration";
constexpr char kTensor[] = "sm__ops_path_tensor_";
// Of multiprocessors, or of their quarters.
constexpr const char* kTensorPipes[] = {"sm__inst_executed_pipe_tensor",
                                        "smsp__inst_executed_pipe_tensor"};
constexpr char kThreads[] = "smsp__sass_thread_inst_executed_op_";

// Operations of one instruction of one thread. Packed ones hold two.
struct Instruction {
  const char* name;
  double operations;
};
constexpr Instruction kInstructions[] = {
    {"fadd", 1}, {"fmul", 1},  {"ffma", 2},  {"dadd", 1},
    {"dmul", 1}, {"dfma", 2},  {"hadd", 1},  {"hmul", 1},
    {"hfma", 2}, {"fadd2", 2}, {"fmul2", 2}, {"ffma2", 4},
};

// Values by what they count, from whichever form was collected.
class Amounts {
 public:
  explicit Amounts(const NcuMetrics& metrics) : metrics_(metrics) {}

  std::optional<double> Value(const std::string& metric) const {
    const auto found = metrics_.find(metric);
    if (found == metrics_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<double> Seconds() const {
    const std::optional<double> time = Value(kTime);
    return time.has_value() ? time : Value(kTimeLabel);
  }

  // Of the whole launch: the sum, else a rate times what it is a rate of.
  std::optional<double> Sum(const std::string& base) const {
    if (const auto sum = Value(absl::StrCat(base, ".sum"))) return sum;
    const std::optional<double> seconds = Seconds();
    if (const auto rate = Value(absl::StrCat(base, ".sum.per_second"));
        rate.has_value() && seconds.has_value()) {
      return *rate * *seconds;
    }
    const auto rate = Value(absl::StrCat(base, ".sum.per_cycle_elapsed"));
    const std::optional<double> cycles = Cycles(base);
    if (rate.has_value() && cycles.has_value()) return *rate * *cycles;
    return std::nullopt;
  }

 private:
  // Elapsed, of the clock that the metric counts by.
  std::optional<double> Cycles(const std::string& base) const {
    const std::string unit = base.substr(0, base.find("__"));
    for (const char* form : {".max", ".avg"}) {
      const auto cycles = Value(absl::StrCat(unit, "__cycles_elapsed", form));
      if (cycles.has_value()) return cycles;
    }
    const auto clock =
        Value(absl::StrCat(unit, "__cycles_elapsed.avg.per_second"));
    const std::optional<double> seconds = Seconds();
    if (!clock.has_value() || !seconds.has_value()) return std::nullopt;
    return *clock * *seconds;
  }

  const NcuMetrics& metrics_;
};

// The metric without its form: "x.sum.per_second" -> "x".
std::string BaseOf(const std::string& metric) {
  return metric.substr(0, metric.find('.'));
}

// What one of the tensor metrics counts.
struct TensorWork {
  std::set<std::string> sources;  // "bf16".
  std::string result;             // "fp32"; empty: any.
  std::string kind;               // "hmma" of one instruction; empty: all.
  std::string sparsity;           // "on", "off"; empty: both.
  double operations = 0;
};

TensorWork WorkOf(absl::string_view base) {
  TensorWork work;
  const std::vector<std::string> words =
      absl::StrSplit(absl::StripPrefix(base, kTensor), '_');
  std::string* value = nullptr;
  bool sources = false;
  for (const std::string& word : words) {
    if (word == "src") {
      sources = true;
      value = nullptr;
    } else if (word == "dst" || word == "op" || word == "sparsity") {
      sources = false;
      value = word == "dst"  ? &work.result
              : word == "op" ? &work.kind
                             : &work.sparsity;
    } else if (sources) {
      work.sources.insert(word);
    } else if (value != nullptr) {
      *value = word;
    }
  }
  return work;
}

// Whether `whole` holds what `part` counts. A metric that holds another has no
// less; disjoint ones with names alike may.
bool Holds(const TensorWork& whole, const TensorWork& part) {
  const auto covers = [](const std::string& outer, const std::string& inner) {
    return outer.empty() || outer == inner;
  };
  return whole.operations >= part.operations &&
         std::includes(whole.sources.begin(), whole.sources.end(),
                       part.sources.begin(), part.sources.end()) &&
         covers(whole.result, part.result) && covers(whole.kind, part.kind) &&
         covers(whole.sparsity, part.sparsity);
}

void CountTensorInstructions(const Amounts& amounts, NcuLaunch& launch) {
  // As the tool's own section of before it counted operations.
  constexpr double kOperations = 512;
  for (const char* pipe : kTensorPipes) {
    const auto instructions = amounts.Sum(pipe);
    if (!instructions.has_value()) continue;
    launch.counts.tensor_flops = kOperations * *instructions;
    launch.counts_pipe = *instructions > 0;
    if (launch.counts_pipe) launch.tensor_format = "fp16";
    return;
  }
}

void CountTensorWork(const NcuMetrics& metrics, const Amounts& amounts,
                     NcuLaunch& launch) {
  std::set<std::string> bases;
  for (const auto& [metric, value] : metrics) {
    if (absl::StartsWith(metric, kTensor)) {
      bases.insert(BaseOf(metric));
    }
  }
  std::vector<TensorWork> works;
  for (const std::string& base : bases) {
    const std::optional<double> sum = amounts.Sum(base);
    if (!sum.has_value()) continue;
    works.push_back(WorkOf(base));
    works.back().operations = *sum;
  }
  if (works.empty()) {
    CountTensorInstructions(amounts, launch);
    return;
  }
  double total = 0;
  double most = 0;
  for (size_t i = 0; i < works.size(); ++i) {
    const bool held =
        std::any_of(works.begin(), works.end(), [&](const TensorWork& other) {
          const auto at = static_cast<size_t>(&other - works.data());
          // Of two that hold each other the first counts.
          return at != i && Holds(other, works[i]) &&
                 !(Holds(works[i], other) && i < at);
        });
    if (held) continue;
    total += works[i].operations;
    if (works[i].operations <= most || works[i].sources.empty()) continue;
    most = works[i].operations;
    launch.tensor_format = *works[i].sources.begin();
  }
  launch.counts.tensor_flops = total;
}

void CountVectorWork(const Amounts& amounts, NcuLaunch& launch) {
  for (const Instruction& instruction : kInstructions) {
    const auto count =
        amounts.Sum(absl::StrCat(kThreads, instruction.name, "_pred_on"));
    if (!count.has_value()) continue;
    launch.counts.vector_flops = launch.counts.vector_flops.value_or(0) +
                                 instruction.operations * *count;
  }
}

void CountBytes(const Amounts& amounts, NcuLaunch& launch) {
  KernelCounts& counts = launch.counts;
  counts.hbm_bytes = amounts.Sum("dram__bytes");
  if (!counts.hbm_bytes.has_value()) {
    const auto read = amounts.Sum("dram__bytes_read");
    const auto written = amounts.Sum("dram__bytes_write");
    if (read.has_value() && written.has_value()) {
      counts.hbm_bytes = *read + *written;
    }
  }
  counts.l2_bytes = amounts.Sum("l1tex__m_xbar2l1tex_read_bytes");
  if (!counts.l2_bytes.has_value()) {
    counts.l2_bytes = amounts.Sum("lts__t_bytes");
    launch.l2_is_traffic = counts.l2_bytes.has_value();
  }
  if (counts.tensor_flops.value_or(0) > 0) return;
  // A wavefront is 128 bytes.
  for (const char* metric :
       {"l1tex__lsu_writeback_active_mem_lg", "l1tex__lsu_writeback_active"}) {
    if (const auto wavefronts = amounts.Sum(metric)) {
      counts.l1_bytes = 128 * *wavefronts;
      return;
    }
  }
}

struct Scale {
  const char* prefix;
  double factor;
};
constexpr Scale kScales[] = {
    {"n", 1e-9}, {"u", 1e-6}, {"\xc2\xb5", 1e-6}, {"m", 1e-3},
    {"", 1},     {"K", 1e3},  {"k", 1e3},         {"M", 1e6},
    {"G", 1e9},  {"g", 1e9},  {"T", 1e12},
};
constexpr const char* kUnits[] = {
    "second", "s", "byte", "B", "inst", "cycle", "hz", "op", "ops",
};

std::optional<double> SimpleFactor(absl::string_view unit) {
  // Counts have no unit, or say what they count.
  if (unit.empty()) return 1;
  for (const char* name : kUnits) {
    absl::string_view prefix = unit;
    if (!absl::ConsumeSuffix(&prefix, name)) continue;
    for (const Scale& scale : kScales) {
      if (prefix == scale.prefix) return scale.factor;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> NcuUnitFactor(absl::string_view unit) {
  const size_t slash = unit.find('/');
  if (slash == absl::string_view::npos) return SimpleFactor(unit);
  const auto above = SimpleFactor(unit.substr(0, slash));
  const auto below = SimpleFactor(unit.substr(slash + 1));
  if (!above.has_value() || !below.has_value()) return std::nullopt;
  return *above / *below;
}

bool IsNcuMetricRead(absl::string_view metric) {
  // Shares and peaks are of no use here, whatever they are of.
  if (absl::StrContains(metric, "pct") || absl::StrContains(metric, "peak")) {
    return false;
  }
  for (const char* prefix :
       {kTensor, kTensorPipes[0], kTensorPipes[1], kThreads, "dram__bytes.",
        "dram__bytes_read.", "dram__bytes_write.", "lts__t_bytes.",
        "l1tex__m_xbar2l1tex_read_bytes.", "l1tex__lsu_writeback_active"}) {
    if (absl::StartsWith(metric, prefix)) return true;
  }
  return metric == kTime || metric == kTimeLabel ||
         absl::StrContains(metric, "__cycles_elapsed.");
}

NcuLaunch LaunchOf(const NcuMetrics& metrics) {
  const Amounts amounts(metrics);
  NcuLaunch launch;
  launch.counts.seconds = amounts.Seconds();
  CountTensorWork(metrics, amounts, launch);
  CountVectorWork(amounts, launch);
  CountBytes(amounts, launch);
  return launch;
}

}  // namespace mansard::calibrate
