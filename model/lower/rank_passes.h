// One pass as the ranks of a layout share it.
#pragma once

#include <optional>

#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Of the busiest rank. Views of the pass itself where nothing is shared; needs
// no memory of its own for passes of two groups.
class RankPasses {
 public:
  // `all`: of all data and context ranks, and outlives this.
  RankPasses(const ForwardPass& all, const Layout& layout) : all_(&all) {
    if (layout.data() > 1) whole_.emplace(all.LargestPart(layout.data()));
    if (layout.context() == 1) return;
    own_.emplace(whole().ContextPart(layout.context()));
    // A context rank's experts see its own positions.
    shared_.emplace(all.ContextPart(layout.context()));
  }
  RankPasses(const RankPasses&) = delete;
  RankPasses& operator=(const RankPasses&) = delete;

  const ForwardPass& all() const { return *all_; }
  // The data rank's requests, with all their positions.
  const ForwardPass& whole() const { return whole_ ? *whole_ : *all_; }
  // The same with the context rank's positions.
  const ForwardPass& own() const { return own_ ? *own_ : whole(); }
  // Tokens of all data ranks, with the context rank's positions.
  int64_t expert_tokens() const {
    return (shared_ ? *shared_ : *all_).total_new_tokens();
  }

 private:
  const ForwardPass* all_;
  std::optional<ForwardPass> whole_;
  std::optional<ForwardPass> own_;
  std::optional<ForwardPass> shared_;
};

}  // namespace mansard::model
