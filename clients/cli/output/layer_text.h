// The layers of a model as people read them.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "mansard/v1/catalog.pb.h"

namespace mansard::cli {

int LayerCount(const v1::ModelGraph& graph);
int LayersOfKind(const v1::ModelGraph& graph, int kind);

// "61: 3 dense, 58 experts".
std::string LayersText(const v1::ModelGraph& graph);

// One row a kind.
Report LayerKindReport(const v1::ModelGraph& graph);

}  // namespace mansard::cli
