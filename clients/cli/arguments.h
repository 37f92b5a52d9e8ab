// What a command line asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace mansard::cli {

enum class Command {
  kHelp,
  kVersion,
  kStatus,
  kEstimate,
  kKernelGemm,
  kKernelAttention,
  kKernelMoe,
  kKernelCollective,
  kKernelElementwise,
  kRoofline,
  kKv,
  kBatch,
  kModelImport,
  kModelList,
  kModelGet,
  kModelDiff,
  kHardwareList,
  kHardwareGet,
  kModelApply,
  kModelDelete,
  kHardwareApply,
  kHardwareDelete,
  kHardwareDiff,
  kEngineList,
  kEngineGet,
  kEngineCreate,
  kEngineApply,
  kEngineDelete,
  kEngineDiff,
  kEngineImport,
  kEnginePredict,
  kEngineCapacity,
  kEngineLatencyModel,
  kEngineLoad,
  kEngineObserve,
  kCalibrationList,
  kCalibrationGet,
  kCalibrationApply,
  kCalibrationDelete,
  kCalibrationDiff,
  kValidate,
};

// In the order in which -o lists them.
enum class OutputFormat { kTable, kJson, kCsv, kMarkdown, kTextproto, kSvg };

enum class Phase { kPrefill, kDecode, kMixed };

// Counts are as typed; they fit the request's fields, their ranges are the
// server's to check. Empty: not given.
struct EstimateFlags {
  // Instead of all that says what runs where, and how.
  std::string engine = "";
  std::string model = "";
  std::string hardware = "";
  std::string fabric = "";
  std::string stack = "";
  Phase phase = Phase::kDecode;
  std::optional<int64_t> batch = std::nullopt;
  std::optional<int64_t> context = std::nullopt;
  std::optional<int64_t> tokens = std::nullopt;
  std::optional<int64_t> prefill_batch = std::nullopt;
  std::optional<int64_t> prefill_context = std::nullopt;
  std::optional<int64_t> prefill_tokens = std::nullopt;
  std::optional<int64_t> draft_tokens = std::nullopt;
  std::optional<double> acceptance = std::nullopt;
  std::optional<int64_t> encoder_tokens = std::nullopt;
  std::optional<int64_t> tp = std::nullopt;
  std::optional<int64_t> pp = std::nullopt;
  std::optional<int64_t> ep = std::nullopt;
  std::optional<int64_t> dp = std::nullopt;
  std::optional<int64_t> moe_tp = std::nullopt;
  std::optional<int64_t> cp = std::nullopt;
  std::optional<int64_t> nodes = std::nullopt;
  std::optional<int64_t> micro_batches = std::nullopt;
  std::optional<int64_t> kv_heads = std::nullopt;
  std::string weights = "";
  std::string activations = "";
  // "experts=mxfp4,head=fp8": by class of linear layers.
  std::string weights_of = "";
  std::string activations_of = "";
  std::string kv = "";
  std::string state = "";
  // Where the prompts' keys and values go; empty: they stay.
  std::string kv_to = "";
  std::optional<int64_t> kv_nics = std::nullopt;
  bool kv_layer_wise = false;
  std::string routing = "";
  bool unfused = false;
  bool unfused_residual = false;
  bool eager = false;
  std::string all_reduce = "";
  std::string overlap = "";
  std::optional<double> overlap_efficiency = std::nullopt;
  std::optional<int64_t> overlap_multiprocessors = std::nullopt;
  bool require_fit = false;
  bool ops = false;
  bool waterfall = false;
  bool memory = false;
  bool sensitivity = false;
  bool what_if = false;
  // Ids, and prices by id, as typed; separated by commas.
  std::string what_if_hardware = "";
  std::string price_per_hour = "";
};

// What `mansard kernel` takes beside the flags that it shares with `estimate`:
// hardware, formats, and the pass of attention.
struct KernelFlags {
  std::optional<int64_t> m = std::nullopt;
  std::optional<int64_t> n = std::nullopt;
  std::optional<int64_t> k = std::nullopt;
  std::optional<int64_t> batch = std::nullopt;
  std::optional<int64_t> heads = std::nullopt;
  std::optional<int64_t> kv_heads = std::nullopt;
  std::optional<int64_t> head_size = std::nullopt;
  std::optional<int64_t> window = std::nullopt;
  std::optional<int64_t> chunk = std::nullopt;
  std::optional<int64_t> kv_rank = std::nullopt;
  std::optional<int64_t> nope = std::nullopt;
  std::optional<int64_t> rope = std::nullopt;
  std::optional<int64_t> value = std::nullopt;
  bool latent = false;
  bool full = false;
  std::optional<int64_t> tokens = std::nullopt;
  std::optional<int64_t> hidden = std::nullopt;
  std::optional<int64_t> experts = std::nullopt;
  std::optional<int64_t> top_k = std::nullopt;
  std::optional<int64_t> width = std::nullopt;
  std::optional<int64_t> shared_width = std::nullopt;
  bool plain = false;
  std::optional<int64_t> bytes = std::nullopt;
  std::optional<int64_t> ranks = std::nullopt;
  std::optional<int64_t> nodes = std::nullopt;
  std::string algorithm = "";
  std::optional<double> imbalance = std::nullopt;
  std::optional<int64_t> multiprocessors = std::nullopt;
  std::optional<int64_t> rows = std::nullopt;
  std::optional<int64_t> columns = std::nullopt;
  std::optional<int64_t> fused = std::nullopt;
};

// What `mansard kv` takes beside a target.
struct KvFlags {
  std::optional<int64_t> tokens = std::nullopt;
  std::optional<int64_t> cached = std::nullopt;
  std::optional<int64_t> nics = std::nullopt;
  std::string from = "";  // Separated by commas.
  std::string storage_bandwidth = "";
  std::string storage_latency = "";
};

// Of `mansard validate`, as typed: RunValidate checks them.
struct ValidateFlags {
  std::string measured = "";  // Files, separated by commas.
  std::string hardware = "";
  std::string stack = "";
  std::string tier = "";
  std::string worst = "";
  std::string predictions = "";
  bool all_rows = false;
};

// Of the commands that change the catalog.
struct CatalogFlags {
  std::string file = "";
  std::string etag = "";
  bool dry_run = false;
  // Of `engine create`.
  std::string display_name = "";
  std::optional<int64_t> max_batched_tokens = std::nullopt;
  std::optional<int64_t> max_sequences = std::nullopt;
  std::optional<int64_t> block_tokens = std::nullopt;
  std::optional<int64_t> kv_tokens = std::nullopt;
  std::optional<double> memory_utilization = std::nullopt;
  std::optional<int64_t> poll_passes = std::nullopt;
  std::optional<int64_t> batch_wait_passes = std::nullopt;
  std::optional<double> batch_wait_tokens = std::nullopt;
  std::string scheduling = "";
  std::string role = "";
};

// What is asked of an engine that serves. Ratios and times as typed:
// serving_request.h reads them.
struct ServingFlags {
  // Of `batch`: "4096", or "1024=3,8192=1".
  std::string context = "";
  std::optional<int64_t> kv_budget = std::nullopt;
  std::optional<int64_t> prefill_tokens = std::nullopt;
  std::optional<int64_t> draft_tokens = std::nullopt;
  std::string acceptance = "";
  // Requests.
  std::optional<int64_t> input = std::nullopt;
  std::optional<int64_t> output = std::nullopt;
  std::string prefix_hit = "";
  std::string accepted = "";
  // Targets.
  std::string ttft = "";
  std::string tpot = "";
  std::string itl = "";
  std::string e2e = "";
  // Of `predict`: the engine's state.
  std::optional<int64_t> running = std::nullopt;
  std::optional<int64_t> waiting = std::nullopt;
  std::optional<int64_t> prefill_in_flight = std::nullopt;
  std::optional<int64_t> decode_in_flight = std::nullopt;
  std::optional<int64_t> generated = std::nullopt;
  std::string kv_usage = "";
  std::string queries = "";
  // Of `load`.
  std::string concurrency = "";
  std::string rate = "";
  std::string requests_per_slot = "";
  // Of `observe`.
  std::string observations = "";
  std::string from = "";  // Where the engine shows its metrics.
  std::string every = "";
  std::optional<int64_t> reports = std::nullopt;
  bool forget = false;
  std::string apply = "";  // "on", "off"; empty: as it is.
  // Of `capacity` and `latency-model`.
  std::string objective = "";
  std::optional<int64_t> max_batch = std::nullopt;
};

// Of `engine import`.
struct ImportFlags {
  std::string vllm = "";
  std::string sglang = "";
  std::string trtllm = "";
  std::string apply = "";  // The engine's id; empty: it is shown alone.
  bool strict = false;
};

struct Arguments {
  Command command = Command::kHelp;
  // "host:port", or empty: the embedded engine.
  std::string server;
  absl::Duration timeout = absl::Seconds(10);
  OutputFormat output = OutputFormat::kTable;
  bool no_color = false;
  bool quiet = false;
  bool fail_if_infeasible = false;
  EstimateFlags estimate;
  KernelFlags kernel;
  KvFlags kv;
  CatalogFlags catalog;
  ValidateFlags validate;
  ServingFlags serving;
  ImportFlags import;
  // Roofline: whose bytes the intensities count.
  std::string level;
  // The id or file that the command is about.
  std::string operand;
  std::string second_operand;
  // kHelp: what to print.
  std::string help;
};

}  // namespace mansard::cli
