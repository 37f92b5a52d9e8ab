#include "tests/reference/feed_forward_counter.h"

#include "tests/reference/expert_draws.h"

namespace mansard::testing {

int64_t FeedForwardCounter::Mine(int64_t width) const {
  int64_t mine = 0;
  for (int64_t i = 0; i < width; ++i) {
    if (i * options_.tensor / width == options_.rank) ++mine;
  }
  return mine;
}

void FeedForwardCounter::Make(const std::string& part,
                              model::LinearClass linear) {
  const model::Format wanted = tally_.Of(linear).input;
  if (made_ == wanted || ElementSize(wanted) >= 2) return;
  tally_.QuantizeTo(wanted, part, tokens_, hidden_);
  made_ = wanted;
}

void FeedForwardCounter::AllReduce(int64_t columns) {
  tally_.AllReduce("ffn_all_reduce", tokens_, columns, options_.tensor);
}

bool FeedForwardCounter::operator()(
    const model::DenseFeedForward& feed_forward) {
  const int64_t width = Mine(feed_forward.intermediate_size);
  tally_.Linear(model::LinearClass::kFeedForward, "up_proj", "ffn_quantize",
                tokens_, feed_forward.gated ? 2 * width : width, hidden_,
                feed_forward.bias);
  tally_.Activation("activation", tokens_, width, feed_forward.gated);
  tally_.Linear(model::LinearClass::kFeedForward, "down_proj", "down_quantize",
                tokens_, hidden_, width, feed_forward.bias);
  return false;
}

// Router and top-k on every rank, each expert's width shared out.
bool FeedForwardCounter::operator()(const model::MixtureOfExperts& moe) {
  made_ = {};
  Make("router_quantize", model::LinearClass::kRouter);
  tally_.Gemm("router", tokens_, moe.expert_count, hidden_,
              tally_.Of(model::LinearClass::kRouter), moe.router_bias);
  tally_.Move("top_k", tokens_, moe.expert_count, 1, 0);
  for (int64_t e = 0; e < tokens_ * moe.expert_count; ++e) {
    ++tally_.Of("top_k").exponentials;
  }
  Routed(moe);
  // A norm needs whole vectors.
  const bool reduces = moe.latent_norm || moe.separate_norms;
  if (moe.shared_intermediate_size != 0) Shared(moe, reduces);
  return reduces;
}

void FeedForwardCounter::Routed(const model::MixtureOfExperts& moe) {
  const int64_t width = Mine(moe.expert_intermediate_size);
  const int64_t rows = tokens_ * moe.experts_per_token;
  const std::optional<model::Format> before = made_;
  if (moe.separate_norms) {
    made_ = {};  // Of a vector of their own.
    tally_.Norm("expert_input_norm", tokens_, hidden_, false, norm_vectors_);
  }
  int64_t in = hidden_;
  if (moe.latent_size != 0) {
    in = moe.latent_size;
    Make("latent_down_quantize", model::LinearClass::kLatentExperts);
    tally_.Gemm("latent_down", tokens_, in, hidden_,
                tally_.Of(model::LinearClass::kLatentExperts));
    tally_.Quantize("ffn_quantize", model::LinearClass::kExperts, tokens_, in);
  } else {
    // Experts read a token's vector from one matrix, routed or shared.
    Make("ffn_quantize", model::LinearClass::kExperts);
  }
  if (moe.separate_norms) made_ = before;
  Experts("expert_up", moe, moe.gated ? 2 * width : width, in,
          moe.experts_per_token);
  tally_.Activation("expert_activation", rows, width, moe.gated);
  tally_.Quantize("expert_down_quantize", model::LinearClass::kExperts, rows,
                  width);
  Experts("expert_down", moe, in, width, 1);
  tally_.Move("combine", tokens_, in, moe.experts_per_token, 1);
  bool whole = false;
  if (moe.latent_norm) {
    AllReduce(in);
    whole = true;
    tally_.Norm("latent_norm", tokens_, in, false);
  }
  if (moe.latent_size != 0) {
    tally_.Linear(model::LinearClass::kLatentExperts, "latent_up",
                  "latent_up_quantize", tokens_, hidden_, in);
  }
  if (!moe.separate_norms) return;
  if (!whole) AllReduce(hidden_);
  tally_.Norm("expert_output_norm", tokens_, hidden_, false, norm_vectors_);
}

void FeedForwardCounter::Shared(const model::MixtureOfExperts& moe,
                                bool reduces) {
  const int64_t width = Mine(moe.shared_intermediate_size);
  Make("ffn_quantize", model::LinearClass::kSharedExperts);
  tally_.Gemm("shared_up", tokens_, moe.shared_gated ? 2 * width : width,
              hidden_, tally_.Of(model::LinearClass::kSharedExperts));
  tally_.Activation("shared_activation", tokens_, width, moe.shared_gated);
  tally_.Linear(model::LinearClass::kSharedExperts, "shared_down",
                "shared_down_quantize", tokens_, hidden_, width);
  if (moe.shared_expert_gate) {
    tally_.Gemm("shared_gate_proj", tokens_, 1, hidden_, tally_.Wide());
    tally_.Move("shared_gate", tokens_, hidden_, 1, 1);
    for (int64_t t = 0; t < tokens_; ++t) {
      ReferenceWork& gate = tally_.Of("shared_gate");
      ++gate.exponentials;
      gate.activations_in += ElementSize(options_.formats.hidden);
    }
  }
  if (reduces) AllReduce(hidden_);
  if (moe.separate_norms) {
    tally_.Norm("shared_output_norm", tokens_, hidden_, false, norm_vectors_);
  }
  tally_.Move("shared_sum", tokens_, hidden_, 2, 1);
}

void FeedForwardCounter::Experts(const std::string& part,
                                 const model::MixtureOfExperts& moe,
                                 int64_t outputs, int64_t inputs, int sharers) {
  ReferenceWork& work = tally_.Of(part);
  const int64_t rows = tokens_ * moe.experts_per_token;
  Touched one_expert(outputs, inputs), out(rows, outputs);
  Touched in(rows / sharers, inputs);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t n = 0; n < outputs; ++n) {
      out.Mark(row, n);
      for (int64_t k = 0; k < inputs; ++k) {
        ++work.multiply_adds;
        in.Mark(row / sharers, k);
        one_expert.Mark(n, k);
      }
    }
  }
  const Tally::Operands operands = tally_.Of(model::LinearClass::kExperts);
  double expert = one_expert.WeightBytes(operands.weights);
  for (int64_t n = 0; moe.expert_bias && n < outputs; ++n) {
    expert += ElementSize(operands.output);
  }
  work.weights += DistinctExperts(pass_.routing(), tokens_,
                                  moe.experts_per_token, moe.expert_count) *
                  expert;
  work.activations_in += in.ActivationBytes(operands.input);
  work.activations_out += out.ActivationBytes(operands.output);
}

}  // namespace mansard::testing
