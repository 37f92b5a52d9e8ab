#include "tests/reference/stream_counter.h"

namespace mansard::testing {
namespace {

constexpr double kWide = 4;  // Bytes of fp32.

}  // namespace

void StreamCounter::Start(const std::string& part) {
  tally.Move(part, tokens, hidden, 1, streams);
}

void StreamCounter::Collapse(const std::string& weights_part,
                             const std::string& mix_part, bool mixes) {
  int64_t in = 0, out = 0, between = 0;
  for (int a = 0; a < streams; ++a) {
    ++in;
    if (mixes) ++out;
    for (int b = 0; mixes && b < streams; ++b) ++between;
  }
  const int64_t weights = in + out + between;
  tally.Gemm(
      weights_part, tokens, weights, streams * hidden,
      {tally.formats().hidden, model::Format::kFp32, model::Format::kFp32});
  ReferenceWork& mix = tally.Of(mix_part);
  for (int64_t t = 0; t < tokens; ++t) {
    ++tally.Of(weights_part).exponentials;  // The mean square's root.
    for (int64_t w = 0; w < weights; ++w) {
      ++mix.exponentials;
      mix.activations_in += kWide;
    }
    for (int64_t w = 0; w < out + between; ++w) mix.activations_out += kWide;
  }
  tally.Move(mix_part, tokens, hidden, streams, 1);
  // A bias a weight; a scale for each sort of them.
  const int64_t vectors = weights + 1 + (mixes ? 2 : 0);
  for (int64_t w = 0; w < vectors; ++w) mix.weights += kWide;
}

void StreamCounter::Merge(const std::string& part) {
  tally.Move(part, tokens, hidden, streams + 1, streams);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int a = 0; a < streams; ++a) {
      tally.Of(part).activations_in += kWide;  // Out,
      for (int b = 0; b < streams; ++b) {
        tally.Of(part).activations_in += kWide;  // and between.
      }
    }
  }
}

}  // namespace mansard::testing
