// Nsight Compute and rocprof-compute -> kernels, their table and picture.
#include "calibrate/import/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "calibrate/import/commands.h"
#include "calibrate/import/kernel_models.h"
#include "calibrate/import/ncu_metrics.h"
#include "calibrate/tables/names.h"

namespace mansard::calibrate {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

template <class T>
std::string Refusal(const absl::StatusOr<T>& result) {
  return std::string(result.status().message());
}

std::string Quoted(const std::vector<std::string>& cells) {
  return absl::StrCat("\"", absl::StrJoin(cells, "\",\""), "\"\n");
}

// --- Nsight Compute ---

struct Metric {
  std::string name;
  std::string unit;
  std::vector<std::string> values;  // One a launch.
};

// The raw page.
std::string Wide(const std::vector<std::string>& kernels,
                 const std::vector<Metric>& metrics,
                 const std::string& capability = "9.0") {
  std::vector<std::string> header = {"ID",        "Process ID", "Kernel Name",
                                     "Grid Size", "Block Size", "CC"};
  std::vector<std::string> units(header.size());
  for (const Metric& metric : metrics) {
    header.push_back(metric.name);
    units.push_back(metric.unit);
  }
  std::string text = absl::StrCat("==PROF== Connected to process 7\n",
                                  Quoted(header), Quoted(units));
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<std::string> cells = {absl::StrCat(i), "7",
                                      kernels[i],      "(132, 1, 1)",
                                      "(384, 1, 1)",   capability};
    for (const Metric& metric : metrics) cells.push_back(metric.values[i]);
    absl::StrAppend(&text, Quoted(cells), "a line of the program\n");
  }
  return absl::StrCat(text, "==PROF== Disconnected from process 7\n");
}

// One line a metric.
std::string Long(const std::vector<std::string>& kernels,
                 const std::vector<Metric>& metrics) {
  std::string text =
      Quoted({"ID", "Process ID", "Kernel Name", "CC", "Section Name",
              "Metric Name", "Metric Unit", "Metric Value"});
  for (size_t i = 0; i < kernels.size(); ++i) {
    for (const Metric& metric : metrics) {
      absl::StrAppend(
          &text, Quoted({absl::StrCat(i), "7", kernels[i], "9.0", "Section",
                         metric.name, metric.unit, metric.values[i]}));
    }
  }
  return text;
}

constexpr char kTime[] = "gpu__time_duration.sum";
constexpr char kTensor[] = "sm__ops_path_tensor_src_bf16_dst_fp32.sum";

const std::vector<Metric>& Metrics() {
  static const auto* const kMetrics = new std::vector<Metric>{
      {kTime, "us", {"206.5", "24.1"}},
      {"dram__bytes.sum", "Mbyte", {"120.5", "67.1"}},
      {"l1tex__m_xbar2l1tex_read_bytes.sum", "Gbyte", {"1.9", "0.067"}},
      {kTensor, "", {"137,438,953,472", "0"}},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
       "inst",
       {"n/a", "1,000"}},
      {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
       "inst",
       {"n/a", "500"}},
      {"l1tex__lsu_writeback_active_mem_lg.sum", "", {"10", "1,000"}},
      {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", {"9", "9"}},
  };
  return *kMetrics;
}

TEST(NsightComputeTest, BothFormsAreOne) {
  for (const std::string& text :
       {Wide({"gemm", "norm"}, Metrics()), Long({"gemm", "norm"}, Metrics())}) {
    const auto profiled = ReadNsightCompute(text);
    ASSERT_TRUE(profiled.ok()) << profiled.status();
    ASSERT_EQ(profiled->kernels.size(), 2u);
    const MeasuredKernel& gemm = profiled->kernels[0];
    EXPECT_EQ(gemm.name, "gemm");
    EXPECT_EQ(gemm.tensor_format, "bf16");
    EXPECT_THAT(gemm.counts.seconds, Optional(DoubleEq(206.5e-6)));
    EXPECT_THAT(gemm.counts.tensor_flops, Optional(137438953472.0));
    // "n/a" is unknown, and not 0.
    EXPECT_EQ(gemm.counts.vector_flops, std::nullopt);
    EXPECT_THAT(gemm.counts.hbm_bytes, Optional(120.5e6));
    EXPECT_THAT(gemm.counts.l2_bytes, Optional(1.9e9));
    // Operands of tensor units may go past L1.
    EXPECT_EQ(gemm.counts.l1_bytes, std::nullopt);
    const MeasuredKernel& norm = profiled->kernels[1];
    EXPECT_EQ(norm.tensor_format, "");
    EXPECT_THAT(norm.counts.vector_flops, Optional(2500.0));
    EXPECT_THAT(norm.counts.l1_bytes, Optional(128000.0));
    EXPECT_THAT(profiled->notes, ElementsAre());
  }
}

TEST(NsightComputeTest, LaunchesOfAKernelAreMedians) {
  const auto profiled = ReadNsightCompute(
      Wide({"a", "a", "a", "b"}, {{kTime, "ns", {"10", "30", "20", "100"}}}));
  ASSERT_TRUE(profiled.ok()) << profiled.status();
  ASSERT_EQ(profiled->kernels.size(), 2u);
  EXPECT_EQ(profiled->kernels[0].name, "b");  // The most time.
  EXPECT_EQ(profiled->kernels[1].launches, 3u);
  EXPECT_THAT(profiled->kernels[1].counts.seconds, Optional(20e-9));
  EXPECT_EQ(profiled->kernels[1].grid, "(132, 1, 1)");
}

TEST(NsightComputeTest, NumbersOfOtherLocales) {
  const auto profiled = ReadNsightCompute(
      Wide({"a"}, {{kTime, "ns", {"117.344"}},
                   {"dram__bytes.sum", "byte", {"27.595.520"}}}));
  ASSERT_TRUE(profiled.ok()) << profiled.status();
  EXPECT_THAT(profiled->kernels[0].counts.seconds,
              Optional(DoubleEq(117344e-9)));
  EXPECT_THAT(profiled->kernels[0].counts.hbm_bytes, Optional(27595520.0));
}

// As the tool's roofline sections collect them.
TEST(NsightComputeTest, RatesInPlaceOfSums) {
  const auto profiled = ReadNsightCompute(Wide(
      {"a"},
      {{kTime, "ms", {"2.00"}},
       {"dram__bytes.sum.per_second", "Gbyte/s", {"100.00"}},
       {"smsp__cycles_elapsed.avg.per_second", "Ghz", {"1.50"}},
       {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
        "inst/cycle",
        {"1,000.00"}},
       {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed",
        "inst/cycle",
        {"10.00"}}}));
  ASSERT_TRUE(profiled.ok()) << profiled.status();
  EXPECT_THAT(profiled->kernels[0].counts.hbm_bytes, Optional(2e8));
  EXPECT_THAT(profiled->kernels[0].counts.vector_flops,
              Optional(2.01e3 * 1.5e9 * 2e-3));
}

TEST(NsightComputeTest, TensorWorkCountsOnce) {
  const struct {
    NcuMetrics metrics;
    std::optional<double> flops;
    const char* format;
  } kFacts[] = {
      // A metric and its parts.
      {{{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 100},
        {"sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum", 100},
        {"sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_on.sum", 0},
        {"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum", 100}},
       100,
       "bf16"},
      {{{"sm__ops_path_tensor_src_fp8_sparsity_off.sum", 60},
        {"sm__ops_path_tensor_src_fp8_sparsity_on.sum", 40}},
       100,
       "fp8"},
      {{{"sm__ops_path_tensor_src_fp16.sum", 100},
        {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", 30},
        {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 70}},
       100,
       "fp16"},
      // Disjoint, though the names are alike.
      {{{"sm__ops_path_tensor_src_fp4_dst_fp32.sum", 80},
        {"sm__ops_path_tensor_src_fp4_fp6_dst_fp32.sum", 0}},
       80,
       "fp4"},
      {{{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 30},
        {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 70}},
       100,
       "tf32"},
      // Before the tool counted operations.
      {{{"sm__inst_executed_pipe_tensor.sum", 2}}, 1024, "fp16"},
      {{}, std::nullopt, ""},
  };
  for (const auto& fact : kFacts) {
    const NcuLaunch launch = LaunchOf(fact.metrics);
    EXPECT_EQ(launch.counts.tensor_flops, fact.flops);
    EXPECT_EQ(launch.tensor_format, fact.format);
  }
}

TEST(NsightComputeTest, Units) {
  const struct {
    const char* unit;
    std::optional<double> factor;
  } kFacts[] = {
      {"", 1},
      {"ns", 1e-9},
      {"nsecond", 1e-9},
      {"usecond", 1e-6},
      {"us", 1e-6},
      {"msecond", 1e-3},
      {"s", 1},
      {"second", 1},
      {"byte", 1},
      {"Kbyte", 1e3},
      {"Mbyte", 1e6},
      {"Gbyte", 1e9},
      {"inst", 1},
      {"cycle/second", 1},
      {"Ghz", 1e9},
      {"Gbyte/second", 1e9},
      {"byte/ns", 1e9},
      {"cycle/nsecond", 1e9},
      {"inst/cycle", 1},
      {"fortnight", std::nullopt},
      {"Xbyte", std::nullopt},
      {"%", std::nullopt},
  };
  for (const auto& fact : kFacts) {
    const std::optional<double> factor = NcuUnitFactor(fact.unit);
    ASSERT_EQ(factor.has_value(), fact.factor.has_value()) << fact.unit;
    if (!factor.has_value()) continue;
    EXPECT_NEAR(*factor, *fact.factor, *fact.factor * 1e-12) << fact.unit;
  }
}

TEST(NsightComputeTest, Refusals) {
  const std::string good = Wide({"a"}, {{kTime, "us", {"206.5"}}});
  const struct {
    std::string text;
    const char* refusal;
  } kFacts[] = {
      {"\"ID\",\"Kernel Name\",\"a\n\"b\",\"c\"\n\"0\",\"k\",\"1\",\"2\"\n",
       "is not closed"},
      {"\"ID\",\"Kernel Name\",\"a\"b,\"c\"\n\"0\",\"k\",\"1\",\"2\"\n",
       "no time of its 1 launch"},
      {"==ERROR== permission denied\n", "has no line that begins with \"ID\""},
      {absl::StrReplaceAll(good, {{",\"9.0\",\"206.5\"", ""}}),
       "has 5 cells; the header has 7"},
      {absl::StrReplaceAll(good, {{"206.5\"", "20"}}), "is not closed"},
      {absl::StrReplaceAll(good, {{"\"us\"", "\"fortnight\""}}),
       "gpu__time_duration.sum: has the unit \"fortnight\""},
      {absl::StrReplaceAll(good, {{"206.5", "n/a"}}),
       "has no time of its 1 launch"},
      {good.substr(0, good.find("\"0\"")), "no launch of a kernel"},
      {absl::StrCat(good, Quoted({"1", "7", "b", "", "", "8.0", "5"})),
       "several kinds of device (compute capability 8.0, 9.0)"},
      {Wide({"a"}, {{kTime, "us", {"1.234.567"}},
                    {"dram__bytes.sum", "byte", {"1,234.5"}}}),
       "numbers are written in two ways"},
  };
  for (const auto& fact : kFacts) {
    EXPECT_THAT(Refusal(ReadNsightCompute(fact.text)), HasSubstr(fact.refusal));
  }
}

// --- rocprof-compute ---

constexpr char kRocprof[] =
    "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,Kernel_Name,Start_Timestamp,"
    "End_Timestamp,SQ_INSTS_VALU_ADD_F32,SQ_INSTS_VALU_FMA_F32,"
    "SQ_INSTS_VALU_MFMA_MOPS_BF16,SQ_INSTS_VALU_MFMA_MOPS_F16,"
    "TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_EA0_WRREQ_sum,"
    "TCC_EA0_WRREQ_64B_sum,TCC_BUBBLE_sum,TCP_TCC_READ_REQ_sum,"
    "TCP_TCC_WRITE_REQ_sum,TCP_TOTAL_CACHE_ACCESSES_sum\n"
    "0,4,1024,256,\"gemm<float, 4> (.kd)\",1000,21000,10,20,1000,0,"
    "100,10,50,40,20,300,60,700\n"
    "1,4,64,64,copy,30000,31000,,,,,,,,,,,,\n";

TEST(RocprofComputeTest, CountersAreWorkAndBytes) {
  const auto profiled = ReadRocprofCompute(kRocprof);
  ASSERT_TRUE(profiled.ok()) << profiled.status();
  ASSERT_EQ(profiled->kernels.size(), 2u);
  const MeasuredKernel& gemm = profiled->kernels[0];
  EXPECT_EQ(gemm.name, "gemm<float, 4> (.kd)");
  EXPECT_THAT(gemm.counts.seconds, Optional(DoubleEq(20e-6)));
  EXPECT_THAT(gemm.counts.tensor_flops, Optional(512000.0));
  EXPECT_EQ(gemm.tensor_format, "bf16");
  EXPECT_THAT(gemm.counts.vector_flops, Optional(64.0 * (10 + 2 * 20)));
  // 20 reads of 128 bytes, 10 of 32, 70 of 64; 40 writes of 64, 10 of 32.
  EXPECT_THAT(gemm.counts.hbm_bytes,
              Optional(20.0 * 128 + 10 * 32 + 70 * 64 + 40 * 64 + 10 * 32));
  EXPECT_THAT(gemm.counts.l2_bytes, Optional(64.0 * 360));
  EXPECT_THAT(gemm.counts.l1_bytes, Optional(64.0 * 700));
  const KernelCounts& copy = profiled->kernels[1].counts;
  EXPECT_EQ(copy.flops(), std::nullopt);
  EXPECT_EQ(copy.hbm_bytes, std::nullopt);
}

TEST(RocprofComputeTest, NamesOfOlderReleases) {
  const auto profiled = ReadRocprofCompute(
      "KernelName,BeginNs,EndNs,TCC_EA_RDREQ_sum,TCC_EA_RDREQ_32B_sum,"
      "TCC_EA_WRREQ_sum,TCC_EA_WRREQ_64B_sum\nk,5,1005,10,2,4,3\n");
  ASSERT_TRUE(profiled.ok()) << profiled.status();
  EXPECT_THAT(profiled->kernels[0].counts.hbm_bytes,
              Optional(8.0 * 64 + 2 * 32 + 3 * 64 + 32));
}

TEST(RocprofComputeTest, Refusals) {
  EXPECT_THAT(Refusal(ReadRocprofCompute("a,b\n1,2\n")),
              HasSubstr("import pmc_perf.csv"));
  EXPECT_THAT(Refusal(ReadRocprofCompute(
                  "Kernel_Name,Start_Timestamp,End_Timestamp\nk,9,5\n")),
              HasSubstr("k: ends before it begins"));
  EXPECT_THAT(Refusal(ReadRocprofCompute(
                  "Kernel_Name,Start_Timestamp,End_Timestamp\nk,9\n")),
              HasSubstr("line 2: has 2 cells; the header has 3"));
}

// --- Beside the model ---

class ImportTextTest : public ::testing::Test {
 protected:
  static const model::ShippedData& Data() {
    static const auto* const kData =
        new model::ShippedData(*model::LoadShippedData());
    return *kData;
  }
  static ImportOptions Options() {
    return {.hardware = "h200-sxm",
            .ops = "kernel,op\ngem,gemm m=4096 n=4096 k=4096\n",
            .draws = true};
  }
};

TEST_F(ImportTextTest, TheModelStandsBesideTheKernel) {
  const auto result =
      ImportText(Wide({"gemm", "norm"}, Metrics()), Options(), Data());
  ASSERT_TRUE(result.ok()) << result.status();
  // 2 m n k, and each operand once.
  EXPECT_THAT(result->imported.text, HasSubstr("gemm m=4096 n=4096 k=4096,"));
  EXPECT_THAT(result->imported.text, HasSubstr(",1.37439e+11,1.00663e+08,"));
  EXPECT_THAT(result->svg, HasSubstr("class=\"hbmmodel\""));
  EXPECT_THAT(result->svg, HasSubstr("tensor bf16 989 TFLOP/s"));
  EXPECT_THAT(result->svg, HasSubstr("class=\"l1\""));
  EXPECT_EQ(
      result->svg,
      ImportText(Wide({"gemm", "norm"}, Metrics()), Options(), Data())->svg);
}

TEST_F(ImportTextTest, WithoutOpsThePointAlone) {
  ImportOptions options = Options();
  options.ops = "";
  const auto other =
      ImportText(Wide({"a<b>&c", "norm"}, Metrics()), options, Data());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(other->svg, Not(HasSubstr("class=\"hbmmodel\"")));
  EXPECT_THAT(other->svg, HasSubstr("a&lt;b&gt;&amp;c"));
}

TEST_F(ImportTextTest, TimesAloneAreNotDrawn) {
  EXPECT_THAT(Refusal(ImportText(Wide({"a"}, {{kTime, "us", {"1"}}}), Options(),
                                 Data())),
              HasSubstr("no kernel has operations and bytes"));
}

TEST_F(ImportTextTest, OpsThatAreNone) {
  const struct {
    const char* op;
    const char* refusal;
  } kFacts[] = {
      {"conv m=1", "is no kind; allowed: gemm, norm"},
      {"", "is no kind"},
      {"gemm m=1 n=2", "k is missing"},
      {"gemm m=0 n=2 k=99999999999 rows=2",
       "k is 99999999999; allowed: 1 to 2147483648, m is 0; allowed: 1 to "
       "2147483648, rows is no size of gemm"},
      {"gemm m=1 n=1 k=1 bf17", "\"bf17\" is no size and no format"},
      {"gemm m=1 n=1 k=1 nvfp4", "the device computes in"},
      {"decode_attention requests=1 context_tokens=9 query_heads=70000 "
       "kv_heads=1 head_size=128",
       "query_heads is 70000; allowed: 1 to 65536"},
  };
  for (const auto& fact : kFacts) {
    ImportOptions options = Options();
    options.ops = absl::StrCat("kernel,op\ngemm,", fact.op, "\n");
    EXPECT_THAT(
        Refusal(ImportText(Wide({"gemm", "b"}, Metrics()), options, Data())),
        HasSubstr(fact.refusal));
  }
}

TEST_F(ImportTextTest, EveryKindOfOp) {
  const std::string heads =
      "requests=4 context_tokens=1024 query_heads=32 kv_heads=8 head_size=128";
  for (const std::string& op : std::vector<std::string>{
           "gemm m=16 n=64 k=64 batch=4 fp8", "norm rows=8 columns=4096",
           "fused_norm rows=8 columns=4096", "activation rows=8 columns=4096",
           "residual rows=8 columns=4096 fp16", "decode_attention " + heads,
           "prefill_attention " + heads, "decode_attention fp8 " + heads}) {
    ImportOptions options = Options();
    options.ops = absl::StrCat("kernel,op\ngemm,", op, "\n");
    const auto result =
        ImportText(Wide({"gemm", "b"}, Metrics()), options, Data());
    ASSERT_TRUE(result.ok()) << op << result.status();
    EXPECT_THAT(result->imported.text, HasSubstr(absl::StrCat(",", op, ",")));
  }
}

TEST_F(ImportTextTest, OptionsThatAreOfNoUse) {
  ImportOptions options = Options();
  options.link = "NVLink4";
  options.engine = "vLLM";
  EXPECT_EQ(Refusal(ImportText(Wide({"a", "b"}, Metrics()), options, Data())),
            "--link, --engine: are of no use with ncu");
  options = Options();
  options.hardware = "h9000";
  EXPECT_THAT(Refusal(ImportText(Wide({"a", "b"}, Metrics()), options, Data())),
              HasSubstr("--hardware: is \"h9000\"; allowed: a10, "));
  options.hardware = "";
  EXPECT_THAT(Refusal(ImportText(Wide({"a", "b"}, Metrics()), options, Data())),
              HasSubstr("--hardware: is missing"));
  options = Options();
  options.stack = "mine";
  EXPECT_THAT(Refusal(ImportText(Wide({"a", "b"}, Metrics()), options, Data())),
              HasSubstr("--stack: is \"mine\"; h200-sxm has "));
}

TEST_F(ImportTextTest, EveryShippedDeviceHasANameInTables) {
  for (const auto& [id, profile] : Data().profiles) {
    EXPECT_EQ(HardwareId(TableDevice(id)), id);
  }
}

}  // namespace
}  // namespace mansard::calibrate
