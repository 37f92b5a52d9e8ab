#include "calibrate/tables/collective_cases.h"

#include "calibrate/tables/exchange_cases.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

using mansard::testing::ToyHardware;
using model::CollectiveShape;
using model::LinkTier;
using model::OpKind;

constexpr char kCollectives[] =
    "device,link,op,dtype,n_gpus,n_nodes,gpus_per_node,message_bytes,"
    "latency_us,library,library_version,algo_or_mode,source\n"
    "H100_SXM,NVLink4+NVSwitch,all_reduce,fp16,8,1,8,4096,16,NCCL,2.29.2,NCCL,"
    "s\n"
    "H100_SXM,NVLink4+NVSwitch,all_reduce,int8,8,1,8,2048,16,NCCL,2.29.2,NCCL,"
    "s\n"
    "H100_SXM,NVLink4+NVSwitch,all_reduce,bf16,4,1,4,8192,22,"
    "vLLM custom all-reduce,0.24.0,vLLM_custom_eager,s\n"
    "RTX_PRO_6000_SERVER,PCIe5,alltoall,fp16,2,1,2,1048576,50,NCCL,2.29.2,NCCL,"
    "s\n"
    "A100_SXM_80GB,NVLink3+NVSwitch+inter_node,send_recv,fp16,2,2,1,65536,40,"
    "NCCL,,torch.distributed cuda-graph,s\n"
    "A100_SXM_80GB,NVLink3+NVSwitch+inter_node,all_reduce,fp16,16,2,8,65536,90,"
    "NCCL,,torch.distributed cuda-graph,s\n"
    "A100_PAIRED,NVLink3_pairwise_bridge+PCIe,all_reduce,fp16,4,1,4,65536,90,"
    "NCCL,,torch.distributed cuda-graph,s\n"
    "H100_SXM,NVLink4+NVSwitch,all_reduce,fp16,8,3,8,4096,16,NCCL,2.29.2,NCCL,"
    "s\n"
    "H100_SXM,NVLink4+NVSwitch,all_reduce,fp16,8,1,8,4096,0,NCCL,2.29.2,NCCL,s"
    "\n";

// A device and a stack with lines inside nodes, and between them.
class CasesTest : public ::testing::Test {
 protected:
  CasesTest() {
    ToyHardware toy;
    for (auto& lines : toy.stack.collectives) lines = toy.stack.collectives[0];
    profile_ = toy.Build();
  }
  std::optional<model::OpList> OpsOf(const MeasuredCase& measured) const {
    return measured.ops(profile_->device(), profile_->stacks()[0]);
  }
  std::shared_ptr<const model::HardwareProfile> profile_;
};

TEST_F(CasesTest, CollectivesAreTheirRows) {
  const auto cases = ReadCollectiveCases(kCollectives);
  ASSERT_TRUE(cases.ok()) << cases.status();
  const struct {
    const char* framework;
    const char* version;
    const char* slice;
    bool in_target;
    OpKind kind;
    LinkTier tier;
    int nodes;
  } wanted[] = {
      {"NCCL", "2.29.2", "all_reduce nvlink x8", true, OpKind::kAllReduce,
       LinkTier::kNvlink, 1},
      {"NCCL", "2.29.2", "all_reduce nvlink x8 int8", false, OpKind::kAllReduce,
       LinkTier::kNvlink, 1},
      {"vLLM", "0.24.0", "all_reduce nvlink x4 eager", false,
       OpKind::kAllReduce, LinkTier::kNvlink, 1},
      {"NCCL", "2.29.2", "all_to_all pcie x2", true, OpKind::kAllToAll,
       LinkTier::kPcie, 1},
      {"NCCL", "", "send_receive rdma x2/2", true, OpKind::kSendReceive,
       LinkTier::kRdma, 2},
      {"NCCL", "", "all_reduce rdma x16/2", true, OpKind::kAllReduce,
       LinkTier::kRdma, 2},
  };
  // Of the rest, one is on a link that is none of ours, one is no whole number
  // of ranks a node, one has no time.
  ASSERT_EQ(cases->size(), std::size(wanted) + 1);
  for (size_t i = 0; i < std::size(wanted); ++i) {
    const MeasuredCase& measured = (*cases)[i];
    EXPECT_EQ(measured.framework, wanted[i].framework) << i;
    EXPECT_EQ(measured.version, wanted[i].version) << i;
    EXPECT_EQ(measured.slice, wanted[i].slice);
    EXPECT_EQ(measured.in_target, wanted[i].in_target) << i;
    const auto ops = OpsOf(measured);
    ASSERT_TRUE(ops.has_value());
    EXPECT_EQ(ops->front().kind, wanted[i].kind) << i;
    EXPECT_EQ(ops->front().work.message.value(), measured.size);
    const auto& shape = std::get<CollectiveShape>(ops->front().shape);
    EXPECT_EQ(shape.tier, wanted[i].tier);
    EXPECT_EQ(shape.nodes(), wanted[i].nodes);
    EXPECT_EQ(shape.algorithm, i == 1 ? model::CollectiveAlgorithm::kRing
                                      : model::CollectiveAlgorithm::kAuto);
  }
  EXPECT_FALSE(OpsOf(cases->back()).has_value());
}

TEST_F(CasesTest, SidesAreOfShapesAlone) {
  const auto cases = ReadCollectiveCases(kCollectives);
  ASSERT_TRUE(cases.ok());
  for (const MeasuredCase& measured : *cases) {
    for (const MeasuredCase& same : *cases) {
      if (same.shape == measured.shape) {
        EXPECT_EQ(same.side, measured.side);
      }
    }
  }
}

TEST_F(CasesTest, MissingColumnsAreNamed) {
  const auto cases = ReadCollectiveCases("device,link,op\nH100_SXM,NVLink,x\n");
  EXPECT_NE(cases.status().message().find("message_bytes"), std::string::npos)
      << cases.status();
  const auto exchanges = ReadExchangeCases("device,link\nH100_SXM,NVLink\n");
  EXPECT_NE(exchanges.status().message().find("comm_sms"), std::string::npos)
      << exchanges.status();
}

constexpr char kExchanges[] =
    "device,link,op,mode,dtype,n_gpus,n_nodes,tokens_per_gpu,hidden,topk,"
    "num_experts,comm_sms,latency_us,library,library_version,source\n"
    "H100_SXM,NVLink4+NVSwitch,dispatch,normal,fp8,8,1,96,7168,8,256,8,61.6,"
    "DeepEP,via SGLang 0.5.12,s\n"
    "H100_SXM,NVLink4+NVSwitch+RDMA,combine,low_latency,bf16,64,8,16,7168,8,"
    "256,,45.7,DeepEP,via SGLang 0.5.6.post2,s\n"
    "H800_SXM,NVLink,dispatch,normal,fp8,8,1,4096,7168,8,,24,,DeepEP,,s\n";

TEST_F(CasesTest, ExchangesAreTheirRows) {
  const auto cases = ReadExchangeCases(kExchanges);
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 2u);
  const MeasuredCase& many = (*cases)[0];
  EXPECT_EQ(many.framework, "SGLang");
  EXPECT_EQ(many.version, "0.5.12");
  EXPECT_EQ(many.slice, "expert_dispatch nvlink x8");
  EXPECT_TRUE(many.in_target);
  // A byte an element, and scales of blocks.
  EXPECT_NEAR(many.size, 96.0 * 8 * 7168, 2000);
  auto ops = OpsOf(many);
  ASSERT_TRUE(ops.has_value());
  EXPECT_EQ(ops->front().kind, OpKind::kExpertDispatch);
  auto shape = std::get<model::ExchangeShape>(ops->front().shape);
  EXPECT_EQ(shape.multiprocessors, 8);
  EXPECT_EQ(shape.experts, 256);
  EXPECT_EQ(shape.kernels, model::ExchangeKernels::kThroughput);
  EXPECT_EQ(shape.nodes(), 1);
  const MeasuredCase& few = (*cases)[1];
  EXPECT_EQ(few.slice, "expert_combine_low_latency rdma x64/8");
  ops = OpsOf(few);
  ASSERT_TRUE(ops.has_value());
  EXPECT_EQ(ops->front().kind, OpKind::kExpertCombine);
  shape = std::get<model::ExchangeShape>(ops->front().shape);
  EXPECT_EQ(shape.nodes(), 8);
  EXPECT_EQ(shape.tier, LinkTier::kRdma);
  EXPECT_EQ(shape.kernels, model::ExchangeKernels::kLowLatency);
}

}  // namespace
}  // namespace mansard::calibrate
