#include "clients/cli/command_tree.h"

#include <limits>

#include "clients/cli/help.h"

namespace mansard::cli {
namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

}  // namespace

const std::vector<CountFlag>& WorkFlags() {
  static const auto* const kFlags = new std::vector<CountFlag>{
      {"--batch", &EstimateFlags::batch, kMax32, false,
       "Sequences (default 1)"},
      {"--context", &EstimateFlags::context, kMax64, false,
       "Tokens per sequence, including those computed now"},
      {"--tokens", &EstimateFlags::tokens, kMax32, false,
       "New tokens per sequence (default: decode 1 + drafts, prefill all)"},
      {"--prefill-batch", &EstimateFlags::prefill_batch, kMax32, false,
       "Mixed: prompts (default 1)"},
      {"--prefill-tokens", &EstimateFlags::prefill_tokens, kMax32, false,
       "Mixed: new tokens per prompt"},
      {"--prefill-context", &EstimateFlags::prefill_context, kMax64, false,
       "Mixed: tokens per prompt, new ones included"},
  };
  return *kFlags;
}

const std::vector<CountFlag>& DraftFlags() {
  static const auto* const kFlags = new std::vector<CountFlag>{
      {"--draft-tokens", &EstimateFlags::draft_tokens, kMax32, false,
       "Tokens that the model drafts per decoding sequence (default 0)"},
      {"--encoder-tokens", &EstimateFlags::encoder_tokens, kMax64, false,
       "Encoder positions per sequence, for cross-attention (default 0)"},
  };
  return *kFlags;
}

const std::vector<CountFlag>& LayoutFlags() {
  static const auto* const kFlags = new std::vector<CountFlag>{
      {"--tp", &EstimateFlags::tp, kMax32, true, "Tensor parallel devices"},
      {"--dp", &EstimateFlags::dp, kMax32, true,
       "Attention data parallel ranks, which share the requests"},
      {"--ep", &EstimateFlags::ep, kMax32, true,
       "Ranks with different experts; ep x moe-tp = tp x dp"},
      {"--moe-tp", &EstimateFlags::moe_tp, kMax32, true,
       "Ranks that share each expert (default: tp x dp / ep)"},
      {"--cp", &EstimateFlags::cp, kMax32, true,
       "Context parallel ranks, which share positions"},
      {"--pp", &EstimateFlags::pp, kMax32, true, "Pipeline stages"},
      {"--micro-batches", &EstimateFlags::micro_batches, kMax32, true,
       "Parts of the pass, one after another in the pipeline"},
      {"--nodes", &EstimateFlags::nodes, kMax32, true,
       "Nodes (default: as few as the fabric allows)"},
      {"--kv-heads", &EstimateFlags::kv_heads, kMax32, false,
       "KV heads in place of the model's own"},
  };
  return *kFlags;
}

const std::vector<CountFlag>& SendFlags() {
  static const auto* const kFlags = new std::vector<CountFlag>{
      {"--kv-nics", &EstimateFlags::kv_nics, kMax32, true,
       "NICs that the ranks of a request use (default: one each)"},
  };
  return *kFlags;
}

const std::vector<KvCount>& KvCounts() {
  static const auto* const kFlags = new std::vector<KvCount>{
      {"--tokens", &KvFlags::tokens, kMax64, false, "Tokens of the prefix"},
      {"--cached", &KvFlags::cached, kMax64, false,
       "Of them, cached where they are needed (default 0)"},
      {"--nics", &KvFlags::nics, kMax32, true,
       "NICs that the ranks use together, for rdma (default: one each)"},
  };
  return *kFlags;
}

const std::vector<CountFlag>& OverlapFlags() {
  static const auto* const kFlags = new std::vector<CountFlag>{
      {"--overlap-sms", &EstimateFlags::overlap_multiprocessors, kMax32, false,
       "Multiprocessors that communication takes (default 0)"},
  };
  return *kFlags;
}

const std::vector<CatalogCount>& LimitFlags() {
  static const auto* const kFlags = new std::vector<CatalogCount>{
      {"--max-batched-tokens", &CatalogFlags::max_batched_tokens, kMax32, true,
       "New tokens of a pass, on all data ranks together"},
      {"--max-sequences", &CatalogFlags::max_sequences, kMax32, true,
       "Requests that run at a time, on all data ranks together"},
      {"--kv-block-tokens", &CatalogFlags::block_tokens, kMax32, true,
       "Tokens of a block of the cache"},
      {"--kv-tokens", &CatalogFlags::kv_tokens, kMax64, true,
       "Tokens in the cache, where the engine says so itself"},
  };
  return *kFlags;
}

const std::vector<CatalogCount>& AdmissionFlags() {
  static const auto* const kFlags = new std::vector<CatalogCount>{
      {"--poll-passes", &CatalogFlags::poll_passes, kMax32, true,
       "Decode passes from one look at new requests to the next (default 1)"},
      {"--batch-wait-passes", &CatalogFlags::batch_wait_passes, kMax32, true,
       "Decode passes that prompts are held back for, to run together"},
  };
  return *kFlags;
}

CommandTree::CommandTree() : root_(help::kRoot) {
  root_.name("mansard");
  root_.footer(help::kRootFooter);
  root_.fallthrough();
  root_.get_formatter()->column_width(30);
  AddGlobalFlags();
  AddEstimate();
  AddKernels();
  AddRoofline();
  AddKv();
  AddBatch();
  AddModelAndHardware();
  AddEngine();
  AddCalibration();
  AddValidate();
  AddLeaf(
      AddCommand(&root_, "status", "Is the engine there, and what does it hold",
                 help::kStatusFooter),
      Command::kStatus, false);
  AddLeaf(AddCommand(&root_, "version", "Version of this program", ""),
          Command::kVersion, false);
}

CLI::App* CommandTree::AddCommand(CLI::App* parent, const std::string& name,
                                  const std::string& description,
                                  const char* footer) {
  CLI::App* app = parent->add_subcommand(name, description);
  app->fallthrough();
  app->footer(footer);
  return app;
}

void CommandTree::AddLeaf(CLI::App* app, Command command, bool textproto) {
  leaves_.push_back({app, command, textproto});
}

void CommandTree::AddGlobalFlags() {
  const char* group = "Everywhere";
  root_.set_help_flag("-h,--help", "This text")->group(group);
  root_.add_flag("--version", raw_.version, "Version of this program")
      ->group(group);
  root_
      .add_option("--server", raw_.server,
                  "HOST:PORT of a mansardd; default: the embedded engine")
      ->envname("MANSARD_SERVER")
      ->group(group);
  root_
      .add_option("--timeout", raw_.timeout,
                  "Time for the whole command (default 10s)")
      ->group(group);
  root_
      .add_option(
          "-o,--output", raw_.output,
          "table (default), json, csv, md; data: textproto; estimate: svg")
      ->group(group);
  root_.add_flag("--no-color", arguments_.no_color, "No colours")->group(group);
  root_.add_flag("-q,--quiet", arguments_.quiet, "Results and errors only")
      ->group(group);
  root_
      .add_flag("--fail-if-infeasible", arguments_.fail_if_infeasible,
                "Exit 4 if the model does not fit")
      ->group(group);
}

void CommandTree::AddHardwareFlags(CLI::App* app) {
  EstimateFlags& flags = arguments_.estimate;
  const char* group = "What runs where";
  AddText(app, "--hardware", flags.hardware, "An id, or a profile's textproto",
          "HARDWARE", group);
  AddText(app, "--fabric", flags.fabric,
          "What connects the devices (default: the profile's first)", "ID",
          group);
  AddText(app, "--stack", flags.stack,
          "Kernel stack (default: the profile's first)", "ID", group);
}

void CommandTree::AddFormats(CLI::App* app, const char* group) {
  EstimateFlags& flags = arguments_.estimate;
  AddText(app, "--weights", flags.weights,
          "Linear layers: bf16, fp8, int4, mxfp4, ...", "FORMAT", group);
  AddText(app, "--activations", flags.activations, "What GEMMs read", "FORMAT",
          group);
  AddText(app, "--kv", flags.kv, "KV cache", "FORMAT", group);
  AddText(app, "--state", flags.state, "Recurrent state", "FORMAT", group);
}

void CommandTree::AddRouting(CLI::App* app, const char* group) {
  AddText(app, "--routing", arguments_.estimate.routing,
          "Tokens to experts: independent (default), or spread evenly", "KIND",
          group);
}

void CommandTree::AddUnfused(CLI::App* app, const char* group) {
  app->add_flag("--unfused", arguments_.estimate.unfused,
                "Scores go through memory, as without FlashAttention")
      ->group(group);
}

void CommandTree::AddStepChoices(CLI::App* app, const char* group) {
  EstimateFlags& flags = arguments_.estimate;
  app->add_flag("--unfused-residual", flags.unfused_residual,
                "Residuals are added in kernels of their own")
      ->group(group);
  app->add_flag("--eager", flags.eager,
                "The host launches each kernel, as without CUDA graphs")
      ->group(group);
  AddText(app, "--all-reduce", flags.all_reduce,
          "All of them by one, such as ring or one-shot (default: by size)",
          "ALGORITHM", group);
  AddText(app, "--overlap", flags.overlap,
          "two-batch: halves take turns; gemm: behind GEMMs; none (default)",
          "KIND", group);
  app->add_option("--overlap-efficiency", raw_.overlap_efficiency,
                  "Share of the shorter that is hidden (default 0.8, assumed)")
      ->type_name("RATIO")
      ->group(group);
  AddCounts(app, OverlapFlags(), group);
}

void CommandTree::AddModel(CLI::App* app) {
  AddText(app, "--model", arguments_.estimate.model,
          "An id, or a config.json, its folder, or a graph's textproto",
          "MODEL", "What runs where");
  AddHardwareFlags(app);
}

void CommandTree::AddLayoutAndFormats(CLI::App* app) {
  AddCounts(app, LayoutFlags(), "Layout (default 1 each)");
  constexpr const char* kFormats = "Formats (default: the model's own)";
  AddFormats(app, kFormats);
  AddText(app, "--weights-of", arguments_.estimate.weights_of,
          "By class of layers, over --weights: experts=mxfp4,head=fp8",
          "CLASS=FORMAT,...", kFormats);
  AddText(app, "--activations-of", arguments_.estimate.activations_of,
          "The same, over --activations", "CLASS=FORMAT,...", kFormats);
}

void CommandTree::AddSending(CLI::App* app) {
  const char* group = "Prefill and decode apart";
  AddText(app, "--kv-to", arguments_.estimate.kv_to,
          "Link to the pool that decodes: rdma, nvlink or pcie", "LINK", group);
  AddCounts(app, SendFlags(), group);
  app->add_flag("--kv-layer-wise", arguments_.estimate.kv_layer_wise,
                "Each layer is sent while later ones are computed")
      ->group(group);
}

void CommandTree::AddPass(CLI::App* app) {
  AddText(app, "--engine", arguments_.estimate.engine,
          "An engine of the catalog, instead of all that follows but the work",
          "ID", "What runs where");
  AddModel(app);
  AddText(app, "--phase", raw_.phase, "prefill, decode or mixed", "PHASE",
          "Work");
  AddCounts(app, WorkFlags(), "Work");
  AddCounts(app, DraftFlags(), "Work");
  app->add_option("--acceptance", raw_.acceptance,
                  "Share of drafts that are accepted, 0 to 1 (no default)")
      ->type_name("RATE")
      ->group("Work");
  AddLayoutAndFormats(app);
  AddSending(app);
  AddRouting(app, "What if");
  AddUnfused(app, "What if");
  AddStepChoices(app, "What if");
  app->add_flag("--require-fit", arguments_.estimate.require_fit,
                "Refuse when the model does not fit")
      ->group("Answer");
}

void CommandTree::AddEstimate() {
  CLI::App* app =
      AddCommand(&root_, "estimate", "How long one pass takes, and why",
                 help::kEstimateFooter);
  AddLeaf(app, Command::kEstimate, false);
  AddPass(app);
  app->add_flag("--ops", arguments_.estimate.ops, "Every op")->group("Answer");
  app->add_flag("--waterfall", arguments_.estimate.waterfall,
                "Bytes and time at every memory and link")
      ->group("Answer");
  app->add_flag("--memory", arguments_.estimate.memory,
                "What each part takes of the memory")
      ->group("Answer");
  EstimateFlags& flags = arguments_.estimate;
  app->add_flag("--sensitivity", flags.sensitivity,
                "What 10 % more of each resource gains")
      ->group("Answer");
  app->add_flag(
         "--what-if", flags.what_if,
         "Formats, sizes, kernels and devices, each estimated; best first")
      ->group("Answer");
  AddText(app, "--what-if-hardware", flags.what_if_hardware,
          "Devices to try (default: the next one of the vendor)", "ID,...",
          "Answer");
  AddText(app, "--price-per-hour", flags.price_per_hour,
          "Of one device, for costs: of --hardware, or by id (no default)",
          "PRICE|ID=PRICE,...", "Answer");
}

void CommandTree::AddRoofline() {
  CLI::App* app =
      AddCommand(&root_, "roofline",
                 "One pass on the roofline: what bounds it, and until when",
                 help::kRooflineFooter);
  AddLeaf(app, Command::kRoofline, false);
  AddPass(app);
  AddText(app, "--level", arguments_.level,
          "Whose bytes intensities count: hbm (default) or l2", "LEVEL",
          "Answer");
}

void CommandTree::AddKv() {
  CLI::App* app = AddCommand(
      &root_, "kv", "Recompute a prefix, or fetch its keys and values?",
      help::kKvFooter);
  AddLeaf(app, Command::kKv, false);
  AddModel(app);
  KvFlags& flags = arguments_.kv;
  const char* group = "The prefix";
  AddCounts(app, KvCounts(), group);
  AddText(app, "--from", flags.from,
          "Where it is: hbm, host, nvlink, rdma, storage", "SOURCE,...", group);
  AddText(app, "--storage-bandwidth", flags.storage_bandwidth,
          "Of storage, all devices together: 10GB/s (no default)", "RATE",
          group);
  AddText(app, "--storage-latency", flags.storage_latency,
          "Of storage, to the first byte: 200us (no default)", "TIME", group);
  AddLayoutAndFormats(app);
}

void CommandTree::AddModelAndHardware() {
  CLI::App* model = AddCommand(
      &root_, "model", "Models: list, get, apply, delete, diff, import", "");
  AddLeaf(AddCommand(model, "list", "The models in the catalog", ""),
          Command::kModelList, false);
  CLI::App* get = AddCommand(model, "get", "Shapes and sizes of one model",
                             help::kModelGetFooter);
  get->add_option("ID", arguments_.operand, "As in `mansard model list`");
  AddLeaf(get, Command::kModelGet, true);
  CLI::App* diff = AddCommand(model, "diff", "Where two models differ",
                              help::kModelDiffFooter);
  diff->add_option("A", arguments_.operand,
                   "As in `mansard model list`, or a file as `model import` "
                   "takes it");
  diff->add_option("B", arguments_.second_operand, "The same");
  AddLeaf(diff, Command::kModelDiff, false);
  CLI::App* import =
      AddCommand(model, "import", "What a Hugging Face config.json amounts to",
                 help::kModelImportFooter);
  import->add_option("FILE", arguments_.operand,
                     "A config.json, its folder, or - for standard input");
  AddLeaf(import, Command::kModelImport, true);
  AddApply(model, Command::kModelApply, help::kModelApplyFooter);
  AddDelete(model, "model", Command::kModelDelete);

  CLI::App* hardware = AddCommand(
      &root_, "hardware", "Hardware: list, get, apply, delete, diff", "");
  AddLeaf(AddCommand(hardware, "list", "The hardware in the catalog", ""),
          Command::kHardwareList, false);
  CLI::App* profile =
      AddCommand(hardware, "get", "One profile, with the source of each number",
                 help::kHardwareGetFooter);
  profile->add_option("ID", arguments_.operand,
                      "As in `mansard hardware list`");
  AddLeaf(profile, Command::kHardwareGet, true);
  AddApply(hardware, Command::kHardwareApply, help::kHardwareApplyFooter);
  AddDelete(hardware, "hardware", Command::kHardwareDelete);
  AddDiff(hardware, "hardware", Command::kHardwareDiff,
          help::kHardwareDiffFooter);
}

void CommandTree::AddGet(CLI::App* parent, const std::string& noun,
                         Command command, const char* footer) {
  CLI::App* app = AddCommand(parent, "get", "One " + noun, footer);
  app->add_option("ID", arguments_.operand,
                  "As in `mansard " + noun + " list`");
  AddLeaf(app, command, true);
}

void CommandTree::AddApply(CLI::App* parent, Command command,
                           const char* footer) {
  CLI::App* app = AddCommand(parent, "apply",
                             "Create or update what a file describes", footer);
  app->add_option("RESOURCE", arguments_.operand,
                  "Id; default: the file's own, or its name without ending");
  AddText(app, "-f,--file", arguments_.catalog.file,
          "Textproto or JSON, or - for standard input", "FILE", "The change");
  app->add_flag("--dry-run", arguments_.catalog.dry_run,
                "Check alone, store nothing")
      ->group("The change");
  AddLeaf(app, command, false);
}

void CommandTree::AddDelete(CLI::App* parent, const std::string& noun,
                            Command command) {
  CLI::App* app = AddCommand(
      parent, "delete", "Take it, with all revisions, from the catalog", "");
  app->add_option("ID", arguments_.operand,
                  "As in `mansard " + noun + " list`");
  AddText(app, "--etag", arguments_.catalog.etag,
          "Only where it is still the one with this etag", "ETAG",
          "The change");
  AddLeaf(app, command, false);
}

void CommandTree::AddDiff(CLI::App* parent, const std::string& noun,
                          Command command, const char* footer) {
  CLI::App* app =
      AddCommand(parent, "diff", "Where two differ, field by field", footer);
  app->add_option("A", arguments_.operand,
                  "As in `mansard " + noun + " list`, or a file");
  app->add_option("B", arguments_.second_operand, "The same");
  AddLeaf(app, command, false);
}

void CommandTree::AddDeployment(CLI::App* app) {
  AddModel(app);
  AddLayoutAndFormats(app);
  AddUnfused(app, "Kernels");
  AddStepChoices(app, "Kernels");
  const char* limits = "Limits (default: the kernel stack's own)";
  AddCounts(app, LimitFlags(), limits);
  AddText(app, "--memory-utilization", raw_.memory_utilization,
          "Share of device memory that the engine uses, above 0, at most 1",
          "RATIO", limits);
  CatalogFlags& flags = arguments_.catalog;
  const char* group = "What it does";
  AddText(app, "--scheduling", flags.scheduling,
          "mixed or prefill-first (default: as the stack's engine does)",
          "KIND", group);
  AddCounts(app, AdmissionFlags(), group);
  AddText(app, "--batch-wait-tokens", raw_.batch_wait_tokens,
          "Unless they fill so much of a pass's tokens (default 1)", "RATIO",
          group);
  AddText(app, "--role", flags.role, "aggregated (default), prefill or decode",
          "ROLE", group);
}

void CommandTree::AddEngine() {
  CLI::App* engine = AddCommand(
      &root_, "engine",
      "Engines (deployments): list, get, create, import, predict, ...", "");
  AddLeaf(AddCommand(engine, "list", "The engines in the catalog", ""),
          Command::kEngineList, false);
  AddGet(engine, "engine", Command::kEngineGet, help::kEngineGetFooter);
  CLI::App* create = AddCommand(engine, "create", "A deployment under a name",
                                help::kEngineCreateFooter);
  create->add_option("ID", arguments_.operand,
                     "Lower-case letters, digits, \"-\", \".\"");
  AddDeployment(create);
  CatalogFlags& flags = arguments_.catalog;
  AddText(create, "--display-name", flags.display_name, "For people", "TEXT",
          "What it does");
  create->add_flag("--dry-run", flags.dry_run, "Check alone, store nothing")
      ->group("The change");
  AddLeaf(create, Command::kEngineCreate, false);
  AddApply(engine, Command::kEngineApply, help::kEngineApplyFooter);
  AddDelete(engine, "engine", Command::kEngineDelete);
  AddDiff(engine, "engine", Command::kEngineDiff, help::kEngineDiffFooter);
  AddEngineImport(engine);
  AddPredict(engine);
  AddCapacity(engine);
  AddLatencyModel(engine);
  AddLoad(engine);
  AddObserve(engine);
}

void CommandTree::AddCalibration() {
  CLI::App* calibration =
      AddCommand(&root_, "calibration",
                 "Calibrations: list, get, apply, delete, diff", "");
  CLI::App* list = AddCommand(calibration, "list", "Those of a device", "");
  list->add_option("ID", arguments_.operand, "As in `mansard hardware list`");
  AddLeaf(list, Command::kCalibrationList, false);
  const char* operand = "HARDWARE/CALIBRATION: h100-sxm/2026-11-30";
  CLI::App* get =
      AddCommand(calibration, "get", "One, with what it measured", "");
  get->add_option("ID", arguments_.operand, operand);
  AddLeaf(get, Command::kCalibrationGet, true);
  CLI::App* apply =
      AddCommand(calibration, "apply", "Make its stack part of the hardware",
                 help::kCalibrationApplyFooter);
  apply->add_option("ID", arguments_.operand, operand);
  AddText(apply, "-f,--file", arguments_.catalog.file,
          "First keep this one under ID: textproto or JSON", "FILE",
          "The change");
  AddText(apply, "--etag", arguments_.catalog.etag,
          "Only where the hardware is still the one with this etag", "ETAG",
          "The change");
  apply
      ->add_flag("--dry-run", arguments_.catalog.dry_run,
                 "Show what would change, store nothing")
      ->group("The change");
  AddLeaf(apply, Command::kCalibrationApply, false);
  CLI::App* remove =
      AddCommand(calibration, "delete", "Take it from the catalog", "");
  remove->add_option("ID", arguments_.operand, operand);
  AddText(remove, "--etag", arguments_.catalog.etag,
          "Only where it is still the one with this etag", "ETAG",
          "The change");
  AddLeaf(remove, Command::kCalibrationDelete, false);
  CLI::App* diff =
      AddCommand(calibration, "diff", "Where two differ, field by field", "");
  diff->add_option("A", arguments_.operand, "HARDWARE/CALIBRATION, or a file");
  diff->add_option("B", arguments_.second_operand, "The same");
  AddLeaf(diff, Command::kCalibrationDiff, false);
}

void CommandTree::AddValidate() {
  CLI::App* app = AddCommand(&root_, "validate",
                             "How predictions hold up against measured kernels",
                             help::kValidateFooter);
  AddLeaf(app, Command::kValidate, false);
  ValidateFlags& flags = arguments_.validate;
  AddText(app, "--measured", flags.measured,
          "Tables of measured kernels, separated by commas", "CSV,...",
          "What is judged");
  app->add_flag("--all-rows", flags.all_rows,
                "Also the rows that fits have seen")
      ->group("What is judged");
  const char* group = "Who answers (default: each row's device and engine)";
  AddText(app, "--hardware", flags.hardware, "An id", "ID", group);
  AddText(app, "--stack", flags.stack, "Kernel stack", "ID", group);
  AddText(app, "--tier", flags.tier, "spec: every profile's first stack",
          "TIER", group);
  AddText(app, "--worst", flags.worst,
          "Rows of each group with the largest errors (default: 0, json 20)",
          "N", "Answer");
  AddText(app, "--predictions", flags.predictions,
          "Write the table with a prediction beside every row", "OUT.csv",
          "Answer");
}

CLI::App& CommandTree::Deepest() {
  CLI::App* app = &root_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

}  // namespace mansard::cli
