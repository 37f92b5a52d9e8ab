#include "model/lower/lower.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "model/lower/lowering.h"

namespace mansard::model {

OpList Lower(const ModelGraph& graph, const ForwardPass& pass,
             const Layout& layout, const PassFormats& formats,
             const Fusion& fusion) {
  return Lowering(graph, pass, layout, formats, fusion).Run({});
}

void Lower(const ModelGraph& graph, const ForwardPass& pass,
           const Layout& layout, const PassFormats& formats,
           const Fusion& fusion, OpList& ops) {
  ops = Lowering(graph, pass, layout, formats, fusion).Run(std::move(ops));
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
