// The waterfall of a step as a picture.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// A document of its own: from the step's time down, a bar a row where its
// exposed time lies, the busy time as an outline, and bytes, achieved and peak
// rates beside it. One colour a resource; light or dark by the reader's
// preference. The same answer gives the same bytes. `title`: model, hardware
// and pass. Needs the waterfall of the answer.
std::string WaterfallSvg(const v1::EstimateResponse& response,
                         absl::string_view title);

}  // namespace mansard::cli
