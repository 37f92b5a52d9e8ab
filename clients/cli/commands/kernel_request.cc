#include "clients/cli/commands/kernel_request.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/command_status.h"
#include "clients/cli/commands/estimate_request.h"

namespace mansard::cli {
namespace {

using Count = std::optional<int64_t>;

int32_t Narrow(const Count& count) {
  return static_cast<int32_t>(count.value_or(0));
}

// The first flag that is missing; the message says which.
absl::Status Require(
    const std::vector<std::pair<const char*, const Count*>>& flags) {
  for (const auto& [name, count] : flags) {
    if (!count->has_value()) {
      return UsageError(absl::StrCat(name, " is missing"));
    }
  }
  return absl::OkStatus();
}

// The first flag that is given although it does not belong.
absl::Status Refuse(
    const std::vector<std::pair<const char*, const Count*>>& flags,
    const char* why) {
  for (const auto& [name, count] : flags) {
    if (count->has_value()) return UsageError(absl::StrCat(name, " ", why));
  }
  return absl::OkStatus();
}

absl::Status FillGemm(const KernelFlags& flags,
                      v1::EstimateKernelRequest* request) {
  absl::Status status =
      Require({{"--m", &flags.m}, {"--n", &flags.n}, {"--k", &flags.k}});
  if (!status.ok()) return status;
  auto* gemm = request->mutable_gemm();
  gemm->set_m(*flags.m);
  gemm->set_n(*flags.n);
  gemm->set_k(*flags.k);
  gemm->set_batch_count(flags.batch.value_or(0));
  return absl::OkStatus();
}

absl::Status FillLatent(const KernelFlags& flags, v1::Attention* attention) {
  absl::Status status = Require({{"--heads", &flags.heads},
                                 {"--kv-rank", &flags.kv_rank},
                                 {"--nope", &flags.nope},
                                 {"--rope", &flags.rope},
                                 {"--value", &flags.value}});
  if (!status.ok()) return status;
  status = Refuse({{"--kv-heads", &flags.kv_heads},
                   {"--head-size", &flags.head_size},
                   {"--window", &flags.window},
                   {"--chunk", &flags.chunk}},
                  "does not go with --latent");
  if (!status.ok()) return status;
  auto* latent = attention->mutable_multi_head_latent();
  latent->set_kv_lora_rank(Narrow(flags.kv_rank));
  latent->set_nope_head_size(Narrow(flags.nope));
  latent->set_rope_head_size(Narrow(flags.rope));
  latent->set_value_head_size(Narrow(flags.value));
  return absl::OkStatus();
}

absl::Status FillGrouped(const KernelFlags& flags, v1::Attention* attention) {
  absl::Status status =
      Require({{"--heads", &flags.heads}, {"--head-size", &flags.head_size}});
  if (!status.ok()) return status;
  status = Refuse({{"--kv-rank", &flags.kv_rank},
                   {"--nope", &flags.nope},
                   {"--rope", &flags.rope},
                   {"--value", &flags.value}},
                  "goes with --latent alone");
  if (!status.ok()) return status;
  auto* grouped = attention->mutable_grouped_query();
  grouped->set_kv_head_count(
      Narrow(flags.kv_heads.has_value() ? flags.kv_heads : flags.heads));
  grouped->set_head_size(Narrow(flags.head_size));
  attention->set_sliding_window_token_count(flags.window.value_or(0));
  attention->set_chunk_token_count(flags.chunk.value_or(0));
  return absl::OkStatus();
}

absl::Status FillAttention(const Arguments& arguments,
                           v1::EstimateKernelRequest* request) {
  const KernelFlags& flags = arguments.kernel;
  auto pass = ForwardPassOf(arguments.estimate);
  if (!pass.ok()) return pass.status();
  auto* kernel = request->mutable_attention();
  *kernel->mutable_forward_pass() = *std::move(pass);
  kernel->mutable_attention()->set_query_head_count(Narrow(flags.heads));
  kernel->set_full(flags.full);
  return flags.latent ? FillLatent(flags, kernel->mutable_attention())
                      : FillGrouped(flags, kernel->mutable_attention());
}

absl::Status FillMoe(const Arguments& arguments,
                     v1::EstimateKernelRequest* request) {
  const KernelFlags& flags = arguments.kernel;
  absl::Status status = Require({{"--tokens", &flags.tokens},
                                 {"--hidden", &flags.hidden},
                                 {"--experts", &flags.experts},
                                 {"--top-k", &flags.top_k},
                                 {"--width", &flags.width}});
  if (!status.ok()) return status;
  auto* moe = request->mutable_moe();
  moe->set_token_count(*flags.tokens);
  moe->set_hidden_size(*flags.hidden);
  auto* experts = moe->mutable_experts();
  experts->set_expert_count(Narrow(flags.experts));
  experts->set_experts_per_token_count(Narrow(flags.top_k));
  experts->set_expert_intermediate_size(Narrow(flags.width));
  experts->set_shared_intermediate_size(Narrow(flags.shared_width));
  experts->set_gated(!flags.plain);
  const absl::StatusOr<v1::ExpertRouting> routing =
      RoutingOf(arguments.estimate);
  if (!routing.ok()) return routing.status();
  *moe->mutable_routing() = *routing;
  return absl::OkStatus();
}

// Tokens to the ranks of their experts, or back.
absl::Status FillExchanged(
    const KernelFlags& flags,
    v1::EstimateKernelRequest::CollectiveKernel* kernel) {
  absl::Status status = Require({{"--tokens", &flags.tokens},
                                 {"--hidden", &flags.hidden},
                                 {"--experts", &flags.experts},
                                 {"--top-k", &flags.top_k}});
  if (!status.ok()) return status;
  status =
      Refuse({{"--bytes", &flags.bytes}}, "does not go with tokens of experts");
  if (!status.ok()) return status;
  auto* exchanged = kernel->mutable_exchanged();
  exchanged->set_token_count(*flags.tokens);
  exchanged->set_hidden_size(*flags.hidden);
  exchanged->set_expert_count(Narrow(flags.experts));
  exchanged->set_experts_per_token_count(Narrow(flags.top_k));
  exchanged->set_multiprocessor_count(Narrow(flags.multiprocessors));
  if (flags.imbalance.has_value()) {
    exchanged->set_imbalance_ratio(*flags.imbalance);
  }
  return absl::OkStatus();
}

absl::Status FillCollective(const Arguments& arguments,
                            v1::EstimateKernelRequest* request) {
  const KernelFlags& flags = arguments.kernel;
  absl::Status status = Require({{"--ranks", &flags.ranks}});
  if (!status.ok()) return status;
  auto* collective = request->mutable_collective();
  collective->set_collective(arguments.operand);
  collective->set_rank_count(Narrow(flags.ranks));
  collective->set_node_count(Narrow(flags.nodes));
  collective->set_algorithm(flags.algorithm);
  if (absl::StartsWith(arguments.operand, "expert_")) {
    return FillExchanged(flags, collective);
  }
  status = Require({{"--bytes", &flags.bytes}});
  if (status.ok() && flags.imbalance.has_value()) {
    status = UsageError("--imbalance goes with tokens of experts alone");
  }
  if (status.ok()) {
    status = Refuse({{"--tokens", &flags.tokens},
                     {"--hidden", &flags.hidden},
                     {"--experts", &flags.experts},
                     {"--top-k", &flags.top_k},
                     {"--sms", &flags.multiprocessors}},
                    "goes with tokens of experts alone");
  }
  if (!status.ok()) return status;
  collective->set_message_bytes(static_cast<double>(*flags.bytes));
  return absl::OkStatus();
}

absl::Status FillElementwise(const Arguments& arguments,
                             v1::EstimateKernelRequest* request) {
  const KernelFlags& flags = arguments.kernel;
  absl::Status status =
      Require({{"--rows", &flags.rows}, {"--columns", &flags.columns}});
  if (!status.ok()) return status;
  auto* elementwise = request->mutable_elementwise();
  elementwise->set_operation(arguments.operand);
  elementwise->set_row_count(*flags.rows);
  elementwise->set_column_count(*flags.columns);
  elementwise->set_fused_operation_count(Narrow(flags.fused));
  return absl::OkStatus();
}

absl::Status Fill(const Arguments& arguments,
                  v1::EstimateKernelRequest* request) {
  switch (arguments.command) {
    case Command::kKernelGemm:
      return FillGemm(arguments.kernel, request);
    case Command::kKernelAttention:
      return FillAttention(arguments, request);
    case Command::kKernelMoe:
      return FillMoe(arguments, request);
    case Command::kKernelCollective:
      return FillCollective(arguments, request);
    case Command::kKernelElementwise:
      return FillElementwise(arguments, request);
    case Command::kHelp:
    case Command::kVersion:
    case Command::kStatus:
    case Command::kEstimate:
    case Command::kRoofline:
    case Command::kKv:
    case Command::kBatch:
    case Command::kModelImport:
    case Command::kModelList:
    case Command::kModelGet:
    case Command::kModelDiff:
    case Command::kHardwareList:
    case Command::kHardwareGet:
    case Command::kModelApply:
    case Command::kModelDelete:
    case Command::kHardwareApply:
    case Command::kHardwareDelete:
    case Command::kHardwareDiff:
    case Command::kEngineList:
    case Command::kEngineGet:
    case Command::kEngineCreate:
    case Command::kEngineApply:
    case Command::kEngineDelete:
    case Command::kEngineDiff:
    case Command::kEngineImport:
    case Command::kEnginePredict:
    case Command::kEngineCapacity:
    case Command::kEngineLatencyModel:
    case Command::kEngineLoad:
    case Command::kEngineObserve:
    case Command::kCalibrationList:
    case Command::kCalibrationGet:
    case Command::kCalibrationApply:
    case Command::kCalibrationDelete:
    case Command::kCalibrationDiff:
    case Command::kValidate:
      break;
  }
  return UsageError("not a kernel");
}

}  // namespace

absl::StatusOr<v1::EstimateKernelRequest> KernelRequestOf(
    const Arguments& arguments) {
  v1::EstimateKernelRequest request;
  FillTarget(arguments.estimate, request.mutable_target());
  request.mutable_target()->clear_parallelism();
  absl::Status status = Fill(arguments, &request);
  if (!status.ok()) return status;
  return request;
}

std::string FlagOfKernelField(const Arguments& arguments,
                              const std::string& field) {
  const KernelFlags& flags = arguments.kernel;
  const struct {
    absl::string_view field;
    const char* flag;
    const Count* count;
  } kCounts[] = {
      {"gemm.m", "--m", &flags.m},
      {"gemm.n", "--n", &flags.n},
      {"gemm.k", "--k", &flags.k},
      {"gemm.batch_count", "--batch", &flags.batch},
      {"attention.attention.query_head_count", "--heads", &flags.heads},
      {"attention.attention.grouped_query.kv_head_count", "--kv-heads",
       &flags.kv_heads},
      {"attention.attention.grouped_query.head_size", "--head-size",
       &flags.head_size},
      {"attention.attention.sliding_window_token_count", "--window",
       &flags.window},
      {"attention.attention.chunk_token_count", "--chunk", &flags.chunk},
      {"attention.attention.multi_head_latent.kv_lora_rank", "--kv-rank",
       &flags.kv_rank},
      {"attention.attention.multi_head_latent.nope_head_size", "--nope",
       &flags.nope},
      {"attention.attention.multi_head_latent.rope_head_size", "--rope",
       &flags.rope},
      {"attention.attention.multi_head_latent.value_head_size", "--value",
       &flags.value},
      {"moe.token_count", "--tokens", &flags.tokens},
      {"moe.hidden_size", "--hidden", &flags.hidden},
      {"moe.experts.expert_count", "--experts", &flags.experts},
      {"moe.experts.experts_per_token_count", "--top-k", &flags.top_k},
      {"moe.experts.expert_intermediate_size", "--width", &flags.width},
      {"moe.experts.shared_intermediate_size", "--shared-width",
       &flags.shared_width},
      {"collective.message_bytes", "--bytes", &flags.bytes},
      {"collective.rank_count", "--ranks", &flags.ranks},
      {"collective.node_count", "--nodes", &flags.nodes},
      {"collective.exchanged.token_count", "--tokens", &flags.tokens},
      {"collective.exchanged.hidden_size", "--hidden", &flags.hidden},
      {"collective.exchanged.expert_count", "--experts", &flags.experts},
      {"collective.exchanged.experts_per_token_count", "--top-k", &flags.top_k},
      {"collective.exchanged.multiprocessor_count", "--sms",
       &flags.multiprocessors},
      {"elementwise.row_count", "--rows", &flags.rows},
      {"elementwise.column_count", "--columns", &flags.columns},
      {"elementwise.fused_operation_count", "--fused", &flags.fused},
  };
  for (const auto& entry : kCounts) {
    if (entry.field != field) continue;
    return entry.count->has_value()
               ? absl::StrCat(entry.flag, " ", **entry.count)
               : std::string(entry.flag);
  }
  if (field == "attention.full") return "--full";
  if (field == "collective.algorithm") {
    return absl::StrCat("--algorithm ", flags.algorithm);
  }
  if (field == "collective.exchanged.imbalance_ratio") {
    return absl::StrCat("--imbalance ", flags.imbalance.value_or(0));
  }
  if (field == "collective.collective" || field == "elementwise.operation") {
    return absl::StrCat("OP ", arguments.operand);
  }
  absl::string_view path = field;
  absl::ConsumePrefix(&path, "attention.");
  return FlagOfField(arguments.estimate, std::string(path));
}

}  // namespace mansard::cli
