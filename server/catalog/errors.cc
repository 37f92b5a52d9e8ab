#include "server/catalog/errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/suggest.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"

namespace mansard::server {
namespace {

struct Kind {
  const char* noun;
  const char* reason;
  const char* metadata_key;
  const char* resource_type;
};

void AppendQuoted(std::string* out, const std::string& name) {
  absl::StrAppend(out, "\"", name, "\"");
}

std::string Hint(const std::vector<std::string>& closest,
                 const std::vector<std::string>& known) {
  if (!closest.empty()) {
    return absl::StrCat(" (did you mean ",
                        absl::StrJoin(closest, " or ", AppendQuoted), "?)");
  }
  if (known.empty()) return "";
  return absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
}

absl::Status NotFound(const Kind& kind, absl::string_view id,
                      absl::string_view name,
                      const std::vector<std::string>& known) {
  const std::vector<std::string> closest = model::ClosestNames(id, known);
  return ErrorBuilder(absl::StatusCode::kNotFound, kind.reason)
      .Message(absl::StrCat("No ", kind.noun, " named ", Quoted(id),
                            Hint(closest, known)))
      .Metadata(kind.metadata_key, id)
      .Metadata("closest", absl::StrJoin(closest, ", "))
      .Resource(kind.resource_type, name)
      .Build();
}

}  // namespace

absl::Status ModelGraphNotFound(absl::string_view id,
                                const std::vector<std::string>& known) {
  return NotFound({"model graph", "MODEL_GRAPH_NOT_FOUND", "model_graph",
                   "mansard.v1.ModelGraph"},
                  id, ResourceName(kModelGraphs, id), known);
}

absl::Status HardwareProfileNotFound(absl::string_view id,
                                     const std::vector<std::string>& known) {
  return NotFound({"hardware profile", "HARDWARE_PROFILE_NOT_FOUND",
                   "hardware_profile", "mansard.v1.HardwareProfile"},
                  id, ResourceName(kHardwareProfiles, id), known);
}

absl::Status KernelStackNotFound(absl::string_view id,
                                 const std::vector<std::string>& known) {
  return NotFound({"kernel stack", "KERNEL_STACK_NOT_FOUND", "kernel_stack",
                   "mansard.v1.KernelStack"},
                  id, id, known);
}

absl::Status FabricNotFound(absl::string_view id,
                            const std::vector<std::string>& known) {
  return NotFound({"fabric", "FABRIC_NOT_FOUND", "fabric", "mansard.v1.Fabric"},
                  id, id, known);
}

}  // namespace mansard::server
