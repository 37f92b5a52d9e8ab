// What calls cost by what they ask for, one at a time and without the network:
// server/call_class.cc sorts them into hot and heavy by these times.
#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "mansard/v1/catalog_service.grpc.pb.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "tests/load/bench_servers.h"

namespace mansard::load {
namespace {

// Where a batch turns heavy: one call at a time, time of a call.
void BatchEstimateOf(benchmark::State& state) {
  const auto stub =
      v1::EstimationService::NewStub(TheServers().RealChannel(true));
  const v1::BatchEstimateRequest request =
      BatchRequest(static_cast<int>(state.range(0)));
  v1::BatchEstimateResponse response;
  for (auto _ : state) {
    if (!SendOne(*stub, request, response).ok()) Fail("a call failed");
  }
}
BENCHMARK(BatchEstimateOf)
    ->RangeMultiplier(2)
    ->Range(1, 512)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// One pass of many groups.
void EstimateOfGroups(benchmark::State& state) {
  const auto stub =
      v1::EstimationService::NewStub(TheServers().RealChannel(true));
  v1::EstimateRequest request = DecodeRequest(1);
  if (state.range(1) != 0)
    request.mutable_read_mask()->add_paths("estimate.ops");
  while (request.forward_pass().groups_size() < state.range(0)) {
    *request.mutable_forward_pass()->add_groups() =
        request.forward_pass().groups(0);
  }
  v1::EstimateResponse response;
  for (auto _ : state) {
    if (!SendOne(*stub, request, response).ok()) Fail("a call failed");
  }
}
BENCHMARK(EstimateOfGroups)
    ->ArgNames({"groups", "ops"})
    ->ArgsProduct({{1, 32, 256, 1000}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// A target sent along instead of named: checked and hashed anew.
void EstimateInline(benchmark::State& state) {
  const std::shared_ptr<grpc::Channel> channel = TheServers().RealChannel(true);
  const auto stub = v1::EstimationService::NewStub(channel);
  const auto catalog = v1::CatalogService::NewStub(channel);
  v1::EstimateRequest request = DecodeRequest(64);
  grpc::ClientContext get_profile;
  v1::GetHardwareProfileRequest profile;
  profile.set_name(request.target().hardware_profile());
  v1::HardwareProfile& inline_profile =
      *request.mutable_target()->mutable_inline_hardware_profile();
  grpc::ClientContext get_graph;
  v1::GetModelGraphRequest graph;
  graph.set_name(request.target().model_graph());
  v1::ModelGraph& inline_graph =
      *request.mutable_target()->mutable_inline_model_graph();
  if (!catalog->GetHardwareProfile(&get_profile, profile, &inline_profile)
           .ok() ||
      !catalog->GetModelGraph(&get_graph, graph, &inline_graph).ok()) {
    Fail("the catalog does not answer");
  }
  inline_profile.clear_name();
  inline_profile.clear_revision_id();
  inline_graph.clear_name();
  inline_graph.clear_size();
  inline_graph.clear_revision_id();
  state.SetLabel(absl::StrCat(request.ByteSizeLong(), " bytes"));
  v1::EstimateResponse response;
  for (auto _ : state) {
    if (const grpc::Status status = SendOne(*stub, request, response);
        !status.ok()) {
      Fail(status.error_message());
    }
  }
}
BENCHMARK(EstimateInline)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Catalog pages of so many profiles.
void ListHardwareProfiles(benchmark::State& state) {
  const auto stub = v1::CatalogService::NewStub(TheServers().RealChannel(true));
  v1::ListHardwareProfilesRequest request;
  request.set_page_size(static_cast<int>(state.range(0)));
  v1::ListHardwareProfilesResponse response;
  for (auto _ : state) {
    grpc::ClientContext context;
    if (!stub->ListHardwareProfiles(&context, request, &response).ok()) {
      Fail("a call failed");
    }
  }
}
BENCHMARK(ListHardwareProfiles)
    ->Arg(1)
    ->Arg(8)
    ->Arg(39)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mansard::load
