#include "server/convert/workload.h"

#include <gtest/gtest.h>

namespace mansard::server {
namespace {

const GraphFacts kGraph{.max_context = 1000,
                        .experts = 0,
                        .draft_modules = 0,
                        .cross_attention = std::nullopt};

TEST(ForwardPassFromProto, TakesEveryField) {
  v1::ForwardPass proto;
  v1::ForwardPass::Group& group = *proto.add_groups();
  group.set_role(v1::ForwardPass::ROLE_DECODE);
  group.set_request_count(3);
  group.set_new_token_count(1);
  group.set_prior_token_count(500);
  proto.add_groups();
  proto.mutable_groups(1)->set_role(v1::ForwardPass::ROLE_PREFILL);
  proto.mutable_groups(1)->set_request_count(2);
  proto.mutable_groups(1)->set_new_token_count(128);
  model::Violations violations;
  const auto pass = FromProto(proto, kGraph, violations);
  ASSERT_TRUE(pass.has_value());
  ASSERT_EQ(pass->groups().size(), 2u);
  EXPECT_EQ(pass->groups()[0].role, model::Role::kDecode);
  EXPECT_EQ(pass->groups()[0].request_count, 3);
  EXPECT_EQ(pass->groups()[0].new_tokens, 1);
  EXPECT_EQ(pass->groups()[0].prior_tokens, 500);
  EXPECT_EQ(pass->groups()[1].role, model::Role::kPrefill);
  EXPECT_EQ(pass->total_new_tokens(), 3 + 256);
}

TEST(ForwardPassFromProto, TakesEncoderPositionsWhereTheModelDoes) {
  v1::ForwardPass proto;
  v1::ForwardPass::Group& group = *proto.add_groups();
  group.set_role(v1::ForwardPass::ROLE_PREFILL);
  group.set_request_count(2);
  group.set_new_token_count(10);
  group.set_encoder_token_count(6404);
  GraphFacts graph{.max_context = 1000,
                   .experts = std::nullopt,
                   .draft_modules = std::nullopt,
                   .cross_attention = true};
  model::Violations violations;
  const auto pass = FromProto(proto, graph, violations);
  ASSERT_TRUE(pass.has_value()) << violations.ToStatus();
  EXPECT_EQ(pass->encoder_tokens(), 2 * 6404);
  graph.cross_attention = false;
  FromProto(proto, graph, violations);
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].field, "groups[0].encoder_token_count");
}

TEST(ForwardPassFromProto, TakesDraftsWhereTheModelHasModules) {
  v1::ForwardPass proto;
  v1::ForwardPass::Group& group = *proto.add_groups();
  group.set_role(v1::ForwardPass::ROLE_DECODE);
  group.set_request_count(2);
  group.set_new_token_count(4);
  proto.mutable_drafting()->set_draft_token_count(3);
  proto.mutable_drafting()->set_acceptance_rate(0.5);
  GraphFacts graph = kGraph;
  graph.draft_modules = 1;
  model::Violations violations;
  const auto pass = FromProto(proto, graph, violations);
  ASSERT_TRUE(pass.has_value()) << violations.ToStatus();
  EXPECT_EQ(pass->drafting().draft_tokens, 3);
  EXPECT_EQ(pass->drafting().acceptance_rate, 0.5);
  proto.mutable_drafting()->clear_acceptance_rate();
  EXPECT_FALSE(FromProto(proto, graph, violations)
                   ->drafting()
                   .acceptance_rate.has_value());
  // Both mistakes at once.
  graph.draft_modules = 0;
  proto.mutable_expert_routing()->set_kind(v1::ExpertRouting::KIND_HISTOGRAM);
  proto.mutable_expert_routing()->add_expert_shares(1);
  EXPECT_FALSE(FromProto(proto, graph, violations).has_value());
  ASSERT_EQ(violations.all().size(), 2u);
  EXPECT_EQ(violations.all()[0].field, "expert_routing.expert_shares");
  EXPECT_EQ(violations.all()[1].field, "drafting.draft_token_count");
}

TEST(ForwardPassFromProto, RefusesARoleThatItDoesNotKnow) {
  for (int role : {0, 7, -1}) {
    v1::ForwardPass proto;
    proto.add_groups()->set_role(static_cast<v1::ForwardPass::Role>(role));
    proto.mutable_groups(0)->set_request_count(1);
    proto.mutable_groups(0)->set_new_token_count(1);
    model::Violations violations;
    EXPECT_FALSE(FromProto(proto, kGraph, violations).has_value());
    ASSERT_EQ(violations.all().size(), 1u);
    EXPECT_EQ(violations.all()[0].field, "groups[0].role");
  }
}

TEST(ParallelismFromProto, TakesEverySize) {
  v1::Parallelism proto;
  proto.set_tensor_size(1);
  proto.set_pipeline_size(2);
  proto.set_expert_size(3);
  proto.set_data_size(4);
  proto.set_moe_tensor_size(5);
  proto.set_context_size(6);
  proto.set_node_count(7);
  proto.set_micro_batch_count(8);
  const model::Parallelism sizes = FromProto(proto);
  EXPECT_EQ(sizes.tensor, 1);
  EXPECT_EQ(sizes.pipeline, 2);
  EXPECT_EQ(sizes.expert, 3);
  EXPECT_EQ(sizes.data, 4);
  EXPECT_EQ(sizes.moe_tensor, 5);
  EXPECT_EQ(sizes.context, 6);
  EXPECT_EQ(sizes.nodes, 7);
  EXPECT_EQ(sizes.micro_batches, 8);
}

}  // namespace
}  // namespace mansard::server
