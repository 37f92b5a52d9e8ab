// Rules of formats by class of linear layers.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/graph/graph_rules.h"

namespace mansard::model {
namespace {

// Each class once, in order, of those that `fits` allows.
template <class Fits>
void CheckFormats(const std::vector<LinearFormats>& formats, const Fits& fits,
                  absl::string_view place, Violations& violations) {
  for (size_t i = 0; i < formats.size(); ++i) {
    const LinearClass linear = formats[i].linear;
    const std::string field =
        absl::StrCat(Indexed("formats", i), ".linear_class");
    if (!fits(linear)) {
      violations.Add(field, absl::StrCat("is \"", LinearClassName(linear),
                                         "\", of which ", place, " has none"));
    }
    if (i > 0 && formats[i - 1].linear >= linear) {
      violations.Add(
          field, absl::StrCat("is \"", LinearClassName(linear), "\" after \"",
                              LinearClassName(formats[i - 1].linear),
                              "\"; each class stands once, in the "
                              "order ",
                              LinearClassNames()));
    }
  }
}

}  // namespace

void CheckLayerFormats(const LayerKind& kind, Violations& violations) {
  CheckFormats(
      kind.formats,
      [&kind](LinearClass linear) { return HasLinear(kind, linear); },
      "the layer", violations);
}

void CheckGraphFormats(const ModelGraphSpec& spec, Violations& violations) {
  CheckFormats(
      spec.formats, [](LinearClass linear) { return !IsInLayers(linear); },
      "what stands around the layers", violations);
  std::optional<Format> tables[2];
  for (const LinearFormats& formats : spec.formats) {
    tables[formats.linear == LinearClass::kHead ? 0 : 1] = formats.weights;
  }
  if (spec.tied_embeddings && tables[0] != tables[1]) {
    violations.Add("formats",
                   "gives head and embedding different weights; they are tied "
                   "and must have the same");
  }
}

}  // namespace mansard::model
