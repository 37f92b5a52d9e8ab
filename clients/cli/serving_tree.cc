// The commands that ask what an engine serves.
#include <limits>

#include "clients/cli/command_tree.h"
#include "clients/cli/help.h"

namespace mansard::cli {
namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

}  // namespace

const std::vector<ServingCount>& BatchCounts() {
  static const auto* const kFlags = new std::vector<ServingCount>{
      {"--kv-budget", &ServingFlags::kv_budget, kMax64, false,
       "Tokens of the cache that the batch may take (default: all)"},
      {"--prefill-tokens", &ServingFlags::prefill_tokens, kMax32, false,
       "Tokens of prompts that a pass carries beside the decodes"},
  };
  return *kFlags;
}

const std::vector<ServingCount>& ShapeCounts() {
  static const auto* const kFlags = new std::vector<ServingCount>{
      {"--input-tokens", &ServingFlags::input, kMax32, false,
       "Tokens of a prompt"},
      {"--output-tokens", &ServingFlags::output, kMax32, false,
       "Tokens that a request makes"},
  };
  return *kFlags;
}

const std::vector<ServingCount>& DraftCounts() {
  static const auto* const kFlags = new std::vector<ServingCount>{
      {"--draft-tokens", &ServingFlags::draft_tokens, kMax32, false,
       "Drafted tokens that each decode verifies"},
  };
  return *kFlags;
}

const std::vector<ServingCount>& StateCounts() {
  static const auto* const kFlags = new std::vector<ServingCount>{
      {"--running", &ServingFlags::running, kMax32, false,
       "Requests that decode"},
      {"--waiting", &ServingFlags::waiting, kMax32, false,
       "Requests whose prompts are not computed yet"},
      {"--prefill-in-flight", &ServingFlags::prefill_in_flight, kMax64, false,
       "Tokens of those prompts that are still to be computed"},
      {"--decode-in-flight", &ServingFlags::decode_in_flight, kMax64, false,
       "Tokens in the caches of those that decode"},
  };
  return *kFlags;
}

const std::vector<ServingCount>& MaxBatchCounts() {
  static const auto* const kFlags = new std::vector<ServingCount>{
      {"--max-batch", &ServingFlags::max_batch, kMax32, true,
       "Largest batch to fit (default: what the engine runs)"},
  };
  return *kFlags;
}

const std::vector<ServingCount>& ReportCounts() {
  static const auto* const kFlags = new std::vector<ServingCount>{
      {"--reports", &ServingFlags::reports, kMax32, false,
       "Of --from, one after the other (default 1; 0: until stopped)"},
  };
  return *kFlags;
}

void CommandTree::AddShape(CLI::App* app, const char* group) {
  AddCounts(app, ShapeCounts(), group);
  AddText(app, "--prefix-hit", arguments_.serving.prefix_hit,
          "Share of the prompt that the prefix cache has (default 0)", "RATIO",
          group);
}

void CommandTree::AddTargets(CLI::App* app) {
  ServingFlags& flags = arguments_.serving;
  const char* group = "Targets";
  AddText(app, "--ttft", flags.ttft, "Arrival to first token: 500ms", "TIME",
          group);
  AddText(app, "--itl", flags.itl, "One pass that decodes: 20ms", "TIME",
          group);
  AddText(app, "--tpot", flags.tpot, "Mean time per output token", "TIME",
          group);
  AddText(app, "--e2e", flags.e2e, "Arrival to last token", "TIME", group);
}

void CommandTree::AddBatch() {
  CLI::App* app =
      AddCommand(&root_, "batch", "How many sequences may decode together",
                 help::kBatchFooter);
  AddLeaf(app, Command::kBatch, false);
  AddText(app, "--engine", arguments_.estimate.engine,
          "An engine of the catalog, instead of all that says what runs", "ID",
          "What runs where");
  ServingFlags& flags = arguments_.serving;
  const char* group = "Sequences";
  AddText(app, "--context", flags.context,
          "Mean tokens of each, new ones included; or TOKENS=SHARE,...",
          "TOKENS", group);
  AddCounts(app, BatchCounts(), group);
  AddCounts(app, DraftCounts(), group);
  AddText(app, "--acceptance", flags.acceptance,
          "Share of drafts that are accepted (default 0)", "RATE", group);
  AddTargets(app);
  AddShape(app, "Requests that keep coming (for --ttft, --e2e)");
  AddDeployment(app);
}

void CommandTree::AddPredict(CLI::App* engine) {
  CLI::App* app =
      AddCommand(engine, "predict", "Latencies of a request, placed there now",
                 help::kPredictFooter);
  AddLeaf(app, Command::kEnginePredict, false);
  // Not "ID": rows of a file may name engines themselves.
  app->add_option("ENGINE", arguments_.operand, "As in `mansard engine list`");
  ServingFlags& flags = arguments_.serving;
  const char* group = "The request";
  AddShape(app, group);
  AddCounts(app,
            std::vector<ServingCount>{
                {"--generated", &ServingFlags::generated, kMax32, false,
                 "Tokens that it has made already (default 0)"}},
            group);
  AddCounts(app, DraftCounts(), group);
  AddText(app, "--accepted", flags.accepted,
          "Tokens that a decode gains by a pass (default 1)", "TOKENS", group);
  const char* state = "The engine's state (default: idle)";
  AddCounts(app, StateCounts(), state);
  AddText(app, "--kv-usage", flags.kv_usage, "Share of the cache in use",
          "RATIO", state);
  AddTargets(app);
  AddText(app, "--queries", flags.queries,
          "Rows instead of these flags: CSV, or the service's JSON", "FILE",
          "Many at once");
}

void CommandTree::AddCapacity(CLI::App* engine) {
  CLI::App* app = AddCommand(engine, "capacity",
                             "Requests a second that it serves within targets",
                             help::kCapacityFooter);
  AddLeaf(app, Command::kEngineCapacity, false);
  app->add_option("ID", arguments_.operand, "As in `mansard engine list`");
  ServingFlags& flags = arguments_.serving;
  const char* group = "Requests";
  AddShape(app, group);
  AddCounts(app, DraftCounts(), group);
  AddText(app, "--accepted", flags.accepted,
          "Tokens that a decode gains by a pass (default 1)", "TOKENS", group);
  AddTargets(app);
  AddText(app, "--objective", flags.objective,
          "throughput (default) or latency: what the batch is chosen for",
          "KIND", "Answer");
}

void CommandTree::AddLatencyModel(CLI::App* engine) {
  CLI::App* app = AddCommand(engine, "latency-model",
                             "Times as lines: alpha, beta, gamma, delta",
                             help::kLatencyModelFooter);
  AddLeaf(app, Command::kEngineLatencyModel, false);
  app->add_option("ID", arguments_.operand, "As in `mansard engine list`");
  AddShape(app, "Requests");
  AddCounts(app, MaxBatchCounts(), "Requests");
}

void CommandTree::AddLoad(CLI::App* engine) {
  CLI::App* app =
      AddCommand(engine, "load", "What requests see of it at a load of them",
                 help::kLoadFooter);
  AddLeaf(app, Command::kEngineLoad, false);
  app->add_option("ID", arguments_.operand, "As in `mansard engine list`");
  ServingFlags& flags = arguments_.serving;
  const char* group = "Requests";
  AddShape(app, group);
  AddText(app, "--concurrency", flags.concurrency, "Kept in flight", "COUNT",
          group);
  AddText(app, "--rate", flags.rate, "Or that arrive a second", "RATE", group);
  AddText(app, "--requests-per-slot", flags.requests_per_slot,
          "That follow each in flight, after all begin at once (default: many)",
          "COUNT", group);
  AddCounts(app, DraftCounts(), group);
  AddText(app, "--accepted", flags.accepted,
          "Tokens that a decode gains by a pass (default 1)", "TOKENS", group);
}

void CommandTree::AddObserve(CLI::App* engine) {
  CLI::App* app =
      AddCommand(engine, "observe", "What it was seen to take: its own factors",
                 help::kObserveFooter);
  AddLeaf(app, Command::kEngineObserve, false);
  app->add_option("ID", arguments_.operand, "As in `mansard engine list`");
  ServingFlags& flags = arguments_.serving;
  const char* group = "Observations";
  AddText(app, "--file", flags.observations,
          "Runs or steps: CSV, or the service's JSON", "FILE", group);
  AddText(app, "--from", flags.from,
          "Or where a running vLLM or SGLang shows its metrics", "URL", group);
  AddText(app, "--every", flags.every,
          "From one look at them to the next (default 1m)", "TIME", group);
  AddCounts(app, ReportCounts(), group);
  app->add_flag("--forget", flags.forget, "Forget those before")->group(group);
  AddText(app, "--apply", flags.apply,
          "on or off: whether the engine's answers hold the factors", "SWITCH",
          "The change");
  app->add_flag("--dry-run", arguments_.catalog.dry_run,
                "Check alone, store nothing")
      ->group("The change");
}

void CommandTree::AddEngineImport(CLI::App* engine) {
  CLI::App* app =
      AddCommand(engine, "import", "The engine that a command line starts",
                 help::kEngineImportFooter);
  AddLeaf(app, Command::kEngineImport, true);
  ImportFlags& flags = arguments_.import;
  const char* group = "The command (one of them)";
  AddText(app, "--vllm-args", flags.vllm, "vllm serve MODEL --flag ...", "TEXT",
          group);
  AddText(app, "--sglang-args", flags.sglang,
          "python -m sglang.launch_server --flag ...", "TEXT", group);
  AddText(app, "--trtllm-args", flags.trtllm,
          "trtllm-serve MODEL --flag ...; its options file is read", "TEXT",
          group);
  AddModel(app);
  AddFormats(app, "Formats (default: as the command says, or the model's own)");
  app->add_flag("--strict", flags.strict, "Refuse flags that nobody knows")
      ->group("The command (one of them)");
  AddText(app, "--apply", flags.apply,
          "Store it under this name: created, or updated", "ID", "The change");
  app->add_flag("--dry-run", arguments_.catalog.dry_run,
                "Check alone, store nothing")
      ->group("The change");
}

}  // namespace mansard::cli
