// Parameters of recurrent mixers and their norms.
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

// A projection of the layer's input to `width`.
int64_t In(const RecurrentMixer& m, int64_t hidden, int64_t width) {
  return hidden * width + (m.projection_bias ? width : 0);
}

int64_t Gate(const RecurrentMixer& m, int64_t hidden) {
  switch (m.gate) {
    case OutputGate::kNone:
      return 0;
    case OutputGate::kFull:
      return In(m, hidden, m.value_width());
    case OutputGate::kLowRank:
      return hidden * m.gate_rank + m.gate_rank * m.value_width();
  }
  return 0;
}

int64_t Convolution(const RecurrentMixer& m) {
  if (m.conv_kernel == 0) return 0;
  return m.conv_width() * (m.conv_kernel + (m.conv_bias ? 1 : 0));
}

// What decays and weighs the update, beyond queries, keys and values.
int64_t Update(const RecurrentMixer& m, int64_t hidden) {
  const int64_t heads = m.heads;
  switch (m.rule) {
    // Lightning attention (modeling_minimax.py): the decays are constants.
    case StateRule::kDecay:
      return 0;
    // modeling_qwen3_next.py: b and a for each head; A_log, dt_bias.
    case StateRule::kGatedDelta:
      return hidden * 2 * heads + 2 * heads;
    // Kimi Linear, arXiv 2510.26692 §4 and its modeling_kimi.py: low-rank
    // decays and their dt_bias for each key element, b and A_log for each head.
    case StateRule::kKeyGatedDelta: {
      const int64_t decays = heads * m.key_size;
      return hidden * m.decay_rank + m.decay_rank * decays + decays +
             hidden * heads + heads;
    }
    // modeling_mamba.py: x_proj makes time step, B and C out of x; dt_proj with
    // its bias; A_log for each state element, D for each channel. Queries and
    // keys have no projection of their own.
    case StateRule::kMamba:
      return heads * (m.decay_rank + 2 * m.key_size) + m.decay_rank * heads +
             heads + heads * m.key_size + heads;
    // modeling_mamba2.py: a time step a head, out of in_proj; A_log, D,
    // dt_bias.
    case StateRule::kMamba2:
      return In(m, hidden, heads) + 3 * heads;
  }
  return 0;
}

}  // namespace

int64_t RecurrentParameters(const RecurrentMixer& mixer, int64_t hidden) {
  // Queries, keys and values, or x, B and C: what the convolution covers.
  return In(mixer, hidden, mixer.conv_width()) + Gate(mixer, hidden) +
         Convolution(mixer) + Update(mixer, hidden) +
         mixer.value_width() * hidden + (mixer.projection_bias ? hidden : 0);
}

int64_t RecurrentNormParameters(const RecurrentMixer& mixer) {
  const int64_t inner =
      mixer.inner_norms ? mixer.decay_rank + int64_t{2} * mixer.key_size : 0;
  switch (mixer.output_norm) {
    case QkNorm::kNone:
    case QkNorm::kUnweighted:
      return inner;
    case QkNorm::kPerHead:
      return inner + mixer.value_size;
    case QkNorm::kAllHeads:
      return inner + mixer.value_width();
  }
  return inner;
}

}  // namespace mansard::model
