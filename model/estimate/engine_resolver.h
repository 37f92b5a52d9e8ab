// How an Engine is made. Internal to engine_resolver.cc, which defines
// Engine::Resolve too.
#pragma once

#include <cstdint>
#include <vector>

#include "model/estimate/engine.h"

namespace mansard::model {

class Engine::Resolver {
 public:
  // Fills `engine`, which has nothing yet but its target and limits.
  explicit Resolver(Engine& engine) : engine_(engine) {}
  void Run();

 private:
  // Ops of a list that one curve holds: by the index of one op, how often it
  // and those priced alike are run.
  struct Member {
    size_t index = 0;
    double repeat = 1;
  };
  using PassMaker = ForwardPass (*)(int64_t count, int64_t ranks);

  void Lower(const ForwardPass& pass);
  // Fills the curve from the ops with the dependence of the passes that `make`
  // makes, each for one count.
  void MakeCurve(CurveIndex index, OpDependence dependence, PassMaker make,
                 int64_t last);
  std::vector<Member> MembersOf(OpDependence dependence, PassMaker make);
  void Sample(const ForwardPass& pass, OpDependence dependence,
              std::vector<CallOp>& calls);
  void SampleCalls();
  void Check();

  int64_t ranks() const { return engine_.target_.layout().data(); }

  Engine& engine_;
  OpList ops_;
};

}  // namespace mansard::model
