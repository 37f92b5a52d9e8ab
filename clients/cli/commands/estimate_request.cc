#include "clients/cli/commands/estimate_request.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cli/command_status.h"

namespace mansard::cli {
namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();

// The flags of one group, by name for messages.
struct GroupFlags {
  v1::ForwardPass::Role role;
  int64_t batch;
  int64_t tokens;
  int64_t context;
  const char* tokens_flag;
  const char* context_flag;
  bool tokens_given;
  int64_t encoder_tokens;
};

absl::Status AddGroup(const GroupFlags& flags, v1::ForwardPass* pass) {
  if (flags.tokens > flags.context) {
    return UsageError(absl::StrCat(flags.context_flag, " is ", flags.context,
                                   "; allowed: at least the ", flags.tokens,
                                   flags.tokens == 1 ? " token" : " tokens",
                                   " computed now (", flags.tokens_flag,
                                   flags.tokens_given ? ")" : ", by default)"),
                      "--context counts cached and new tokens together");
  }
  if (flags.tokens > kMax32) {
    return UsageError(absl::StrCat(flags.context_flag, " is ", flags.context,
                                   "; allowed: at most ", kMax32, " without ",
                                   flags.tokens_flag));
  }
  int64_t prior = 0;
  if (__builtin_sub_overflow(flags.context, flags.tokens, &prior)) {
    return UsageError(absl::StrCat(flags.tokens_flag, " is ", flags.tokens,
                                   "; allowed: 1 to ", flags.context_flag));
  }
  v1::ForwardPass::Group* group = pass->add_groups();
  group->set_role(flags.role);
  group->set_request_count(static_cast<int32_t>(flags.batch));
  group->set_new_token_count(static_cast<int32_t>(flags.tokens));
  group->set_prior_token_count(prior);
  group->set_encoder_token_count(flags.encoder_tokens);
  return absl::OkStatus();
}

absl::Status RefusePrefillFlags(const EstimateFlags& flags) {
  const std::pair<const char*, bool> given[] = {
      {"--prefill-batch", flags.prefill_batch.has_value()},
      {"--prefill-tokens", flags.prefill_tokens.has_value()},
      {"--prefill-context", flags.prefill_context.has_value()},
  };
  for (const auto& [name, is_given] : given) {
    if (is_given) {
      return UsageError(
          absl::StrCat(name, " belongs to --phase mixed, not to --phase ",
                       flags.phase == Phase::kDecode ? "decode" : "prefill"),
          "--batch, --context and --tokens describe a pass of one phase");
    }
  }
  return absl::OkStatus();
}

// New tokens of each decoding sequence: its own, and the drafts it verifies.
int64_t DecodeTokens(const EstimateFlags& flags) {
  return flags.tokens.value_or(
      1 + std::max(flags.draft_tokens.value_or(0), int64_t{0}));
}

// Drafts, and the rate at which they are accepted.
absl::Status AddDrafting(const EstimateFlags& flags, v1::ForwardPass* pass) {
  if (flags.acceptance.has_value() && !flags.draft_tokens.has_value()) {
    return UsageError("--acceptance is given without --draft-tokens",
                      "it is the share of drafted tokens that are accepted");
  }
  if (!flags.draft_tokens.has_value()) return absl::OkStatus();
  const int64_t verified = DecodeTokens(flags);
  if (flags.acceptance.has_value() && flags.phase != Phase::kPrefill &&
      flags.tokens.has_value() && verified != 1 + *flags.draft_tokens) {
    return UsageError(
        absl::StrCat("--tokens is ", verified,
                     "; with --acceptance it must be 1 + --draft-tokens, ",
                     1 + *flags.draft_tokens),
        "the pass verifies as many drafts as it counts as gained");
  }
  v1::Drafting* drafting = pass->mutable_drafting();
  drafting->set_draft_token_count(static_cast<int32_t>(*flags.draft_tokens));
  if (flags.acceptance.has_value()) {
    drafting->set_acceptance_rate(*flags.acceptance);
  }
  return absl::OkStatus();
}

struct FieldFlag {
  absl::string_view field;  // Without "target.".
  const char* flag;
  std::string value;
};

std::string Shown(const std::optional<int64_t>& count) {
  return count.has_value() ? absl::StrCat(*count) : std::string();
}

// "--flag value", or the flag alone when it was left to its default.
std::string Named(absl::string_view flag, absl::string_view value) {
  return value.empty() ? std::string(flag) : absl::StrCat(flag, " ", value);
}

// Groups stand in the request as ForwardPassOf adds them: a mixed pass has its
// prompts second.
std::string FlagOfGroupField(const EstimateFlags& flags,
                             absl::string_view field) {
  const bool is_prompt = absl::ConsumePrefix(&field, "[1]");
  if (!is_prompt) absl::ConsumePrefix(&field, "[0]");
  absl::ConsumePrefix(&field, ".");
  if (field == "request_count") {
    return is_prompt ? Named("--prefill-batch", Shown(flags.prefill_batch))
                     : Named("--batch", Shown(flags.batch));
  }
  if (field == "new_token_count") {
    if (is_prompt)
      return Named("--prefill-tokens", Shown(flags.prefill_tokens));
    if (flags.tokens.has_value()) {
      return Named("--tokens", Shown(flags.tokens));
    }
    if (flags.phase == Phase::kPrefill) {
      return Named("--context", Shown(flags.context));
    }
    return flags.draft_tokens.has_value()
               ? Named("--draft-tokens", Shown(flags.draft_tokens))
               : "--tokens";
  }
  if (field == "encoder_token_count") {
    return Named("--encoder-tokens", Shown(flags.encoder_tokens));
  }
  if (field == "prior_token_count") {
    const std::string named =
        !is_prompt ? Named("--context", Shown(flags.context))
        : flags.prefill_context.has_value()
            ? Named("--prefill-context", Shown(flags.prefill_context))
            : Named("--prefill-tokens", Shown(flags.prefill_tokens));
    return absl::StrCat(named, " (tokens cached already)");
  }
  return "";
}

// Each class once, in the order in which the flags name them. What is no
// CLASS=FORMAT goes to the service as a class, which says what is wrong.
void SetLinears(const EstimateFlags& flags, v1::Precision* precision) {
  const auto of_class = [precision](absl::string_view name) {
    for (auto& known : *precision->mutable_linear_precisions()) {
      if (known.linear_class() == name) return &known;
    }
    v1::LinearPrecision* added = precision->add_linear_precisions();
    added->set_linear_class(std::string(name));
    return added;
  };
  for (const absl::string_view entry :
       absl::StrSplit(flags.weights_of, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    of_class(parts.first)->set_weights(parts.second);
  }
  for (const absl::string_view entry :
       absl::StrSplit(flags.activations_of, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    of_class(parts.first)->set_activations(parts.second);
  }
}

// A flag of sending alone asks for it, too: the service then says what is
// missing.
bool SendsKv(const EstimateFlags& flags) {
  return !flags.kv_to.empty() || flags.kv_nics.has_value() ||
         flags.kv_layer_wise;
}

}  // namespace

absl::StatusOr<v1::ExpertRouting> RoutingOf(const EstimateFlags& flags) {
  v1::ExpertRouting routing;
  if (flags.routing == "spread") {
    routing.set_kind(v1::ExpertRouting::KIND_SPREAD);
  } else if (!flags.routing.empty() && flags.routing != "independent") {
    return UsageError(absl::StrCat("--routing is \"", flags.routing,
                                   "\"; allowed: independent, spread"));
  }
  return routing;
}

absl::StatusOr<v1::ForwardPass> ForwardPassOf(const EstimateFlags& flags) {
  if (!flags.context.has_value()) {
    return UsageError("--context is missing",
                      "it is the number of tokens per sequence, including "
                      "those computed now");
  }
  v1::ForwardPass pass;
  const absl::StatusOr<v1::ExpertRouting> routing = RoutingOf(flags);
  if (!routing.ok()) return routing.status();
  if (!flags.routing.empty()) *pass.mutable_expert_routing() = *routing;
  const absl::Status drafts = AddDrafting(flags, &pass);
  if (!drafts.ok()) return drafts;
  const bool prefill = flags.phase == Phase::kPrefill;
  const bool drafted =
      !prefill && !flags.tokens.has_value() && flags.draft_tokens.has_value();
  if (flags.phase != Phase::kMixed) {
    const absl::Status refused = RefusePrefillFlags(flags);
    if (!refused.ok()) return refused;
  }
  const absl::Status added =
      AddGroup({.role = prefill ? v1::ForwardPass::ROLE_PREFILL
                                : v1::ForwardPass::ROLE_DECODE,
                .batch = flags.batch.value_or(1),
                .tokens = prefill ? flags.tokens.value_or(*flags.context)
                                  : DecodeTokens(flags),
                .context = *flags.context,
                .tokens_flag = drafted ? "1 + --draft-tokens" : "--tokens",
                .context_flag = "--context",
                .tokens_given = drafted || flags.tokens.has_value(),
                .encoder_tokens = flags.encoder_tokens.value_or(0)},
               &pass);
  if (!added.ok()) return added;
  if (flags.phase != Phase::kMixed) return pass;
  if (!flags.prefill_tokens.has_value()) {
    return UsageError("--prefill-tokens is missing",
                      "a mixed pass needs the new tokens of its prompts");
  }
  const absl::Status prompts = AddGroup(
      {.role = v1::ForwardPass::ROLE_PREFILL,
       .batch = flags.prefill_batch.value_or(1),
       .tokens = *flags.prefill_tokens,
       .context = flags.prefill_context.value_or(*flags.prefill_tokens),
       .tokens_flag = "--prefill-tokens",
       .context_flag = "--prefill-context",
       .tokens_given = true,
       .encoder_tokens = flags.encoder_tokens.value_or(0)},
      &pass);
  if (!prompts.ok()) return prompts;
  return pass;
}

void FillTarget(const EstimateFlags& flags, v1::Target* target) {
  const auto narrow = [](const std::optional<int64_t>& count) {
    return static_cast<int32_t>(count.value_or(0));
  };
  v1::Parallelism* parallelism = target->mutable_parallelism();
  parallelism->set_tensor_size(narrow(flags.tp));
  parallelism->set_pipeline_size(narrow(flags.pp));
  parallelism->set_expert_size(narrow(flags.ep));
  parallelism->set_data_size(narrow(flags.dp));
  parallelism->set_moe_tensor_size(narrow(flags.moe_tp));
  parallelism->set_context_size(narrow(flags.cp));
  parallelism->set_node_count(narrow(flags.nodes));
  parallelism->set_micro_batch_count(narrow(flags.micro_batches));
  v1::Precision* precision = target->mutable_precision();
  precision->set_weights(flags.weights);
  precision->set_activations(flags.activations);
  precision->set_kv_cache(flags.kv);
  precision->set_state(flags.state);
  SetLinears(flags, precision);
  target->set_kernel_stack(flags.stack);
  target->set_fabric(flags.fabric);
  if (flags.kv_heads.has_value()) {
    target->set_kv_head_count(narrow(flags.kv_heads));
  }
  target->set_unfused_attention(flags.unfused);
  if (SendsKv(flags)) {
    v1::KvTransfer* transfer = target->mutable_kv_transfer();
    transfer->set_tier(flags.kv_to);
    transfer->set_nic_count(narrow(flags.kv_nics));
    transfer->set_layer_wise(flags.kv_layer_wise);
  }
  if (flags.unfused_residual) target->set_residual_into_norm(false);
  if (flags.eager) target->set_cuda_graphs(false);
  target->set_all_reduce_algorithm(flags.all_reduce);
  if (flags.overlap.empty() && !flags.overlap_efficiency.has_value() &&
      !flags.overlap_multiprocessors.has_value()) {
    return;
  }
  v1::Target::Overlap* overlap = target->mutable_overlap();
  overlap->set_kind(flags.overlap);
  if (flags.overlap_efficiency.has_value()) {
    overlap->set_efficiency_ratio(*flags.overlap_efficiency);
  }
  overlap->set_multiprocessor_count(narrow(flags.overlap_multiprocessors));
}

std::string FlagOfField(const EstimateFlags& flags, const std::string& field) {
  absl::string_view path = field;
  absl::ConsumePrefix(&path, "target.");
  if (absl::ConsumePrefix(&path, "forward_pass.groups")) {
    return FlagOfGroupField(flags, path);
  }
  const FieldFlag table[] = {
      {"parallelism.tensor_size", "--tp", Shown(flags.tp)},
      {"parallelism.pipeline_size", "--pp", Shown(flags.pp)},
      {"parallelism.expert_size", "--ep", Shown(flags.ep)},
      {"parallelism.data_size", "--dp", Shown(flags.dp)},
      {"parallelism.moe_tensor_size", "--moe-tp", Shown(flags.moe_tp)},
      {"parallelism.context_size", "--cp", Shown(flags.cp)},
      {"parallelism.node_count", "--nodes", Shown(flags.nodes)},
      {"parallelism.micro_batch_count", "--micro-batches",
       Shown(flags.micro_batches)},
      {"precision.weights", "--weights", flags.weights},
      {"precision.activations", "--activations", flags.activations},
      {"precision.kv_cache", "--kv", flags.kv},
      {"precision.state", "--state", flags.state},
      {"kernel_stack", "--stack", flags.stack},
      {"fabric", "--fabric", flags.fabric},
      {"kv_head_count", "--kv-heads", Shown(flags.kv_heads)},
      {"kv_transfer.tier", "--kv-to", flags.kv_to},
      {"kv_transfer.nic_count", "--kv-nics", Shown(flags.kv_nics)},
      {"all_reduce_algorithm", "--all-reduce", flags.all_reduce},
      {"overlap.kind", "--overlap", flags.overlap},
      {"overlap.efficiency_ratio", "--overlap-efficiency",
       flags.overlap_efficiency.has_value()
           ? absl::StrCat(*flags.overlap_efficiency)
           : ""},
      {"overlap.multiprocessor_count", "--overlap-sms",
       Shown(flags.overlap_multiprocessors)},
      {"forward_pass.drafting.draft_token_count", "--draft-tokens",
       Shown(flags.draft_tokens)},
      {"forward_pass.drafting.acceptance_rate", "--acceptance",
       flags.acceptance.has_value() ? absl::StrCat(*flags.acceptance) : ""},
      {"engine", "--engine", flags.engine},
      {"model_graph", "--model", flags.model},
      {"hardware_profile", "--hardware", flags.hardware},
  };
  if (absl::StartsWith(path, "what_if.hardware_profiles")) {
    return Named("--what-if-hardware", flags.what_if_hardware);
  }
  if (absl::StartsWith(path, "what_if.device_hour_prices")) {
    return Named("--price-per-hour", flags.price_per_hour);
  }
  if (absl::StartsWith(path, "precision.linear_precisions")) {
    return flags.activations_of.empty()
               ? Named("--weights-of", flags.weights_of)
           : flags.weights_of.empty()
               ? Named("--activations-of", flags.activations_of)
               : Named("--weights-of and --activations-of", "");
  }
  for (const FieldFlag& entry : table) {
    if (entry.field == path) return Named(entry.flag, entry.value);
  }
  // A rule of a file's own fields: the file, then the field.
  for (const auto& [prefix, file] :
       {std::pair<const char*, const std::string&>{"inline_model_graph.",
                                                   flags.model},
        {"inline_hardware_profile.", flags.hardware}}) {
    if (absl::ConsumePrefix(&path, prefix)) {
      return absl::StrCat(file, ": ", path);
    }
  }
  return "";
}

}  // namespace mansard::cli
