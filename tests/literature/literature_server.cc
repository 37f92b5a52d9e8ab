#include "tests/literature/literature_server.h"

#include "model/io/profile_io.h"
#include "tests/support/test_server.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::testing {
namespace {

v1::HardwareProfile ProfileOf(const LiteratureHardware& hardware) {
  const model::Provenance literature{model::ProvenanceKind::kDatasheet,
                                     "literature", ""};
  ToyHardware toy;
  toy.device.tensor_rates = {};
  for (const auto& [format, rate] : hardware.tensor_rates) {
    toy.device.tensor_rates[static_cast<size_t>(format)] =
        model::Sourced<model::FlopsPerSecond>{model::FlopsPerSecond::Of(rate),
                                              literature};
  }
  toy.device.vector_rates = {};
  toy.device.special_function_rate.reset();
  toy.device.l2.reset();
  toy.device.hbm.bandwidth->value =
      model::BytesPerSecond::Of(hardware.hbm_bytes_per_second);
  const auto link = model::BytesPerSecond::Of(hardware.link_bytes_per_second);
  toy.fabric.links[0].bandwidth.value = link;
  const auto feed =
      model::BytesPerSecond::Of(hardware.l2_feed_bytes_per_second);
  model::GemmFamily& gemm = toy.stack.gemm[0];
  gemm.launch = gemm.wave = model::Seconds::Zero();
  gemm.l2_feed = feed;
  gemm.tile_rows = hardware.tile_rows;
  gemm.tile_columns = hardware.tile_columns;
  toy.stack.attention_decode.launch = model::Seconds::Zero();
  toy.stack.attention_decode.combine = model::Seconds::Zero();
  toy.stack.attention_decode.l2_feed = feed;
  toy.stack.attention_prefill.launch = model::Seconds::Zero();
  toy.stack.elementwise.launch = model::Seconds::Zero();
  toy.stack.elementwise.l2_feed = feed;
  auto& lines =
      toy.stack.collectives[static_cast<size_t>(model::LinkTier::kNvlink)]
          ->lines;
  lines = {{model::Seconds::Zero(), model::Seconds::Zero(), link}};
  v1::HardwareProfile profile = model::ProfileToProto(*toy.Build());
  profile.clear_name();
  profile.clear_revision_id();
  return profile;
}

}  // namespace

LiteratureHardware TpuV5e() {
  return {.tensor_rates = {{model::Format::kBf16, 1.97e14},
                           {model::Format::kInt8, 3.94e14}},
          .hbm_bytes_per_second = 8.2e11,
          .link_bytes_per_second = 4.5e10};
}

LiteratureHardware H100() {
  return {.tensor_rates = {{model::Format::kBf16, 9.89e14}},
          .hbm_bytes_per_second = 3.35e12};
}

v1::EstimateKernelResponse Ask(const LiteratureHardware& hardware,
                               const std::string& request) {
  static TestServer* const kServer = new TestServer;
  auto message = Parse<v1::EstimateKernelRequest>(request);
  *message.mutable_target()->mutable_inline_hardware_profile() =
      ProfileOf(hardware);
  const auto stub = v1::EstimationService::NewStub(kServer->channel());
  grpc::ClientContext context;
  SetDeadline(context);
  v1::EstimateKernelResponse response;
  const grpc::Status status =
      stub->EstimateKernel(&context, message, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  if (response.ops().empty()) response.add_ops();
  return response;
}

double Busy(const v1::EstimateKernelResponse& response,
            const std::string& resource) {
  for (const auto& time : response.ops(0).resource_times()) {
    if (time.resource() == resource) return time.busy_seconds();
  }
  return 0;
}

double Bytes(const v1::EstimateKernelResponse& response) {
  const v1::Work& work = response.ops(0).work();
  return work.weight_read_bytes() + work.kv_read_bytes() +
         work.kv_write_bytes() + work.activation_read_bytes() +
         work.activation_write_bytes();
}

}  // namespace mansard::testing
