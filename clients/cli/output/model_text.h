// Models as people read them.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/catalog_service.pb.h"

namespace mansard::cli {

// "llama-3.1-8b" of "modelGraphs/llama-3.1-8b".
std::string IdOf(const std::string& name);

Report ModelListReport(const v1::ListModelGraphsResponse& response);

// Parameters by tensor class.
Report TensorClassReport(const v1::ModelSize& size);

// Sizes, parameters by tensor class, and the kinds of layers.
std::string ModelText(const v1::ModelGraph& graph, const Style& style);

}  // namespace mansard::cli
