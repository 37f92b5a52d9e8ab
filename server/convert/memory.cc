// The memory part of an answer.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/estimate.h"

namespace mansard::server {
namespace {

int64_t WholeBytes(model::Bytes bytes) {
  return static_cast<int64_t>(std::llround(bytes.value()));
}

std::string Text(absl::string_view view) { return std::string(view); }

void AddClass(absl::string_view name, model::Bytes bytes,
              v1::MemoryFootprint& proto) {
  if (bytes == model::Bytes::Zero()) return;
  v1::MemoryFootprint::WeightClass& row = *proto.add_weight_classes();
  row.set_tensor_class(Text(name));
  row.set_bytes(WholeBytes(bytes));
}

void AddWeightClasses(const model::WeightBytesByClass& weights,
                      v1::MemoryFootprint& proto) {
  for (size_t i = 0; i < model::kTensorClassCount; ++i) {
    AddClass(model::TensorClassName(static_cast<model::TensorClass>(i)),
             weights.by_class[i], proto);
  }
  AddClass("drafting", weights.drafting, proto);
}

void AddLayers(const model::MemoryFootprint& memory,
               const model::ModelGraph& graph, v1::MemoryFootprint& proto) {
  for (const model::LayerMemory& layer : memory.layers) {
    if (layer.pass.total() == model::Bytes::Zero()) continue;
    v1::MemoryFootprint::LayerCache& row = *proto.add_layer_caches();
    row.set_layer_kind(graph.spec().layer_kinds[layer.layer_kind].name);
    row.set_layer_count(static_cast<int32_t>(layer.layers));
    row.set_bytes_per_token(layer.per_token.value());
    row.set_kv_cache_bytes(WholeBytes(layer.pass.cache));
    row.set_indexer_bytes(WholeBytes(layer.pass.indexer));
    row.set_state_bytes(WholeBytes(layer.pass.state));
    row.set_paged_bytes(WholeBytes(layer.pass.paged));
  }
}

std::string ValueOf(const model::Remedy& remedy) {
  switch (remedy.kind) {
    case model::RemedyKind::kTensorSize:
    case model::RemedyKind::kPipelineSize:
    case model::RemedyKind::kDataSize:
    case model::RemedyKind::kContext:
    case model::RemedyKind::kRequestCount:
      return absl::StrCat(remedy.number);
    case model::RemedyKind::kWeights:
    case model::RemedyKind::kKvCache:
      return Text(model::TraitsOf(remedy.format).name);
  }
  return "";
}

}  // namespace

void ToProto(const model::MemoryFootprint& memory,
             const std::vector<model::Remedy>& remedies,
             const model::ModelGraph& graph, v1::MemoryFootprint& proto) {
  proto.set_weight_bytes(WholeBytes(memory.weights));
  proto.set_weight_padding_bytes(WholeBytes(memory.weight_padding));
  proto.set_other_weights_bytes(WholeBytes(memory.other_weights));
  proto.set_kv_cache_bytes(WholeBytes(memory.kv_cache));
  proto.set_indexer_bytes(WholeBytes(memory.indexer));
  proto.set_draft_kv_cache_bytes(WholeBytes(memory.draft_kv_cache));
  proto.set_state_bytes(WholeBytes(memory.state));
  proto.set_paging_bytes(WholeBytes(memory.paging));
  proto.set_workspace_bytes(WholeBytes(memory.workspace));
  proto.set_communication_bytes(WholeBytes(memory.communication));
  proto.set_reserved_bytes(WholeBytes(memory.framework));
  proto.set_capacity_bytes(WholeBytes(memory.capacity));
  proto.set_budget_bytes(WholeBytes(memory.budget));
  proto.set_free_bytes(WholeBytes(memory.free()));
  proto.set_kv_budget_bytes(WholeBytes(memory.kv_budget()));
  proto.set_kv_token_capacity_count(memory.kv_token_capacity);
  proto.set_no_token_reason(Text(model::NoTokenReason(memory)));
  proto.set_block_token_count(memory.block_tokens);
  proto.set_max_request_count(static_cast<int32_t>(memory.max_requests));
  proto.set_max_context_token_count(memory.max_context);
  proto.set_fits(memory.fits);
  proto.set_stage_index(memory.stage);
  AddWeightClasses(memory.weights_by_class, proto);
  AddLayers(memory, graph, proto);
  for (const model::Remedy& remedy : remedies) {
    v1::MemoryFootprint::Remedy& row = *proto.add_remedies();
    row.set_kind(Text(model::RemedyKindName(remedy.kind)));
    row.set_value(ValueOf(remedy));
    row.set_needed_bytes(WholeBytes(remedy.needed));
  }
}

}  // namespace mansard::server
