#include "model/lower/lowering.h"

namespace mansard::model {
namespace {

// Columns of the one projection that every part reads the layer's input
// through; low-rank parts go on from there.
int64_t InputColumns(const RecurrentMixer& mine) {
  int64_t columns = mine.conv_width();
  switch (mine.gate) {
    case OutputGate::kNone:
      break;
    case OutputGate::kFull:
      columns += mine.value_width();
      break;
    case OutputGate::kLowRank:
      columns += mine.gate_rank;
      break;
  }
  switch (mine.rule) {
    case StateRule::kDecay:  // Constants.
    case StateRule::kMamba:  // Out of what was convolved.
      return columns;
    case StateRule::kGatedDelta:
      return columns + 2 * mine.heads;  // Decays, write strengths.
    case StateRule::kKeyGatedDelta:
      return columns + mine.decay_rank + mine.heads;
    case StateRule::kMamba2:
      return columns + mine.heads;  // Time steps.
  }
  return columns;
}

// Of those, columns with a bias where the mixer's projections have one.
int64_t BiasedColumns(const RecurrentMixer& mine) {
  if (!mine.projection_bias) return 0;
  return mine.conv_width() +
         (mine.gate == OutputGate::kFull ? mine.value_width() : 0) +
         (mine.rule == StateRule::kMamba2 ? mine.heads : 0);
}

}  // namespace

// Heads are shared out; low-rank down-projections are on every rank, and so are
// Mamba's B and C. Where an attention stands beside, it has quantised what both
// read, and the two outputs are summed before the ranks are.
void Lowering::EmitRecurrent(const RecurrentMixer& mixer) {
  const RecurrentMixer mine = layout_.OnRank(mixer);
  const bool beside =
      layer_kind_ >= 0 && graph_.spec()
                              .layer_kinds[static_cast<size_t>(layer_kind_)]
                              .attention.has_value();
  Format input = beside ? FormatsOf(LinearClass::kAttentionInput).activations
                        : formats_.hidden;
  EmitInputQuantize(Part::kRecurrentQuantize, LinearClass::kRecurrent, input);
  EmitRecurrentInput(mine);
  EmitConvolution(mine);
  EmitDecays(mine);
  EmitStates(mine);
  EmitRecurrentNorm(mixer, mine);
  EmitLinear(LinearClass::kRecurrent,
             {Part::kRecurrentOutputProj, Part::kRecurrentOutputQuantize},
             hidden_, mine.value_width(), mixer.projection_bias);
  if (beside) Emit(ResidualOp(HiddenShape()), Part::kMixerSum);
}

void Lowering::EmitRecurrentInput(const RecurrentMixer& mine) {
  Op& projection = Emit(GemmOp(LinearShape(LinearClass::kRecurrent, tokens_,
                                           InputColumns(mine), hidden_),
                               false),
                        Part::kRecurrentProj);
  const double biased = static_cast<double>(BiasedColumns(mine));
  projection.work.vector += Flops::Of(static_cast<double>(tokens_) * biased);
  projection.work.weights += ElementBytes(formats_.hidden, biased);
  projection.held = projection.work.weights;
  if (mine.gate == OutputGate::kLowRank) {
    EmitLinear(LinearClass::kRecurrent, {Part::kGateProj, Part::kGateQuantize},
               mine.value_width(), mine.gate_rank, false);
  }
}

void Lowering::EmitConvolution(const RecurrentMixer& mine) {
  if (mine.conv_kernel == 0) return;
  int64_t states_read = 0;
  for (const RequestGroup& group : pass_.groups()) {
    const bool reads = group.role == Role::kDecode || group.prior_tokens > 0;
    if (reads) states_read += group.request_count;
  }
  Emit(ConvolutionOp({tokens_, mine.conv_width(), formats_.hidden},
                     {.kernel = mine.conv_kernel,
                      .bias = mine.conv_bias,
                      .filter_format = formats_.native},
                     states_read, pass_.request_count()),
       Part::kConvolution);
}

// Decays that have a projection of their own.
void Lowering::EmitDecays(const RecurrentMixer& mine) {
  int64_t width = mine.heads;
  switch (mine.rule) {
    case StateRule::kDecay:
    case StateRule::kGatedDelta:
    case StateRule::kMamba2:
      return;
    case StateRule::kKeyGatedDelta:
      width *= mine.key_size;
      break;
    case StateRule::kMamba:
      EmitStateInput(mine);
      break;
  }
  EmitLinear(LinearClass::kRecurrent, {Part::kDecayProj, Part::kDecayQuantize},
             width, mine.decay_rank, false);
}

// Out of the rank's channels: partial sums, which the ranks add up.
void Lowering::EmitStateInput(const RecurrentMixer& mine) {
  const int64_t width = mine.decay_rank + int64_t{2} * mine.key_size;
  EmitLinear(LinearClass::kRecurrent,
             {Part::kStateProj, Part::kStateProjQuantize}, width,
             mine.value_width(), false);
  if (layout_.tensor() > 1) {
    Emit(AllReduceOp(Among(layout_.tensor_group()),
                     ActivationBytes(formats_.hidden, tokens_, width)),
         Part::kStateProjAllReduce);
  }
  if (mine.inner_norms) {
    // Three, side by side in each row.
    Op& norm =
        Emit(NormOp({tokens_, width, formats_.hidden}, false, formats_.native),
             Part::kStateProjNorm);
    norm.work.special *= 3;
  }
}

// The rule's vectors are read by each group's kernel and held once.
void Lowering::EmitStates(const RecurrentMixer& mine) {
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    Op& op = Emit(StateOp({.group = pass_.groups()[i],
                           .rule = mine.rule,
                           .heads = mine.heads,
                           .key_heads = mine.key_heads,
                           .key_size = mine.key_size,
                           .value_size = mine.value_size,
                           .input = formats_.hidden,
                           .state = formats_.precision.state},
                          formats_.native),
                  Part::kRecurrentState);
    if (pass_.groups().size() > 1) op.group = static_cast<int>(i);
    if (i > 0) op.held = Bytes::Zero();
  }
}

// Over all heads: of Mamba-2, over those of a group of B and C, which a rank
// holds whole while there are groups for all; else the ranks add their sums of
// squares first.
void Lowering::EmitRecurrentNorm(const RecurrentMixer& mixer,
                                 const RecurrentMixer& mine) {
  const bool gated = mine.gate != OutputGate::kNone;
  ElementwiseShape shape{tokens_, mine.value_width(), formats_.hidden};
  if (mine.output_norm == QkNorm::kNone) {
    if (gated) Emit(GateOp(shape), Part::kRecurrentGate);
    return;
  }
  if (mine.output_norm == QkNorm::kAllHeads) {
    const bool whole_groups =
        mixer.rule == StateRule::kMamba2 && mixer.key_heads >= layout_.tensor();
    if (layout_.tensor() > 1 && !whole_groups) {
      Emit(AllReduceOp(Among(layout_.tensor_group()),
                       ActivationBytes(Format::kFp32, tokens_, 1)),
           Part::kRecurrentNormAllReduce);
    }
  } else {
    shape = {tokens_ * mine.heads, mine.value_size, formats_.hidden};
  }
  Op& norm = Emit(gated ? GatedNormOp(shape, formats_.native)
                        : NormOp(shape, false, formats_.native),
                  Part::kRecurrentNorm);
  if (mine.output_norm == QkNorm::kUnweighted) {
    norm.work.weights = Bytes::Zero();
    norm.held = Bytes::Zero();
  }
}

}  // namespace mansard::model
