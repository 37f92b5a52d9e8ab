#include "tests/reference/recurrent_counter.h"

#include <set>

namespace mansard::testing {
namespace {

using model::OutputGate;
using model::QkNorm;
using model::RecurrentMixer;
using model::RequestGroup;
using model::Role;
using model::StateRule;

bool IsMamba(const RecurrentMixer& m) {
  return m.rule == StateRule::kMamba || m.rule == StateRule::kMamba2;
}

}  // namespace

RecurrentCounter::RecurrentCounter(const model::ForwardPass& pass,
                                   const ReferenceOptions& options,
                                   int64_t hidden, Tally& tally)
    : pass_(pass),
      options_(options),
      hidden_(hidden),
      tokens_(pass.total_new_tokens()),
      element_(ElementSize(options.formats.hidden)),
      native_(ElementSize(options.formats.native)),
      state_(ElementSize(options.formats.precision.state)),
      tally_(tally) {}

void RecurrentCounter::Count(const RecurrentMixer& mixer, bool beside) {
  std::set<int> key_heads;
  heads_ = 0;
  for (int h = 0; h < mixer.heads; ++h) {
    if (h * options_.tensor / mixer.heads != options_.rank) continue;
    ++heads_;
    key_heads.insert(h / (mixer.heads / mixer.key_heads));
  }
  key_heads_ = static_cast<int64_t>(key_heads.size());

  const bool made =
      beside && tally_.Of(model::LinearClass::kAttentionInput).input ==
                    tally_.Of(model::LinearClass::kRecurrent).input;
  if (!made) {
    tally_.Quantize("recurrent_quantize", model::LinearClass::kRecurrent,
                    tokens_, hidden_);
  }
  Input(mixer);
  if (mixer.conv_kernel != 0) Convolution(mixer);
  if (mixer.rule == StateRule::kMamba) MambaInput(mixer);
  if (mixer.rule == StateRule::kKeyGatedDelta) {
    tally_.Linear(model::LinearClass::kRecurrent, "decay_proj",
                  "decay_quantize", tokens_, heads_ * mixer.key_size,
                  mixer.decay_rank);
  }
  for (const RequestGroup& group : pass_.groups()) {
    Vectors(mixer);
    for (int64_t r = 0; r < group.request_count; ++r) Request(group, mixer);
  }
  OutputNorm(mixer);
  tally_.Linear(model::LinearClass::kRecurrent, "recurrent_o_proj",
                "recurrent_o_quantize", tokens_, hidden_,
                heads_ * mixer.value_size, mixer.projection_bias);
  if (beside) tally_.Move("mixer_sum", tokens_, hidden_, 2, 1);
}

void RecurrentCounter::Input(const RecurrentMixer& m) {
  int64_t biased = 0, plain = 0;
  for (int64_t h = 0; h < key_heads_; ++h) {
    if (m.rule != StateRule::kMamba) biased += 2 * m.key_size;
  }
  for (int64_t h = 0; h < heads_; ++h) {
    biased += m.value_size;
    if (m.gate == OutputGate::kFull) biased += m.value_size;
    if (m.rule == StateRule::kMamba2) ++biased;
    if (m.rule == StateRule::kGatedDelta) plain += 2;
    if (m.rule == StateRule::kKeyGatedDelta) ++plain;
  }
  if (m.gate == OutputGate::kLowRank) plain += m.gate_rank;
  if (m.rule == StateRule::kKeyGatedDelta) plain += m.decay_rank;
  tally_.Gemm("recurrent_proj", tokens_, biased + plain, hidden_,
              tally_.Of(model::LinearClass::kRecurrent));
  for (int64_t c = 0; m.projection_bias && c < biased; ++c) {
    tally_.Of("recurrent_proj").weights += element_;
  }
  if (m.gate == OutputGate::kLowRank) {
    tally_.Linear(model::LinearClass::kRecurrent, "gate_proj", "gate_quantize",
                  tokens_, heads_ * m.value_size, m.gate_rank);
  }
}

void RecurrentCounter::Convolution(const RecurrentMixer& m) {
  ReferenceWork& work = tally_.Of("convolution");
  int64_t channels = heads_ * m.value_size;
  if (m.rule != StateRule::kMamba) channels += 2 * key_heads_ * m.key_size;
  tally_.Move("convolution", tokens_, channels, 1, 1);
  for (int64_t c = 0; c < channels; ++c) {
    work.weights += native_ * (m.conv_kernel + (m.conv_bias ? 1 : 0));
    for (int64_t t = 0; t < tokens_; ++t) {
      for (int k = 0; k < m.conv_kernel; ++k) work.vector_operations += 2;
      work.vector_operations += 3 + (m.conv_bias ? 1 : 0);
      ++work.exponentials;
    }
    for (const RequestGroup& group : pass_.groups()) {
      const bool fresh =
          group.role == Role::kPrefill && group.prior_tokens == 0;
      for (int64_t r = 0; r < group.request_count; ++r) {
        for (int kept = 1; kept < m.conv_kernel; ++kept) {
          if (!fresh) work.kv_read += element_;
          work.kv_write += element_;
        }
      }
    }
  }
}

// Time steps, B and C out of this rank's channels: partial sums.
void RecurrentCounter::MambaInput(const RecurrentMixer& m) {
  const int64_t width = m.decay_rank + m.key_size + m.key_size;
  tally_.Linear(model::LinearClass::kRecurrent, "state_proj", "state_quantize",
                tokens_, width, heads_);
  if (options_.tensor != 1) AllReduce("state_all_reduce", width, element_);
  if (m.inner_norms) tally_.Norm("state_norm", tokens_, width, false);
  tally_.Linear(model::LinearClass::kRecurrent, "decay_proj", "decay_quantize",
                tokens_, heads_, m.decay_rank);
}

void RecurrentCounter::OutputNorm(const RecurrentMixer& m) {
  const int64_t width = heads_ * m.value_size;
  const bool gated = m.gate != OutputGate::kNone;
  if (m.output_norm == QkNorm::kNone) {
    if (!gated) return;
    tally_.Move("recurrent_gate", tokens_, width, 2, 1);
    for (int64_t e = 0; e < tokens_ * width; ++e) {
      ++tally_.Of("recurrent_gate").exponentials;
    }
    return;
  }
  if (m.output_norm == QkNorm::kAllHeads && options_.tensor != 1) {
    // A group of Mamba-2's heads shares B and C: split over ranks or not?
    const bool split = !IsMamba(m) || m.key_heads < options_.tensor;
    if (split) AllReduce("recurrent_norm_all_reduce", 1, 4);
  }
  tally_.Move("recurrent_norm", tokens_, width, gated ? 2 : 1, 1);
  ReferenceWork& work = tally_.Of("recurrent_norm");
  if (m.output_norm == QkNorm::kPerHead) {
    for (int d = 0; d < m.value_size; ++d) work.weights += native_;
  } else if (m.output_norm == QkNorm::kAllHeads) {
    for (int64_t d = 0; d < width; ++d) work.weights += native_;
  }
}

void RecurrentCounter::AllReduce(const char* part, int64_t columns,
                                 double size) {
  ReferenceWork& work = tally_.Of(part);
  for (int64_t e = 0; e < tokens_ * columns; ++e) {
    work.message += size;
    work.activations_in += size;
    work.activations_out += size;
  }
}

}  // namespace mansard::testing
