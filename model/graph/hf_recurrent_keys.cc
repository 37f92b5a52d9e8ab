// How classes spell Mamba and Mamba 2, and their defaults.
#include "model/graph/hf_recurrent.h"

namespace mansard::model {

// configuration_mamba2.py. The class has the norm whatever `rms_norm` says.
const Mamba2Keys kMamba2Keys = {
    .heads = "num_heads",
    .default_heads = 128,
    .head_size = "head_dim",
    .default_head_size = 64,
    .groups = "n_groups",
    .default_groups = 8,
    .state_size = "state_size",
    .default_state_size = 128,
    .conv_kernel = "conv_kernel",
    .conv_bias = ByKey("use_conv_bias", true),
    .projection_bias = ByKey("use_bias", false),
    .expand = "expand",
};

// configuration_nemotron_h.py: heads x head size need not be expand x hidden.
const Mamba2Keys kNemotronMambaKeys = {
    .heads = "mamba_num_heads",
    .default_heads = 128,
    .head_size = "mamba_head_dim",
    .default_head_size = 64,
    .groups = "n_groups|mamba_n_groups",
    .default_groups = 8,
    .state_size = "ssm_state_size",
    .default_state_size = 128,
    .conv_kernel = "conv_kernel|mamba_d_conv",
    .conv_bias = ByKey("use_conv_bias|mamba_conv_bias", true),
    .projection_bias = ByKey("use_bias", false),
};

// configuration_granitemoehybrid.py, configuration_bamba.py.
const Mamba2Keys kHybridMambaKeys = {
    .heads = "mamba_n_heads",
    .default_heads = 128,
    .head_size = "mamba_d_head",
    .groups = "mamba_n_groups",
    .default_groups = 1,
    .state_size = "mamba_d_state",
    .default_state_size = 256,
    .conv_kernel = "mamba_d_conv",
    .conv_bias = ByKey("mamba_conv_bias", true),
    .projection_bias = ByKey("mamba_proj_bias", false),
    .expand = "mamba_expand",
};

// configuration_falcon_h1.py.
const Mamba2Keys kFalconMambaKeys = {
    .heads = "mamba_n_heads",
    .default_heads = 128,
    .head_size = "mamba_d_head",
    .groups = "mamba_n_groups",
    .default_groups = 1,
    .state_size = "mamba_d_state",
    .default_state_size = 256,
    .conv_kernel = "mamba_d_conv",
    .conv_bias = ByKey("mamba_conv_bias", true),
    .projection_bias = ByKey("mamba_proj_bias", false),
    .output_norm = ByKey("mamba_rms_norm", false),
    .width = "mamba_d_ssm",
    .expand = "mamba_expand",
};

// mamba2.py of the first publication.
const Mamba2Keys kStateSpacesMamba2Keys = {
    .head_size = "ssm_cfg.headdim",
    .default_head_size = 64,
    .groups = "ssm_cfg.ngroups",
    .default_groups = 1,
    .state_size = "ssm_cfg.d_state",
    .default_state_size = 128,
    .conv_kernel = "ssm_cfg.d_conv",
    .conv_bias = ByKey("ssm_cfg.conv_bias", true),
    .projection_bias = ByKey("ssm_cfg.bias", false),
    .output_norm = ByKey("ssm_cfg.rmsnorm", true),
    .expand = "ssm_cfg.expand",
};

// configuration_mamba.py.
const MambaKeys kMambaKeys = {
    .state_size = "state_size",
    .conv_kernel = "conv_kernel",
    .expand = "expand",
    .time_step_rank = "time_step_rank",
    .conv_bias = ByKey("use_conv_bias", true),
    .projection_bias = ByKey("use_bias", true),
    .width = "intermediate_size",
};

// configuration_falcon_mamba.py.
const MambaKeys kFalconKeys = {
    .state_size = "state_size",
    .conv_kernel = "conv_kernel",
    .expand = "expand",
    .time_step_rank = "time_step_rank",
    .conv_bias = ByKey("use_conv_bias", true),
    .projection_bias = ByKey("use_bias", false),
    .width = "intermediate_size",
};

// configuration_jamba.py.
const MambaKeys kJambaMambaKeys = {
    .state_size = "mamba_d_state",
    .conv_kernel = "mamba_d_conv",
    .expand = "mamba_expand",
    .time_step_rank = "mamba_dt_rank",
    .conv_bias = ByKey("mamba_conv_bias", true),
    .projection_bias = ByKey("mamba_proj_bias", false),
    .inner_norms = true,
};

// mamba_simple.py of the first publication.
const MambaKeys kStateSpacesMambaKeys = {
    .state_size = "ssm_cfg.d_state",
    .conv_kernel = "ssm_cfg.d_conv",
    .expand = "ssm_cfg.expand",
    .time_step_rank = "ssm_cfg.dt_rank",
    .conv_bias = ByKey("ssm_cfg.conv_bias", true),
    .projection_bias = ByKey("ssm_cfg.bias", false),
    .width = "d_inner",
};

}  // namespace mansard::model
