// Ops of a pipeline, by stage.
#pragma once

namespace mansard::model {

// How often the ops of a pipeline's stages are in the list: those of `stage` as
// often as `there` says, those of all others as often as `elsewhere`.
struct StageRepeats {
  int stage = 0;
  int there = 1;
  int elsewhere = 1;

  int Of(int other) const { return other == stage ? there : elsewhere; }
};

}  // namespace mansard::model
