#include "model/lower/lower.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "model/lower/lowering.h"

namespace mansard::model {

OpList Lower(const ModelGraph& graph, const ForwardPass& pass,
             const Layout& layout, const PassFormats& formats,
             const Fusion& fusion, const StageRepeats& stages) {
  OpList ops;
  Lower(graph, pass, layout, formats, fusion, ops, stages);
  return ops;
}

void Lower(const ModelGraph& graph, const ForwardPass& pass,
           const Layout& layout, const PassFormats& formats,
           const Fusion& fusion, OpList& ops, const StageRepeats& stages) {
  std::optional<ForwardPass> micro_batch;
  if (layout.micro_batches() > 1) {
    micro_batch.emplace(
        pass.LargestPart(layout.data() * layout.micro_batches()));
  }
  const RankPasses passes(micro_batch ? *micro_batch : pass, layout);
  ops = Lowering(graph, passes, pass.routing(), layout, formats, fusion, stages)
            .Run(std::move(ops));
}

std::string DumpOps(const OpList& ops, const ModelGraph& graph) {
  std::string text;
  for (const Op& op : ops) {
    const Work& work = op.work;
    absl::StrAppendFormat(&text, "%s x%d  %s  %s", OpName(op, graph), op.repeat,
                          OpKindName(op.kind), ShapeText(op));
    const auto number = [&text](absl::string_view name, double value) {
      if (value != 0) absl::StrAppendFormat(&text, "  %s=%.15g", name, value);
    };
    number("flops", work.tensor.value());
    number("vector", work.vector.value());
    number("special", work.special.value());
    number("weights", work.weights.value());
    number("kv_read", work.kv_read.value());
    number("kv_write", work.kv_write.value());
    number("act_in", work.activations_in.value());
    number("act_out", work.activations_out.value());
    number("message", work.message.value());
    text += "\n";
  }
  return text;
}

}  // namespace mansard::model
