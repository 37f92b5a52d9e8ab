// nccl-tests, the CUTLASS profiler and torch.profiler -> rows that fits read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "calibrate/import/cutlass.h"
#include "calibrate/import/nccl_tests.h"
#include "calibrate/import/torch_trace.h"
#include "calibrate/tables/tables.h"

namespace mansard::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RowContext Context() {
  return {.device = "H200_SXM", .link = "NVLink4", .source = "log.txt"};
}

std::string Refusal(const absl::StatusOr<Imported>& imported) {
  return std::string(imported.status().message());
}

// --- nccl-tests ---

std::string RankLine(int rank, const std::string& host,
                     const std::string& device = "NVIDIA H200") {
  return absl::StrCat("#  Rank  ", rank, " Group  0 Pid  41 on ", host,
                      " device  ", rank % 8, " [0000:18:00] ", device, "\n");
}

constexpr char kNcclHeader[] =
    "#\n"
    "#                                             out-of-place      in-place\n"
    "#       size         count      type   redop    root     time   algbw   "
    "busbw  #wrong     time   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  "
    "(GB/s)            (us)  (GB/s)  (GB/s)\n";
constexpr char kNcclEnd[] =
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 31.2\n";
constexpr char kNcclStart[] =
    "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n"
    "# Collective test starting: all_reduce_perf\n";
constexpr char kNcclRows[] =
    "  1024   256  float  sum  -1  14.20 0.07 0.11  0  14.00 0.07 0.11  0\n"
    "  16384 4096  half   sum  -1  15.10 1.09 1.63  0  15.00 1.09 1.64  0\n";

std::string NcclLog(const std::string& rows = kNcclRows) {
  return absl::StrCat(kNcclStart, RankLine(0, "a"), RankLine(1, "a"),
                      RankLine(2, "b"), RankLine(3, "b"), kNcclHeader, rows,
                      kNcclEnd);
}

TEST(NcclTestsTest, RowsAreWhatFitsRead) {
  const auto imported = ImportNcclTests(NcclLog(), Context());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->text,
            "device,link,op,dtype,n_gpus,n_nodes,gpus_per_node,message_bytes,"
            "latency_us,library,library_version,algo_or_mode,source\n"
            "H200_SXM,NVLink4,all_reduce,fp32,4,2,2,1024,14.2,NCCL,2.27.3,"
            "nccl-tests out-of-place,log.txt\n"
            "H200_SXM,NVLink4,all_reduce,fp16,4,2,2,16384,15.1,NCCL,2.27.3,"
            "nccl-tests out-of-place,log.txt\n");
  const auto cases = ReadMeasured(imported->text);
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ(cases->front().slice, "all_reduce rdma x4/2");
  EXPECT_EQ(cases->front().framework, "NCCL");
  EXPECT_NEAR(cases->front().measured.value(), 14.2e-6, 1e-12);
}

TEST(NcclTestsTest, WrongResultsAreRefusedAndNamed) {
  const auto imported = ImportNcclTests(
      NcclLog("  512   128  float  sum  -1  14.2 0.07 0.11  3  14.0 0 0  0\n"
              "  1024  256  float  sum  -1  14.5 0.07 0.11  N/A 14.0 0 0  "
              "N/A\n"),
      Context());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(ReadMeasured(imported->text)->size(), 1u);
  EXPECT_THAT(imported->notes,
              ElementsAre("512 bytes fp32: left out, 3 wrong results",
                          "results were not checked (#wrong is N/A)",
                          "all_reduce, 4 ranks on 2 nodes of NVIDIA H200"));
  EXPECT_THAT(Refusal(ImportNcclTests(
                  NcclLog("  512 128 float sum -1 14.2 0 0 3 14.0 0 0 0\n"),
                  Context())),
              HasSubstr("every size has wrong results"));
}

// Releases without versions and names; with the largest error instead of a
// count; without reduction and root; with times of iterations and of the day.
TEST(NcclTestsTest, EveryRelease) {
  const std::string ranks = absl::StrCat(RankLine(0, "a"), RankLine(1, "a"));
  const struct {
    std::string text;
    const char* row;
  } kFacts[] = {
      {absl::StrCat("NCCL version 2.20.5+cuda12.4\n$ ./build/all_gather_perf "
                    "-b 1K\n",
                    ranks, kNcclHeader,
                    " 2048 256 float none -1 9.5 0 0 0 9.4 0 0 0\n", kNcclEnd),
       "all_gather,fp32,2,1,2,2048,9.5,NCCL,2.20.5"},
      {absl::StrCat("alltoall_perf\n", ranks,
                    "# size count type time algbw busbw error time algbw busbw "
                    "error\n",
                    " 4096 1024 bfloat16 8.25 0 0 4e-07 8.00 0 0 4e-07\n",
                    kNcclEnd),
       "alltoall,bf16,2,1,2,4096,8.25,NCCL,"},
      {absl::StrCat("sendrecv_perf\n", ranks, kNcclHeader,
                    " 4096 4096 int8 8.25 0 0 N/A 8.00 0 0 N/A\n", kNcclEnd),
       "send_recv,int8,2,1,2,4096,8.25,NCCL,"},
      {absl::StrCat("reduce_scatter_perf\n", ranks,
                    "# size count type redop root time algbw busbw #wrong "
                    "i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min "
                    "i_max i_p99 i_cv% timestamp\n",
                    " 4096 1024 float sum -1 7.5 0 0 0 7 8 8 1 6.5 0 0 0 6 7 7 "
                    "1 2026-11-30 10:00:00\n",
                    kNcclEnd),
       "reduce_scatter,fp32,2,1,2,4096,7.5,NCCL,"},
      {absl::StrCat("rccl-tests: Version develop:1\nall_reduce_perf\n", ranks,
                    kNcclHeader, " 64 16 float sum -1 7.5 0 0 0 6.5 0 0 0\n",
                    kNcclEnd),
       "all_reduce,fp32,2,1,2,64,7.5,RCCL,"},
  };
  for (const auto& fact : kFacts) {
    const auto imported = ImportNcclTests(fact.text, Context());
    ASSERT_TRUE(imported.ok()) << fact.text << imported.status();
    EXPECT_THAT(imported->text, HasSubstr(fact.row));
  }
}

TEST(NcclTestsTest, Refusals) {
  const std::string good = NcclLog();
  const struct {
    std::string text;
    const char* refusal;
  } kFacts[] = {
      {absl::StrReplaceAll(good, {{kNcclEnd, ""}}), "breaks off"},
      {absl::StrReplaceAll(good, {{"1.09 1.64  0\n", "\n"}}),
       "a row is cut off"},
      {absl::StrReplaceAll(good, {{RankLine(2, "b"), ""}}),
       "rank 2 is missing"},
      {absl::StrReplaceAll(good, {{RankLine(3, "b"), RankLine(3, "a")}}),
       "different numbers of ranks"},
      {absl::StrReplaceAll(
           good, {{RankLine(3, "b"), RankLine(3, "b", "NVIDIA A10")}}),
       "several kinds of device: NVIDIA H200 and NVIDIA A10"},
      {absl::StrReplaceAll(
           good, {{"redop    root     time", "redop    root  cputime"}}),
       "times are the host's"},
      {absl::StrReplaceAll(good, {{"14.20", "xx"}}), "\"xx\" is no time"},
      {absl::StrReplaceAll(good, {{kNcclStart, ""}}),
       "--operation: is missing, and the output does not name the test"},
      {absl::StrCat("all_gather_perf\n", good), "several tests"},
      {absl::StrReplaceAll(good, {{"all_reduce_perf", "gather_perf"}}),
       "holds the test gather_perf"},
      {absl::StrCat(kNcclStart, kNcclHeader, kNcclRows, kNcclEnd),
       "lists 0 ranks"},
      {absl::StrReplaceAll(good, {{kNcclRows, ""}}), "no row of results"},
      {absl::StrReplaceAll(good, {{" [0000:18:00] NVIDIA H200", ""}}),
       "the line is cut off"},
  };
  for (const auto& fact : kFacts) {
    EXPECT_THAT(Refusal(ImportNcclTests(fact.text, Context())),
                HasSubstr(fact.refusal));
  }
  EXPECT_EQ(Refusal(ImportNcclTests(good, {})),
            "--hardware, --link: are missing; the tool's output does not say "
            "it");
}

// --- CUTLASS ---

constexpr char kCutlassHeader[] =
    "Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,"
    "k,A,B,C,D,alpha,beta,split_k_slices,batch_count,op_class,accum,Bytes,"
    "Flops,Flops/Byte,Runtime,GB/s,GFLOPs\n";

std::string CutlassRow(const std::string& name, const std::string& outcome,
                       const std::string& operands, const std::string& unit,
                       const std::string& runtime) {
  return absl::StrCat("1,CUTLASS,gemm,", name, ",", outcome,
                      ",universal,128,256,512,", operands, ",1,0,1,2,", unit,
                      ",f32,1,1,1,", runtime, ",1,1\n");
}

TEST(CutlassTest, TheFastestThatIsRight) {
  const std::string bf16 = "bf16:column,bf16:row,f32:column,bf16:column";
  const std::string text = absl::StrCat(
      "=====\n  Problem ID: 1\nCSV Results:\n\n", kCutlassHeader,
      CutlassRow("slow", "passed,success", bf16, "tensorop", "0.5"),
      CutlassRow("best", "not_verified,success", bf16, "tensorop", "0.25"),
      CutlassRow("wrong", "incorrect,success", bf16, "tensorop", "0.1"),
      CutlassRow("none", "failed,error_not_supported", bf16, "tensorop", "0"),
      CutlassRow("fp8", "passed,success",
                 "e4m3:row,fe4m3:column,f32:row,bf16:row", "tensorop", "0.125"),
      CutlassRow("tf32", "passed,success", "f32:row,f32:row,f32:row,f32:row",
                 "tensorop", "0.2"),
      CutlassRow("simt", "passed,success", "f32:row,f32:row,f32:row,f32:row",
                 "simt", "2"),
      CutlassRow("odd", "passed,success", "cf32:row,cf32:row,cf32:row,cf32:row",
                 "simt", "2"),
      CutlassRow("timeless", "passed,success", bf16, "tensorop", "n/a"),
      "\nWrote results to x\n");
  const auto imported = ImportCutlass(text, Context());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->text,
              HasSubstr("H200_SXM,bf16,bf16,bf16,none,2,128,256,512,250,"
                        "CUTLASS,,best,gemm,,"));
  const auto cases = ReadMeasured(imported->text);
  ASSERT_TRUE(cases.ok()) << cases.status();
  std::vector<std::string> slices;
  for (const MeasuredCase& one : *cases) {
    slices.push_back(absl::StrCat(one.slice, " ", one.flag));
  }
  EXPECT_THAT(slices, ElementsAre("bf16 ", "fp32 ", "fp8-e4m3 "));
  EXPECT_THAT(imported->notes,
              ElementsAre("1 row left out: disposition incorrect",
                          "1 row left out: element cf32",
                          "1 row left out: fp32 on tensor units, in a format "
                          "of theirs",
                          "1 row left out: no positive shape and runtime",
                          "1 row left out: status error_not_supported",
                          "3 shapes, the fastest of 4 kernels"));
}

TEST(CutlassTest, OfAnEngineIfSaid) {
  RowContext context = Context();
  context.engine = "vLLM";
  context.engine_version = "0.24.0";
  const auto imported = ImportCutlass(
      absl::StrCat(kCutlassHeader, CutlassRow("a", "passed,success",
                                              "f16:row,f16:row,f16:row,f16:row",
                                              "tensorop", "1")),
      context);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(ReadMeasured(imported->text)->front().framework, "vLLM");
  EXPECT_EQ(ReadMeasured(imported->text)->front().version, "0.24.0");
}

TEST(CutlassTest, Refusals) {
  const std::string row =
      CutlassRow("a", "passed,success", "f16:row,f16:row,f16:row,f16:row",
                 "tensorop", "1");
  EXPECT_THAT(Refusal(ImportCutlass(
                  absl::StrCat(kCutlassHeader, row, "1,CUTLASS,gemm,a,pas"),
                  Context())),
              HasSubstr("line 3: has 5 cells; the header has 26"));
  EXPECT_THAT(Refusal(ImportCutlass("nothing", Context())),
              HasSubstr("no column \"OperationKind\""));
  EXPECT_THAT(
      Refusal(ImportCutlass(
          absl::StrCat(kCutlassHeader,
                       absl::StrReplaceAll(row, {{"passed", "incorrect"}})),
          Context())),
      HasSubstr("no row of a dense product to take; 1 row: disposition "
                "incorrect"));
}

// --- torch.profiler ---

std::string Operation(int id, const std::string& name, const std::string& dims,
                      const std::string& types) {
  return absl::StrCat(R"({"ph":"X","cat":"cpu_op","name":")", name,
                      R"(","ts":1,"dur":9,"args":{"External id":)", id,
                      R"(,"Input Dims":)", dims, R"(,"Input type":)", types,
                      "}},\n");
}
std::string Kernel(const std::string& ids, double microseconds,
                   const std::string& name = "nvjet") {
  return absl::StrCat(R"({"ph":"X","cat":"kernel","name":")", name,
                      R"(","ts":5,"dur":)", microseconds, R"(,"args":{)", ids,
                      "}},\n");
}
std::string Launch(int id, int correlation) {
  return absl::StrCat(
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":2,)",
      R"("dur":1,"args":{"External id":)", id, R"(,"correlation":)",
      correlation, "}},\n");
}
std::string Trace(const std::string& events) {
  return absl::StrCat(R"({"schemaVersion":1,"deviceProperties":)",
                      R"([{"id":0,"name":"NVIDIA H200"}],"traceEvents":[)",
                      events, R"({"ph":"M","name":"process_name"}]})");
}
constexpr char kBf16[] = R"(["c10::BFloat16","c10::BFloat16"])";

TEST(TorchTraceTest, CallsWithTheirKernels) {
  std::string events;
  // Three calls: by the kernel's own id, by its launch, and in two kernels.
  for (const int id : {1, 2, 3}) {
    events += Operation(id, "aten::mm", "[[64,4096],[4096,6144]]", kBf16);
  }
  events += Kernel(R"("External id":1,"correlation":7)", 24);
  events += Kernel(R"("correlation":8)", 25) + Launch(2, 8);
  events += Kernel(R"("External id":3)", 23, "nvjet_splitK");
  events += Kernel(R"("External id":3)", 2.5, "reduce");
  // One call is too few.
  events += Operation(4, "aten::addmm", "[[6144],[8,4096],[4096,6144]]",
                      R"(["c10::Half","c10::Half","c10::Half"])");
  events += Kernel(R"("External id":4)", 20);
  // In a replayed graph kernels have no call.
  events += Operation(5, "aten::bmm", "[[2,64,128],[2,128,64]]", kBf16);
  events += Operation(6, "aten::mm", "[[2,2],[2,2]]", R"(["float","float"])");
  events += Operation(7, "aten::mm", "[[2,2],[3,2]]", kBf16);
  events += Operation(8, "aten::add", "[[2,2],[2,2]]", kBf16);
  const auto imported = ImportTorchTrace(Trace(events), Context());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(
      imported->text,
      "device,dtype_in,dtype_weight,dtype_out,quant,batch,m,n,k,latency_us,"
      "framework,framework_version,kernel,scope,flag,quality,source\n"
      "H200_SXM,bf16,bf16,bf16,none,1,64,6144,4096,25,torch.profiler,,nvjet,"
      "gemm,,coarse: median of 3 calls,log.txt\n"
      "H200_SXM,fp16,fp16,fp16,none,1,8,6144,4096,20,torch.profiler,,nvjet,"
      "gemm,few calls,coarse: median of 1 call,log.txt\n");
  EXPECT_THAT(
      imported->notes,
      ElementsAre(
          "1 call left out: aten::mm: fp32, which may compute in tf32",
          "1 call left out: aten::mm: sizes that are missing, empty or "
          "do not fit",
          "1 call left out: no kernel of theirs, as in a replayed graph",
          "2 shapes, 1 flagged, which fits leave out; times of a trace "
          "are coarse; of NVIDIA H200"));
  EXPECT_EQ(ReadMeasured(imported->text)->size(), 2u);
}

TEST(TorchTraceTest, CallsThatDifferAreFlagged) {
  std::string events;
  for (const int id : {1, 2, 3, 4}) {
    events += Operation(id, "aten::mm", "[[64,64],[64,64]]", kBf16);
    events += Kernel(absl::StrCat("\"External id\":", id), 10.0 * id);
  }
  const auto imported = ImportTorchTrace(Trace(events), Context());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->text, HasSubstr(",calls differ,"));
}

TEST(TorchTraceTest, ScaledProducts) {
  const struct {
    const char* scales;
    const char* concrete;
    const char* outcome;
  } kFacts[] = {
      {"[]", R"("15")", "fp8,fp8,bf16,per_tensor,1,64,256,512,10"},
      {"[64,1]", R"("5")", "fp8,fp8,fp16,per_token,1,64,256,512,10"},
      {"[64,4]", R"("15")", "fp8,fp8,bf16,block128,1,64,256,512,10"},
      {"[3,9]", R"("15")", "27 scales, which no table has"},
      {"[]", R"("")", "no type of the output"},
  };
  for (const auto& fact : kFacts) {
    const std::string call = absl::StrCat(
        R"({"cat":"cpu_op","name":"aten::_scaled_mm","args":{"External id":1,)",
        R"("Input Dims":[[64,512],[512,256],)", fact.scales,
        R"(,[]],"Input type":["c10::Float8_e4m3fn","c10::Float8_e4m3fn",)",
        R"("float","float"],"Concrete Inputs":["","","","","","",)",
        fact.concrete, "]}},");
    const auto imported = ImportTorchTrace(
        Trace(call + Kernel(R"("External id":1)", 10)), Context());
    EXPECT_THAT(imported.ok() ? imported->text : Refusal(imported),
                HasSubstr(fact.outcome));
  }
}

TEST(TorchTraceTest, Refusals) {
  const std::string call = Operation(1, "aten::mm", "[[2,2],[2,2]]", kBf16);
  const std::string kernel = Kernel(R"("External id":1)", 10);
  const std::string whole = Trace(call + kernel);
  EXPECT_THAT(
      Refusal(ImportTorchTrace(whole.substr(0, whole.size() - 3), Context())),
      HasSubstr("The file is cut off."));
  EXPECT_THAT(Refusal(ImportTorchTrace(Trace(call), Context())),
              HasSubstr("no kernel of a device"));
  EXPECT_THAT(Refusal(ImportTorchTrace(Trace(kernel), Context())),
              HasSubstr("record_shapes=True"));
  EXPECT_EQ(Refusal(ImportTorchTrace("{}", Context())),
            "has no list traceEvents");
  EXPECT_THAT(
      Refusal(ImportTorchTrace(
          absl::StrReplaceAll(
              whole, {{"}],\"trace", "},{\"name\":\"NVIDIA L4\"}],\"trace"}}),
          Context())),
      HasSubstr("of several kinds of device: NVIDIA H200 and NVIDIA L4"));
  // Nesting costs no stack.
  EXPECT_THAT(Refusal(ImportTorchTrace(std::string(1 << 20, '['), Context())),
              HasSubstr("is no whole JSON"));
}

}  // namespace
}  // namespace mansard::calibrate
