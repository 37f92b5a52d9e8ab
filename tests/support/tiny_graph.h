// A graph for tests of what keeps graphs.
#pragma once

namespace mansard::testing {

// Small, but a complete graph.
inline constexpr char kTinyGraph[] = R"(
display_name: "Tiny"
hidden_size: 64
vocabulary_size: 1000
layer_kinds {
  kind: "dense"
  attention {
    query_head_count: 4
    grouped_query { kv_head_count: 2 head_size: 16 }
  }
  dense { intermediate_size: 128 gated: true }
}
layer_count: 2
native_precision { weights: "bf16" activations: "bf16" kv_cache: "bf16" }
max_context_token_count: 2048
source: "manual"
)";

}  // namespace mansard::testing
