"""A config.json with the shapes of a 32-billion-parameter dense model."""

import json

# 64 layers: attention 5120 x 128 x (2 x 64 + 2 x 8) + 2 x 128 norms of heads,
# feed-forward 3 x 5120 x 25600, two norms; embedding and head 151936 x 5120.
PARAMETERS = (
    64 * (5120 * 128 * (2 * 64 + 2 * 8) + 2 * 128 + 3 * 5120 * 25600 + 2 * 5120)
    + 2 * 151936 * 5120
    + 5120
)

CONFIG = json.dumps(
    {
        "architectures": ["Qwen3ForCausalLM"],
        "attention_bias": False,
        "head_dim": 128,
        "hidden_act": "silu",
        "hidden_size": 5120,
        "initializer_range": 0.02,
        "intermediate_size": 25600,
        "max_position_embeddings": 40960,
        "model_type": "qwen3",
        "num_attention_heads": 64,
        "num_hidden_layers": 64,
        "num_key_value_heads": 8,
        "rms_norm_eps": 1e-06,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "use_sliding_window": False,
        "vocab_size": 151936,
    }
)
