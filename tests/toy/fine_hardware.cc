#include "tests/toy/fine_hardware.h"

namespace mansard::testing {
namespace {

using model::Bytes;
using model::Format;
using model::GigabytesPerSecond;
using model::Microseconds;
using model::Seconds;

model::FamilyFacts Facts(const char* id) {
  return {id,
          model::Tier::kCalibrated,
          0.1,
          {model::ProvenanceKind::kAssumed, "toy", ""}};
}

model::TiledGemmFamily Gemm() {
  model::TiledGemmFamily family;
  family.facts = Facts("fine-gemm");
  family.launch = Microseconds(1.5);
  family.wave = Microseconds(1);
  family.split_cost = Microseconds(2.5);
  family.block_latency = Microseconds(0.1);
  family.peak_fraction = 0.9;
  family.droop = 0.2;
  family.droop_time = Microseconds(2000);
  family.hbm_fraction = 0.85;
  family.l2_feed = GigabytesPerSecond(5500);
  family.sm_hbm_feed = GigabytesPerSecond(28);
  family.sm_smem_feed = GigabytesPerSecond(220);
  family.k_block_bytes = 128;
  family.tiles = {{16, 64},  {32, 128}, {64, 32},   {64, 64},   {64, 128},
                  {64, 256}, {128, 64}, {128, 128}, {128, 256}, {256, 128}};
  family.splits = {1, 2, 3, 4, 6, 8, 12, 16, 32};
  return family;
}

model::SplitDecodeFamily Decode(const char* id) {
  model::SplitDecodeFamily family{};
  family.facts = Facts(id);
  family.launch = Microseconds(6);
  family.start = Microseconds(4);
  family.head_share = 0.4;
  family.window_start = Microseconds(2);
  family.block_latency = Microseconds(0.2);
  family.combine = Microseconds(1.5);
  family.combine_part = Microseconds(0.02);
  family.query = Seconds::Of(2e-13);
  family.peak_fraction = 0.6;
  family.hbm_fraction = 0.92;
  family.l2_feed = GigabytesPerSecond(5500);
  family.part_feed = GigabytesPerSecond(40);
  family.wide_feed = 1;
  family.occupancy = 1.3;
  family.block_tokens = 128;
  family.head_rows = 64;
  family.alone_launch = 1;
  family.alone_start = 1;
  family.warm_share = 0.5;
  family.splits = {1, 2, 4, 8, 16, 32, 64, 128};
  return family;
}

model::TiledPrefillFamily Prefill(const char* id) {
  model::TiledPrefillFamily family{};
  family.facts = Facts(id);
  family.launch = Microseconds(9);
  family.start = Microseconds(1);
  family.peak_fractions = {{64, 0.5}, {128, 0.7}, {192, 0.8}};
  family.solo = 0.3;
  family.window_blocks = 0.2;
  family.hbm_fraction = 0.6;
  family.append_passes = 1.5;
  family.append_token = Microseconds(1e-3);
  family.append_elements = 512;
  family.droop = 0.1;
  family.droop_time = Microseconds(8000);
  family.packs_heads = 1;
  family.splits_positions = 1;
  family.decodes_as_prompts = 1;
  family.head_tiles = {{128, 128, 128, 128}, {256, 128, 64, 64}};
  return family;
}

model::ExpertGemmFamily Experts() {
  model::ExpertGemmFamily family;
  family.facts = Facts("fine-experts");
  family.launch = Microseconds(5);
  family.sort = Microseconds(4);
  family.wave = Microseconds(1);
  family.block_latency = Microseconds(0.2);
  family.peak_fraction = 0.8;
  family.hbm_fraction = 0.85;
  family.l2_feed = GigabytesPerSecond(5500);
  family.sm_hbm_feed = GigabytesPerSecond(28);
  family.sm_smem_feed = GigabytesPerSecond(220);
  family.k_block_bytes = 128;
  family.warm_share = 0.5;
  family.tiles = {{16, 64}, {16, 128}, {32, 128}, {64, 128}, {128, 128}};
  return family;
}

model::DirectAllReduceFamily AllReduce() {
  model::DirectAllReduceFamily family;
  family.facts = Facts("fine-all-reduce");
  family.one_shot_alpha = Microseconds(4);
  family.one_shot_step = Microseconds(0.2);
  family.one_shot_bus = GigabytesPerSecond(90);
  family.two_shot_alpha = Microseconds(6);
  family.two_shot_step = Microseconds(0.4);
  family.two_shot_bus = GigabytesPerSecond(90);
  family.one_shot_limit.fill(Bytes::Of(512 * 1024));
  family.two_shot_limit.fill(Bytes::Of(8 * 1024 * 1024));
  return family;
}

model::ExpertExchangeFamily Exchange(const char* id, bool per_rank) {
  model::ExpertExchangeFamily family;
  family.facts = Facts(id);
  family.alpha = Microseconds(per_rank ? 25 : 10);
  family.network_alpha = Microseconds(5);
  family.network_step = Microseconds(3);
  family.token = Microseconds(0.4);
  family.row = Microseconds(0.1);
  family.sm_feed = GigabytesPerSecond(20);
  family.token_feed = GigabytesPerSecond(50);
  family.bus = GigabytesPerSecond(80);
  family.network = GigabytesPerSecond(9);
  family.crowding = 0;
  family.per_rank = per_rank ? 1 : 0;
  family.multiprocessors = per_rank ? 20 : 0;
  return family;
}

}  // namespace

ToyHardware FineHardware() {
  ToyHardware toy;
  toy.device.multiprocessor_count->value = 132;
  toy.device.hbm.bandwidth->value = GigabytesPerSecond(3350);
  toy.device.smem = model::MemoryLevel{
      {Bytes::Of(132 * 233472.0), toy.device.hbm.capacity.provenance},
      std::nullopt};
  model::FineFamilies& fine = toy.stack.fine;
  for (const Format format : {Format::kBf16, Format::kFp16, Format::kFp8E4m3}) {
    const size_t key = static_cast<size_t>(format);
    fine.plain_gemm.Bind(key, Gemm());
    fine.experts.Bind(key, Experts());
    fine.split_decode.Bind(key, Decode("fine-decode"));
    fine.latent_decode.Bind(key, Decode("fine-latent-decode"));
    fine.tiled_prefill.Bind(key, Prefill("fine-prefill"));
    fine.latent_prefill.Bind(key, Prefill("fine-latent-prefill"));
  }
  const size_t tier = static_cast<size_t>(model::LinkTier::kNvlink);
  fine.direct_all_reduce.Bind(tier, AllReduce());
  fine.expert_dispatch.Bind(tier, Exchange("fine-dispatch", true));
  fine.expert_combine.Bind(tier, Exchange("fine-combine", true));
  fine.expert_dispatch_low_latency.Bind(tier, Exchange("fine-quick", false));
  fine.expert_combine_low_latency.Bind(tier, Exchange("fine-back", false));
  return toy;
}

}  // namespace mansard::testing
