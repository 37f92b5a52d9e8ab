// The slow counter's feed-forwards, up to the sum over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/graph/model_graph.h"
#include "model/workload/forward_pass.h"
#include "tests/reference/tally.h"

namespace mansard::testing {

class FeedForwardCounter {
 public:
  // `norm_vectors`: of a norm of the hidden size.
  FeedForwardCounter(const model::ForwardPass& pass,
                     const ReferenceOptions& options, int64_t hidden,
                     int norm_vectors, Tally& tally)
      : pass_(pass),
        options_(options),
        hidden_(hidden),
        norm_vectors_(norm_vectors),
        tokens_(pass.total_new_tokens()),
        tally_(tally) {}

  // True where what comes out is the sum over the ranks already.
  bool operator()(const model::NoFeedForward& /*none*/) { return false; }
  bool operator()(const model::DenseFeedForward& feed_forward);
  bool operator()(const model::MixtureOfExperts& moe);

 private:
  // This rank's share of a width.
  int64_t Mine(int64_t width) const;
  void AllReduce(int64_t columns);
  // The layer's input in a class's format, unless it was last made in that.
  void Make(const std::string& part, model::LinearClass linear);
  void Routed(const model::MixtureOfExperts& moe);
  void Shared(const model::MixtureOfExperts& moe, bool reduces);
  // One product for each routed row; `sharers` rows in a row read one input.
  void Experts(const std::string& part, const model::MixtureOfExperts& moe,
               int64_t outputs, int64_t inputs, int sharers);

  const model::ForwardPass& pass_;
  const ReferenceOptions& options_;
  const int64_t hidden_;
  const int norm_vectors_;
  const int64_t tokens_;
  Tally& tally_;
  std::optional<model::Format> made_;
};

}  // namespace mansard::testing
