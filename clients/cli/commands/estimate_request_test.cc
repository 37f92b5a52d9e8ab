#include "clients/cli/commands/estimate_request.h"

#include <limits>

#include "clients/cli/command_status.h"
#include "gtest/gtest.h"

namespace mansard::cli {
namespace {

constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

std::string GroupText(const v1::ForwardPass::Group& group) {
  return (group.role() == v1::ForwardPass::ROLE_PREFILL ? "prefill "
                                                        : "decode ") +
         std::to_string(group.request_count()) + " x " +
         std::to_string(group.new_token_count()) + " after " +
         std::to_string(group.prior_token_count());
}

std::string PassText(const EstimateFlags& flags) {
  const absl::StatusOr<v1::ForwardPass> pass = ForwardPassOf(flags);
  if (!pass.ok()) {
    EXPECT_EQ(ExitCodeOf(pass.status()), ExitCode::kUsage);
    return "usage";
  }
  std::string text;
  for (const auto& group : pass->groups()) {
    text += (text.empty() ? "" : ", ") + GroupText(group);
  }
  return text;
}

TEST(ForwardPassOf, ContextIncludesWhatIsComputedNow) {
  EXPECT_EQ(PassText({.phase = Phase::kDecode, .context = 1024}),
            "decode 1 x 1 after 1023");
  EXPECT_EQ(
      PassText(
          {.phase = Phase::kDecode, .batch = 64, .context = 1024, .tokens = 5}),
      "decode 64 x 5 after 1019");
  EXPECT_EQ(PassText({.phase = Phase::kPrefill, .context = 512}),
            "prefill 1 x 512 after 0");
  EXPECT_EQ(PassText({.phase = Phase::kPrefill, .context = 512, .tokens = 128}),
            "prefill 1 x 128 after 384");
  EXPECT_EQ(PassText({.phase = Phase::kMixed,
                      .batch = 8,
                      .context = 100,
                      .prefill_tokens = 50}),
            "decode 8 x 1 after 99, prefill 1 x 50 after 0");
  EXPECT_EQ(PassText({.phase = Phase::kMixed,
                      .context = 100,
                      .prefill_batch = 2,
                      .prefill_context = 80,
                      .prefill_tokens = 50}),
            "decode 1 x 1 after 99, prefill 2 x 50 after 30");
}

TEST(ForwardPassOf, DecodesVerifyWhatTheyDraft) {
  EXPECT_EQ(PassText({.phase = Phase::kDecode, .context = 64}),
            "decode 1 x 1 after 63");
  EXPECT_EQ(
      PassText({.phase = Phase::kDecode, .context = 64, .draft_tokens = 3}),
      "decode 1 x 4 after 60");
  EXPECT_EQ(PassText({.phase = Phase::kDecode,
                      .context = 64,
                      .tokens = 2,
                      .draft_tokens = 3}),
            "decode 1 x 2 after 62");
  EXPECT_EQ(PassText({.phase = Phase::kMixed,
                      .context = 64,
                      .prefill_tokens = 50,
                      .draft_tokens = 3}),
            "decode 1 x 4 after 60, prefill 1 x 50 after 0");
  // The service refuses it; a prompt's tokens are its own.
  EXPECT_EQ(
      PassText({.phase = Phase::kPrefill, .context = 64, .draft_tokens = 3}),
      "prefill 1 x 64 after 0");
  // As is the count itself.
  EXPECT_EQ(
      PassText({.phase = Phase::kDecode, .context = 64, .draft_tokens = -2}),
      "decode 1 x 1 after 63");

  EXPECT_FALSE(ForwardPassOf({.context = 64})->has_drafting());
  const auto drafting =
      ForwardPassOf({.context = 64, .draft_tokens = 3})->drafting();
  EXPECT_EQ(drafting.draft_token_count(), 3);
  EXPECT_FALSE(drafting.has_acceptance_rate());
  const auto accepting =
      ForwardPassOf({.context = 64, .draft_tokens = 3, .acceptance = 0.25})
          ->drafting();
  EXPECT_EQ(accepting.acceptance_rate(), 0.25);
}

TEST(ForwardPassOf, EveryGroupSeesTheEncoder) {
  const absl::StatusOr<v1::ForwardPass> pass =
      ForwardPassOf({.phase = Phase::kMixed,
                     .context = 64,
                     .prefill_tokens = 50,
                     .encoder_tokens = 1601});
  ASSERT_EQ(pass->groups_size(), 2);
  EXPECT_EQ(pass->groups(0).encoder_token_count(), 1601);
  EXPECT_EQ(pass->groups(1).encoder_token_count(), 1601);
}

TEST(ForwardPassOf, RefusesWhatContradicts) {
  const EstimateFlags cases[] = {
      {.phase = Phase::kDecode},
      {.phase = Phase::kDecode, .context = 0},
      {.phase = Phase::kDecode, .context = kMin64},
      {.phase = Phase::kDecode, .context = kMax64, .tokens = -1},
      {.phase = Phase::kDecode, .context = 10, .tokens = 11},
      {.phase = Phase::kDecode, .context = 10, .prefill_batch = 1},
      {.phase = Phase::kPrefill, .context = int64_t{1} << 31},
      {.phase = Phase::kPrefill, .context = 10, .prefill_context = 1},
      {.phase = Phase::kMixed, .context = 10},
      {.phase = Phase::kDecode, .context = 10, .acceptance = 0.5},
      {.phase = Phase::kDecode, .context = 10, .draft_tokens = 10},
      {.phase = Phase::kDecode,
       .context = 10,
       .tokens = 2,
       .draft_tokens = 3,
       .acceptance = 0.5},
      {.phase = Phase::kMixed,
       .context = 10,
       .prefill_context = 4,
       .prefill_tokens = 5},
  };
  for (const EstimateFlags& flags : cases) {
    EXPECT_EQ(PassText(flags), "usage") << &flags - cases;
  }
}

TEST(FlagOfField, NamesFlagAndValue) {
  const EstimateFlags flags = {.model = "llama",
                               .phase = Phase::kMixed,
                               .context = 64,
                               .prefill_tokens = 7,
                               .draft_tokens = 2,
                               .acceptance = 0.5,
                               .encoder_tokens = 9,
                               .tp = 3,
                               .weights = "fp9"};
  const std::pair<const char*, const char*> cases[] = {
      {"target.parallelism.tensor_size", "--tp 3"},
      {"target.parallelism.moe_tensor_size", "--moe-tp"},
      {"target.parallelism.context_size", "--cp"},
      {"target.parallelism.micro_batch_count", "--micro-batches"},
      {"target.precision.weights", "--weights fp9"},
      {"target.kv_head_count", "--kv-heads"},
      {"target.inline_model_graph.layer_kinds[0].kind",
       "llama: layer_kinds[0].kind"},
      {"forward_pass.groups[0].request_count", "--batch"},
      {"forward_pass.groups[0].prior_token_count",
       "--context 64 (tokens cached already)"},
      {"forward_pass.groups[1].new_token_count", "--prefill-tokens 7"},
      {"forward_pass.groups[1].prior_token_count",
       "--prefill-tokens 7 (tokens cached already)"},
      {"forward_pass.drafting.draft_token_count", "--draft-tokens 2"},
      {"forward_pass.drafting.acceptance_rate", "--acceptance 0.5"},
      {"forward_pass.groups[0].new_token_count", "--draft-tokens 2"},
      {"forward_pass.groups[1].encoder_token_count", "--encoder-tokens 9"},
      {"read_mask", ""},
  };
  for (const auto& [field, flag] : cases) {
    EXPECT_EQ(FlagOfField(flags, field), flag) << field;
  }
}

TEST(FlagOfField, PrefillDefaultsToItsContext) {
  const EstimateFlags flags = {.phase = Phase::kPrefill, .context = 64};
  EXPECT_EQ(FlagOfField(flags, "forward_pass.groups[0].new_token_count"),
            "--context 64");
}

}  // namespace
}  // namespace mansard::cli
