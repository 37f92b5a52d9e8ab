// ModelGraph x ForwardPass x Layout -> OpList: closed-form and exact. The slow
// reference counter in tests/reference must agree.
#pragma once

#include <string>

#include "model/graph/model_graph.h"
#include "model/hardware/kernel_stack.h"
#include "model/lower/pass_formats.h"
#include "model/lower/stage_repeats.h"
#include "model/ops/op.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::model {

// The ops of the busiest rank for one pass, in order; equal layers are one
// entry with a repeat count. Ends with the host op. Of a pipeline: the ops of
// one micro-batch on its way through the stages, on a rank of each; with
// `stages` some of them more often or not at all, and without the host where
// `elsewhere` is 0.
OpList Lower(const ModelGraph& graph, const ForwardPass& pass,
             const Layout& layout, const PassFormats& formats,
             const Fusion& fusion, const StageRepeats& stages = {});
// The same into a list that the caller keeps: what it held is dropped, its
// memory is used again.
void Lower(const ModelGraph& graph, const ForwardPass& pass,
           const Layout& layout, const PassFormats& formats,
           const Fusion& fusion, OpList& ops, const StageRepeats& stages = {});

// One line an op, for golden tests and people.
std::string DumpOps(const OpList& ops, const ModelGraph& graph);

}  // namespace mansard::model
