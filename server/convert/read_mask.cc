#include "server/convert/read_mask.h"

#include <google/protobuf/util/field_mask_util.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "mansard/v1/estimation_service.pb.h"
#include "server/error.h"

namespace mansard::server {

EstimateParts FromProto(const google::protobuf::FieldMask& mask,
                        model::Violations& violations) {
  using google::protobuf::util::FieldMaskUtil;
  EstimateParts parts;
  for (int i = 0; i < mask.paths_size(); ++i) {
    const std::string& path = mask.paths(i);
    const bool all = path == "*" || path == "estimate";
    if (path.empty() ||
        (!all && !FieldMaskUtil::IsValidPath<v1::EstimateResponse>(path))) {
      violations.Add(model::Indexed("paths", static_cast<size_t>(i)),
                     absl::StrCat("is ", Quoted(path),
                                  ", which EstimateResponse does not have"));
    }
    parts.ops |= all || path == "estimate.ops";
    parts.waterfall |= all || path == "estimate.waterfall";
    parts.sensitivities |= path == "sensitivities";
    parts.what_if |= path == "what_if";
  }
  return parts;
}

}  // namespace mansard::server
