// Hardware profiles as people read them.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/catalog_service.pb.h"

namespace mansard::cli {

Report HardwareListReport(const v1::ListHardwareProfilesResponse& response);

// Every number of a datasheet with its source, one a row.
Report DatasheetReport(const v1::Device& device);

// A datasheet: every number with its source; fabrics; kernel stacks.
std::string HardwareText(const v1::HardwareProfile& profile,
                         const Style& style);

}  // namespace mansard::cli
