// The commands and flags of `mansard kernel`.
#include <limits>

#include "clients/cli/command_tree.h"
#include "clients/cli/help.h"

namespace mansard::cli {
namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

using K = KernelFlags;

KernelCommand Gemm() {
  return {Command::kKernelGemm,
          "gemm",
          "[m, k] x [n, k]^T: m tokens through a matrix of weights",
          help::kKernelGemmFooter,
          "",
          {{"--m", &K::m, kMax64, false, "Rows of the input: tokens"},
           {"--n", &K::n, kMax64, false, "Outputs"},
           {"--k", &K::k, kMax64, false, "Inputs, which the sums run over"},
           {"--batch", &K::batch, kMax64, true,
            "Such products, each with weights of its own (default 1)"}}};
}

KernelCommand Attention() {
  return {Command::kKernelAttention,
          "attention",
          "Scores, softmax and values of one layer, heads of one rank",
          help::kKernelAttentionFooter,
          "",
          {{"--heads", &K::heads, kMax32, false, "Query heads"},
           {"--kv-heads", &K::kv_heads, kMax32, false,
            "KV heads (default: as many as query heads)"},
           {"--head-size", &K::head_size, kMax32, false, "Size of a head"},
           {"--window", &K::window, kMax64, true,
            "Positions that a token sees (default: all earlier ones)"},
           {"--chunk", &K::chunk, kMax64, true,
            "Positions are split into chunks of this many (default: none)"},
           {"--kv-rank", &K::kv_rank, kMax32, false,
            "Latent: size of the cached latent vector"},
           {"--nope", &K::nope, kMax32, false,
            "Latent: part of a key without rotation"},
           {"--rope", &K::rope, kMax32, false, "Latent: rotated part of a key"},
           {"--value", &K::value, kMax32, false, "Latent: size of a value"}}};
}

KernelCommand Moe() {
  return {Command::kKernelMoe,
          "moe",
          "Router, experts and combine of one layer, as a rank has them",
          help::kKernelMoeFooter,
          "",
          {{"--tokens", &K::tokens, kMax64, false, "Tokens of the pass"},
           {"--hidden", &K::hidden, kMax64, false, "Hidden size"},
           {"--experts", &K::experts, kMax32, false, "Experts"},
           {"--top-k", &K::top_k, kMax32, false, "Experts a token is sent to"},
           {"--width", &K::width, kMax32, false, "Width of an expert"},
           {"--shared-width", &K::shared_width, kMax32, false,
            "Width of all shared experts together (default: none)"}}};
}

KernelCommand Collective() {
  return {
      Command::kKernelCollective,
      "collective",
      "A collective between devices, or tokens to experts and back",
      help::kKernelCollectiveFooter,
      "all_reduce, expert_dispatch, or another of those below",
      {{"--bytes", &K::bytes, kMax64, false,
        "The whole buffer, as in nccl-tests"},
       {"--ranks", &K::ranks, kMax32, false, "Devices that take part"},
       {"--nodes", &K::nodes, kMax32, true,
        "Nodes that they lie in (default: as few as the fabric allows)"},
       {"--tokens", &K::tokens, kMax64, false, "Experts: tokens of one rank"},
       {"--hidden", &K::hidden, kMax64, false, "Experts: elements of a token"},
       {"--experts", &K::experts, kMax32, false,
        "Experts of all ranks together"},
       {"--top-k", &K::top_k, kMax32, false, "Experts that a token is sent to"},
       {"--sms", &K::multiprocessors, kMax32, true,
        "Experts: multiprocessors that move tokens (default: the "
        "library's)"}}};
}

KernelCommand Elementwise() {
  return {Command::kKernelElementwise,
          "elementwise",
          "Norm, activation, quantisation and the like",
          help::kKernelElementwiseFooter,
          "norm, rope, activation, gated_activation, residual, add, quantize, "
          "dequantize, embedding, or sampling",
          {{"--rows", &K::rows, kMax64, false, "Rows: tokens"},
           {"--columns", &K::columns, kMax64, false, "Elements of a row"},
           {"--fused", &K::fused, kMax32, false,
            "Further operations in the same kernel, one FLOP an element each "
            "(default 0)"}}};
}

}  // namespace

const std::vector<KernelCommand>& KernelCommands() {
  static const auto* const kCommands = new std::vector<KernelCommand>{
      Gemm(), Attention(), Moe(), Collective(), Elementwise()};
  return *kCommands;
}

void CommandTree::AddKernels() {
  CLI::App* kernels = AddCommand(
      &root_, "kernel", "One kernel that belongs to no model: time, and why",
      help::kKernelFooter);
  for (const KernelCommand& kernel : KernelCommands()) {
    AddKernel(kernels, kernel);
  }
}

void CommandTree::AddKernel(CLI::App* parent, const KernelCommand& kernel) {
  CLI::App* app =
      AddCommand(parent, kernel.name, kernel.description, kernel.footer);
  AddLeaf(app, kernel.command, false);
  const char* group = "Kernel";
  if (kernel.operand[0] != '\0') {
    app->add_option("OP", arguments_.operand, kernel.operand);
  }
  KernelFlags& flags = arguments_.kernel;
  if (kernel.command == Command::kKernelAttention) {
    app->add_option("--phase", raw_.phase, "prefill or decode")
        ->type_name("PHASE")
        ->group(group);
    for (const CountFlag& flag : WorkFlags()) {
      if (std::string(flag.name).starts_with("--prefill")) continue;
      AddCounts(app, std::vector<CountFlag>{flag}, group);
    }
  }
  AddCounts(app, kernel.counts, group);
  if (kernel.command == Command::kKernelAttention) {
    app->add_flag("--latent", flags.latent, "Multi-head latent attention")
        ->group(group);
    AddUnfused(app, group);
    app->add_flag("--full", flags.full,
                  "Not causal: prefill tokens see the whole context")
        ->group(group);
  }
  if (kernel.command == Command::kKernelCollective) {
    app->add_option("--algorithm", flags.algorithm,
                    "Of those below (default: the stack's choice)")
        ->type_name("NAME")
        ->group(group);
    app->add_option("--imbalance", raw_.imbalance,
                    "Experts: busiest rank over the mean (default: expected)")
        ->type_name("RATIO")
        ->group(group);
  }
  if (kernel.command == Command::kKernelMoe) {
    AddRouting(app, group);
    app->add_flag("--plain", flags.plain,
                  "Two matrices an expert, without a gate")
        ->group(group);
  }
  AddHardwareFlags(app);
  AddFormats(app, "Formats (default: bf16)");
}

}  // namespace mansard::cli
