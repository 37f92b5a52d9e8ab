// What a graph's weights take in its own formats, in closed form. Internal
// check of an import; Lower counts what ranks hold.
#pragma once

#include "model/base/units.h"
#include "model/graph/model_graph.h"

namespace mansard::model {

// Of the decoder, unsharded, scales and zero points included as a share of the
// elements: within a thousandth of what is stored.
Bytes StoredWeightBytes(const ModelGraph& graph);
// Of all drafting modules.
Bytes StoredDraftBytes(const ModelGraph& graph);

}  // namespace mansard::model
