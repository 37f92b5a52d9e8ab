#include "model/graph/graph_spec.h"

namespace mansard::model {

int QueryHeads(const Attention& attention) {
  return std::visit([](const auto& a) { return a.query_heads; }, attention);
}

int64_t KvElementsPerToken(const GroupedQueryAttention& attention,
                           int kv_heads) {
  return int64_t{2} * kv_heads * attention.head_size;
}

int64_t KvElementsPerToken(const LatentAttention& attention) {
  return attention.kv_lora_rank + attention.rope_head_size;
}

}  // namespace mansard::model
