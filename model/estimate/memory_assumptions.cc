#include "model/estimate/memory_assumptions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

bool HasMxfp4Experts(const ModelGraph& graph, const PassFormats& formats) {
  constexpr auto kExperts = static_cast<size_t>(LinearClass::kExperts);
  const std::vector<LayerKind>& kinds = graph.spec().layer_kinds;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (std::holds_alternative<MixtureOfExperts>(kinds[i].feed_forward) &&
        formats.OfKind(i)[kExperts].weights == Format::kMxfp4) {
      return true;
    }
  }
  return false;
}

std::string EngineAssumption(const EngineMemory& engine, bool ranks) {
  std::string text = absl::StrFormat(
      "memory: the engine uses %g %% of the device, CUDA graphs lie in the "
      "rest; workspace is of steps of %d tokens and %d sequences; framework "
      "%.2f GB",
      100 * engine.usable_fraction, engine.token_budget, engine.sequence_limit,
      ToGigabytes(engine.framework));
  if (ranks) {
    absl::StrAppendFormat(&text, ", collectives %.2f GB",
                          ToGigabytes(engine.communication));
  }
  absl::StrAppend(&text, " (", engine.provenance.source, ")");
  return text;
}

}  // namespace

std::vector<std::string> MemoryAssumptions(const ModelGraph& graph,
                                           const Layout& layout,
                                           const PassFormats& formats,
                                           const KernelStack& stack) {
  std::vector<std::string> assumptions;
  const std::optional<EngineMemory>& engine = stack.spec().memory;
  if (!engine.has_value()) {
    assumptions.push_back(
        absl::StrCat("memory: kernel stack \"", stack.spec().id,
                     "\" says nothing of it: the model has the whole device, "
                     "without workspace, reserve or pages"));
  } else {
    assumptions.push_back(EngineAssumption(*engine, layout.device_count() > 1));
    if (HasMxfp4Experts(graph, formats) && engine->mxfp4_width_multiple > 1) {
      assumptions.push_back(absl::StrCat(
          "memory: mxfp4 experts are padded to widths of a multiple of ",
          engine->mxfp4_width_multiple, ", inferred from two measured models"));
    }
  }
  if (graph.spec().other_weight_bytes > 0) {
    assumptions.push_back(absl::StrCat(
        "memory: weights outside of the text decoder are whole on every rank",
        graph.spec().other_weight_source.empty()
            ? ""
            : absl::StrCat(" (", graph.spec().other_weight_source, ")")));
  }
  return assumptions;
}

}  // namespace mansard::model
